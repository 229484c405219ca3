//! The chip from outside: its rules, what its pages hold, its power, its storage, its operations.

mod fixture;
mod lost_data;
mod media;
mod media_cuts;
mod operations;
mod payload;
mod power_cuts;
mod rules;
mod stores;
mod wear;
