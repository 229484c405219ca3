//! Write amplification by a drive's own data sheet.
//!
//! ```text
//! seq=2700MB/s,rand=130k[,page=4KiB]       sequential write rate / (random write IOPS × page)
//! tbw-seq=37200TB,tbw-rand=17520TB         bytes until worn out, sequential / random
//! ```
//! The flash programs the same number of bytes per second, or until it is worn out, whatever the
//! host writes. If sequential writes cost nothing on top, what is left to random writes is the
//! inverse of their write amplification. The effective spare follows from the mean-field limit of
//! greedy ([`mean_field`]): with this share of extra pages, uniform random writes
//! have this write amplification.

use serde::Serialize;
use spec::{Kind, Param, Params, Spec};

use crate::error::{Error, Result};
use crate::sizing::mean_field;
use crate::sizing::over_provisioning::OverProvisioning;

/// Figures of a data sheet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataSheet {
    figures: Figures,
    pages_per_block: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Figures {
    /// Bytes per second of sequential writes and of random ones.
    Rates { sequential: f64, random: f64 },
    /// Bytes that can be written.
    Endurance { sequential: f64, random: f64 },
}

/// What follows from a data sheet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/sizing.md documents every field")]
pub struct Effective {
    pub write_amplification: f64,
    pub pages_per_block: u32,
    /// None if it is below 0.01 % or above 100 times the capacity.
    pub over_provisioning: Option<OverProvisioning>,
}

static PARAMS: &[Param] = &[
    Param::key(
        "seq",
        Kind::Text,
        "bytes per second",
        "the rate of sequential writes, such as 2700MB/s",
    ),
    Param::key("rand", Kind::Count, "IOPS", "the rate of random writes in a steady state"),
    Param {
        default: "4KiB",
        ..Param::key("page", Kind::Size, "bytes", "the size of the random writes")
    },
    Param::key("tbw-seq", Kind::Size, "bytes", "rated bytes of sequential writes, such as 37200TB"),
    Param::key("tbw-rand", Kind::Size, "bytes", "rated bytes of random writes"),
    Param {
        default: "256",
        ..Param::key("block", Kind::Count, "pages", "the pages of an erase block")
    },
];

impl DataSheet {
    /// Reads the figures of a data sheet.
    ///
    /// # Errors
    /// A key is unknown, a value cannot be read, or the figures are no pair.
    pub fn parse(text: &str) -> Result<DataSheet> {
        let Spec { pairs, .. } = Spec::parse(&format!("datasheet:{text}"))?;
        let params = spec::resolve("the data sheet", &pairs, PARAMS)?;
        let pages_per_block = u32::try_from(params.count("block")).unwrap_or(u32::MAX);
        if !(2..=BLOCK_MAX).contains(&pages_per_block) {
            return refuse(format!(
                "block={pages_per_block} is not between 2 and {BLOCK_MAX} pages"
            ));
        }
        Ok(DataSheet { figures: figures(&params)?, pages_per_block })
    }

    /// Write amplification at random, and the effective spare.
    ///
    /// # Errors
    /// Random writes are better than sequential ones.
    pub fn effective(&self) -> Result<Effective> {
        let (sequential, random, what) = match self.figures {
            Figures::Rates { sequential, random } => (sequential, random, "bytes per second"),
            Figures::Endurance { sequential, random } => (sequential, random, "bytes in all"),
        };
        if random <= 0.0 {
            return refuse("the figure of random writes is 0, so there is no ratio".to_owned());
        }
        let write_amplification = sequential / random;
        if write_amplification < 1.0 {
            return refuse(format!(
                "by these figures random writes are {random:.0} {what} and sequential ones only \
                 {sequential:.0}; the ratio is the write amplification, which is at least 1. Look \
                 for the random rate of a steady state"
            ));
        }
        let spare = mean_field::spare_of_greedy(self.pages_per_block, write_amplification);
        Ok(Effective {
            write_amplification,
            pages_per_block: self.pages_per_block,
            over_provisioning: spare.map(OverProvisioning::of_extra),
        })
    }
}

