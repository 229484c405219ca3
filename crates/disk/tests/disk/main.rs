//! The disk against a model in memory: on every scheme and layer, when the power or the storage
//! fails, and on damaged images.

mod damage;
mod devices;
mod failures;
mod media;
mod model;
mod power;
mod requests;
