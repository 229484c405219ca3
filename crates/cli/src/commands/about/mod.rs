//! What the command says about itself: its manual, its version, and what it is made of.

pub mod licences;
pub mod manual;
pub mod version;
