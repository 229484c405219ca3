//! The formats in which traces are written, as options name them.

use clap::ValueEnum;
use trace::writer::OutputFormat;

/// A format.
#[derive(Clone, Copy, ValueEnum)]
pub enum FormatName {
    Fio,
    Blkparse,
    Csv,
}

impl From<FormatName> for OutputFormat {
    fn from(name: FormatName) -> OutputFormat {
        match name {
            FormatName::Fio => OutputFormat::Fio,
            FormatName::Blkparse => OutputFormat::Blkparse,
            FormatName::Csv => OutputFormat::Csv,
        }
    }
}
