//! Crashes of the machine below an image: what they lose, and checks with them.

pub mod machine_crash;
pub mod machine_loss;
