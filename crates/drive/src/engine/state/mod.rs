//! What the engine works on.
//!
//! * [`flash_operation`]  a flash operation, and what waits for it
//! * [`lane`]             the operations on one block in one die
//! * [`die`]              a die with its queues
//! * [`command`]          what a die works on
//! * [`barriers`]         writes that wait for all before them
//! * [`buffer`]           room for writes
//! * [`line`]             a channel, the link, or the dispatcher
//! * [`durations`]        how long operations take
//! * [`events`]           what will happen
//! * [`fifo`]             a queue
//! * [`pool`]             things that come and go, by number

pub(crate) mod barriers;
pub(crate) mod buffer;
pub(crate) mod command;
pub(crate) mod die;
pub(crate) mod durations;
pub(crate) mod events;
pub(crate) mod fifo;
pub(crate) mod flash_operation;
pub(crate) mod lane;
pub(crate) mod line;
pub(crate) mod pool;