/// The largest block, for which the limit takes milliseconds.
const BLOCK_MAX: u32 = 1 << 16;

fn figures(params: &Params) -> Result<Figures> {
    let rates = (params.opt_text("seq"), params.opt_count("rand"));
    let endurance = (params.opt_size("tbw-seq"), params.opt_size("tbw-rand"));
    match (rates, endurance) {
        ((Some(sequential), Some(iops)), (None, None)) => Ok(Figures::Rates {
            sequential: rate(sequential)?,
            random: iops as f64 * params.size("page") as f64,
        }),
        ((None, None), (Some(sequential), Some(random))) => {
            Ok(Figures::Endurance { sequential: sequential as f64, random: random as f64 })
        }
        _ => refuse(
            "a data sheet gives either `seq=2700MB/s,rand=130k` or \
             `tbw-seq=37200TB,tbw-rand=17520TB`"
                .to_owned(),
        ),
    }
}

/// Bytes per second.
fn rate(text: &str) -> Result<f64> {
    let size = text.strip_suffix("/s").and_then(|size| spec::parse_size(size).ok());
    match size {
        Some(bytes) => Ok(bytes as f64),
        None => refuse(format!("seq={text} is not a rate such as `2700MB/s`")),
    }
}

fn refuse<T>(why: String) -> Result<T> {
    Err(Error::Impossible(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effective(text: &str) -> Effective {
        DataSheet::parse(text).unwrap().effective().unwrap()
    }

    /// The spare in percent of the capacity.
    fn spare(text: &str) -> f64 {
        100.0 * effective(text).over_provisioning.unwrap().of_capacity
    }

    #[test]
    fn rates_give_write_amplification_and_spare() {
        let found = effective("seq=2700MB/s,rand=130k");
        assert!((found.write_amplification - 2.7e9 / (130e3 * 4096.0)).abs() < 1e-12);
        assert_eq!(effective("seq=2700MB/s,rand=65k,page=8KiB"), found);
        // 7.3 is 7 %, 5 is about 10 %; small blocks need less.
        let of_7_3 = spare("seq=730MB/s,rand=100k,page=1KB");
        let of_5 = spare("seq=500MB/s,rand=100k,page=1KB");
        assert!((7.0..7.5).contains(&of_7_3) && (10.0..11.5).contains(&of_5), "{of_7_3} {of_5}");
        assert!(spare("seq=500MB/s,rand=100k,page=1KB,block=16") < of_5);
    }

    #[test]
    fn endurance_gives_write_amplification() {
        let found = effective("tbw-seq=37200TB,tbw-rand=17520TB");
        assert!((found.write_amplification - 2.123).abs() < 1e-3);
        let spare = found.over_provisioning.unwrap();
        assert!((0.34..0.36).contains(&spare.of_capacity) && spare.of_flash < 0.26, "{spare:?}");
    }

    #[test]
    fn a_ratio_of_one_has_no_spare() {
        let found = effective("tbw-seq=1TB,tbw-rand=1TB");
        assert_eq!((found.write_amplification, found.over_provisioning), (1.0, None));
    }

    #[test]
    fn figures_that_make_no_sense_are_refused() {
        for (text, hint) in [
            ("seq=2700MB/s", "gives either `seq=2700MB/s,rand=130k` or"),
            ("seq=2700MB/s,rand=130k,tbw-seq=1TB", "gives either"),
            ("seq=2700,rand=130k", "seq=2700 is not a rate"),
            ("seq=2700MB/s,rnd=130k", "did you mean `rand`"),
            ("seq=2700MB/s,rand=130k,block=1", "block=1 is not between"),
        ] {
            let message = DataSheet::parse(text).unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
        for (text, hint) in [("seq=1MB/s,rand=130k", "at least 1"), ("seq=1MB/s,rand=0", "is 0")] {
            let message = DataSheet::parse(text).unwrap().effective().unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }
}
