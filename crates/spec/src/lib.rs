//! The words users write, parsed once: `name[:key=value[,key=value…]]` and the values in it.
//!
//! ```text
//! skew:writes=4M,hot=70/30,pages=1.4M
//! └┬─┘ └──┬────┘ └───┬───┘
//! name   count     ratio          Spec::parse splits, resolve checks against the declared Params
//! ```
//!
//! Schemes, chips, workloads and trace formats declare their parameters as data ([`Param`]); one
//! [`resolve`] turns what the user wrote into typed values, and the same declarations print help.
//! Numbers are exact decimals throughout: `10.5%` of 1000 blocks is 105 on every machine.
//!
//! * [`words`]: splitting a spec, suggesting the nearest known word
//! * [`quantity`]: sizes, counts, times, ratios
//! * [`share`]: exact shares such as `7%`
//! * [`params`]: declared parameters and their values

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod error;
pub mod params;
pub mod quantity;
pub mod share;
pub mod words;

pub use error::{Error, Result};
pub use params::{Kind, Param, Params, Value, joined, resolve, total_len};
pub use quantity::{parse_count, parse_ratio, parse_size, parse_switch, parse_time_ns, print_size};
pub use share::{Share, parse_share};
pub use words::{Spec, nearest, parse_pairs, unknown};
