//! Layers above a scheme: by hand, above an FTL that writes down what it is asked, and against
//! naive models.

mod device;
mod elastic;
mod naive_buffer;
mod naive_log;
mod naive_partitioner;
mod partitioner;
mod recorder;
mod sector_log;
mod write_buffer;
