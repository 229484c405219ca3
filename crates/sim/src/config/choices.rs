//! Options that are one keyword of a few.

use crate::config::keyword_enum::keyword_enum;

keyword_enum! {
    /// The content of the flash before the first request.
    Precondition, "precondition":
    /// Nothing.
    None = "none",
    /// Every logical page, written once, in order, by one request.
    Fill = "fill",
}

keyword_enum! {
    /// How operation counts become time.
    Timing, "timing":
    /// One operation after the other.
    Serial = "serial",
    /// In a drive with channels, dies and queues.
    Drive = "drive",
}

keyword_enum! {
    /// What must survive a power cut.
    Durability, "durability":
    /// Only what the schemes of the papers write to flash; trims may be undone.
    Paper = "paper",
    /// Everything that was flushed, trims included.
    Full = "full",
}

impl From<Durability> for ftl::Durability {
    fn from(durability: Durability) -> ftl::Durability {
        match durability {
            Durability::Paper => ftl::Durability::Paper,
            Durability::Full => ftl::Durability::Full,
        }
    }
}

keyword_enum! {
    /// The treatment of addresses beyond the capacity.
    Fit, "fit":
    /// They stop the run.
    Error = "error",
    /// They start again at 0; a request that straddles the end is cut in two.
    Wrap = "wrap",
    /// The pages that the trace touches are packed side by side in the order of their addresses.
    Compact = "compact",
}

keyword_enum! {
    /// The treatment of flushes.
    FlushMode, "flush":
    /// Flush requests, preflushes and forced unit access reach the FTL.
    Honour = "honour",
    /// They are only counted.
    Ignore = "ignore",
}

keyword_enum! {
    /// What decides the stream of a write.
    Streams, "streams":
    /// Writes have no stream.
    Off = "off",
    /// The volume.
    Volume = "volume",
    /// The stream that the trace names.
    Column = "column",
    /// The size class of the request.
    Size = "size",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keywords_are_refused_with_the_nearest() {
        assert!("warp".parse::<Fit>().unwrap_err().to_string().contains("did you mean `wrap`"));
    }
}
