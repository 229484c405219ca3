//! Checks with crashes of the machine below an image.

pub mod machine_loss;
