//! Parses the texts that users write to configure things: `name[:key=value[,key=value…]]`.
//!
//! ```text
//! skew:writes=4M,hot=70/30,pages=1.4M
//! └┬─┘ └──┬────┘ └───┬───┘
//! name   count     ratio          Spec::parse splits the text, resolve checks keys and values
//! ```
//!
//! Schemes, chips, workloads and trace formats declare their parameters as data ([`Param`]).
//! [`resolve`] turns settings into typed values. Help is printed from the same declarations.
//! Numbers are exact decimals: 10.5 % of 1000 blocks is 105 on every machine.
//!
//! * [`mod@spec`]     a name with settings
//! * [`named_enum!`]  enums whose values users name
//! * [`params`]       declared parameters and their values
//! * [`quantity`]     sizes, counts, times, ratios
//! * [`share`]        exact shares such as `7%`
//! * [`shell`]        words of a command that can be pasted into a shell
//! * [`suggestion`]   the nearest known name for a misspelt one

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod error;
mod named_enum;
pub mod params;
pub mod quantity;
pub mod share;
pub mod shell;
pub mod spec;
pub mod suggestion;

pub use error::{Error, Result};
pub use params::{Kind, Param, Params, Value, joined, resolve, total_len};
pub use quantity::{
    parse_count, parse_ratio, parse_size, parse_switch, parse_time_ns, print_size, round_size,
};
pub use share::{Share, parse_share};
pub use shell::shell_word;
pub use spec::{Spec, parse_pairs};
pub use suggestion::{nearest, unknown};
