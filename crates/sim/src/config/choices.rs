//! Options that are one keyword of a few.

use ftl::Durability;
use spec::named_enum;

use crate::config::option_text::OptionValue;

named_enum! {
    /// The content of the flash before the first request.
    pub enum Precondition: "precondition" {
        /// Nothing.
        None = "none",
        /// Every logical page, written once, in order, by one request.
        Fill = "fill",
    }
}

named_enum! {
    /// How operation counts become time.
    pub enum Timing: "timing" {
        /// One operation after the other.
        Serial = "serial",
        /// In a drive with channels, dies and queues.
        Drive = "drive",
    }
}

named_enum! {
    /// The treatment of addresses beyond the capacity.
    pub enum Fit: "fit" {
        /// They stop the run.
        Error = "error",
        /// They start again at 0; a request that straddles the end is cut in two.
        Wrap = "wrap",
        /// The pages that the trace touches are packed side by side in their order.
        Compact = "compact",
    }
}

named_enum! {
    /// The treatment of flushes.
    pub enum FlushMode: "flush" {
        /// Flush requests, preflushes and forced unit access reach the FTL.
        Honour = "honour",
        /// They are only counted.
        Ignore = "ignore",
    }
}

named_enum! {
    /// The treatment of trims.
    pub enum TrimMode: "trim" {
        /// They reach the FTL.
        Honour = "honour",
        /// They are only counted.
        Ignore = "ignore",
    }
}

named_enum! {
    /// What decides the stream of a write.
    pub enum Streams: "streams" {
        /// Writes have no stream.
        Off = "off",
        /// The volume.
        Volume = "volume",
        /// The stream that the trace names.
        Column = "column",
        /// The size class of the request.
        Size = "size",
    }
}

macro_rules! choices {
    ($($choice:ident)+) => {
        $(
            impl OptionValue for $choice {
                const KEYWORDS: &'static [&'static str] = $choice::NAMES;
            }
        )+
    };
}

choices!(Precondition Timing Durability Fit FlushMode TrimMode Streams);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keywords_are_refused_with_the_nearest() {
        assert!("warp".parse::<Fit>().unwrap_err().to_string().contains("did you mean `wrap`"));
    }
}
