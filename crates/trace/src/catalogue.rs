//! The macro for the lists of trace formats and of workloads.
//!
//! A line of a list names a file. It declares the file as a module and registers what the file
//! exports, so that a new entry costs its own file and one line:
//!
//! ```text
//! catalogue! {
//!     pub static FORMATS: [Format], FORMAT of each file;
//!     published { spc, msr, … }      declares published/spc.rs, registers published::spc::FORMAT
//!     tracers { blkparse, … }
//! }
//! ```
//!
//! `cargo fmt` does not look into macros and so does not find these files; `make format` names
//! them.

/// Declares the files of a list, family by family, and the list itself.
macro_rules! catalogue {
    (
        $(#[$list_doc:meta])*
        pub static $list:ident: [$entry:ty], $export:ident of each file;
        $(
            $(#[$family_doc:meta])*
            $family:ident { $($file:ident,)+ }
        )+
    ) => {
        $(
            $(#[$family_doc])*
            pub mod $family {
                $(pub mod $file;)+
            }
        )+

        $(#[$list_doc])*
        pub static $list: &[&$entry] = &[$($(&$family::$file::$export,)+)+];
    };
}

pub(crate) use catalogue;
