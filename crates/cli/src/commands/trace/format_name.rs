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

impl FormatName {
    /// The format of a file: the one that was given, or the one that its name tells.
    pub fn of_output(given: Option<FormatName>, file: &str) -> FormatName {
        let is_csv = file.to_ascii_lowercase().ends_with(".csv");
        given.unwrap_or(if is_csv { FormatName::Csv } else { FormatName::Fio })
    }
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
