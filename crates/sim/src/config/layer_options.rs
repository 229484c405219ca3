//! The options that say which layers stand above the scheme.

use std::collections::BTreeMap;

use ftl::Layers;
use ftl::layer::{Options, Setting};
use spec::Kind;

use crate::error::Result;

/// An option of a layer.
#[derive(Debug)]
pub struct LayerOption {
    /// The name.
    pub name: &'static str,
    /// The form of the value.
    pub kind: Kind,
    /// The value when none is given; empty: none.
    pub default: &'static str,
    /// What help calls the value.
    pub value_name: &'static str,
    /// The help.
    pub help: &'static str,
}

/// The options of all layers.
pub static LAYER_OPTIONS: &[LayerOption] = &[
    LayerOption {
        name: "buffer",
        kind: Kind::Text,
        default: "none",
        value_name: "SIZE|none",
        help: "Write buffer above the FTL, as SIZE[,key=value…] such as 8MiB,evict=run; see \
               `ftlab list layers`",
    },
    LayerOption {
        name: "sector_log",
        kind: Kind::Text,
        default: "none",
        value_name: "SIZE|none",
        help: "Sector log between write buffer and FTL, as SIZE[,from=added|extra] such as 512MiB; \
               it collects writes of partial pages",
    },
    LayerOption {
        name: "dram",
        kind: Kind::Size,
        default: "",
        value_name: "SIZE",
        help: "One DRAM budget for a write buffer and the map of dftl or fast",
    },
    LayerOption {
        name: "split",
        kind: Kind::Text,
        default: "",
        value_name: "SHARE|adaptive",
        help: "Share of the map in the DRAM budget: a fixed share such as 30%, or \
               adaptive[:key=value…], the default; see `ftlab list layers`",
    },
];

impl LayerOption {
    /// The default, if there is one.
    pub fn default_text(&self) -> Option<&'static str> {
        (!self.default.is_empty()).then_some(self.default)
    }
}

/// The options of layers that are given, by name, each in the form in which it is printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LayerOptions(BTreeMap<&'static str, String>);

impl LayerOptions {
    /// The value of an option, or its default.
    pub fn get(&self, option: &LayerOption) -> Option<&str> {
        self.0.get(option.name).map(String::as_str).or(option.default_text())
    }

    /// Sets an option.
    ///
    /// # Errors
    /// The text is not of the option's kind.
    pub fn set(&mut self, option: &LayerOption, text: &str) -> Result<()> {
        let text = option.kind.parse(text)?.to_string();
        match option.default_text() == Some(text.as_str()) {
            true => self.0.remove(option.name),
            false => self.0.insert(option.name, text),
        };
        Ok(())
    }

    /// Checks each option by itself: as long as not all are set, they may contradict each other.
    ///
    /// # Errors
    /// The first option that is wrong.
    pub fn check_each(&self) -> Result<()> {
        let buffer = self.named("buffer").unwrap_or("none");
        Layers::new(&Options { buffer, ..Options::default() })?;
        if let Some(split) = self.named("split") {
            Setting::split(self.dram_bytes().unwrap_or(0), split)?;
        }
        Ok(())
    }

    /// The layers.
    ///
    /// # Errors
    /// An option is wrong, or the options contradict each other.
    pub fn layers(&self) -> Result<Layers> {
        let buffer = self.named("buffer").unwrap_or("none");
        let sector_log = self.named("sector_log").unwrap_or("none");
        let (dram, split) = (self.dram_bytes(), self.named("split"));
        Ok(Layers::new(&Options { buffer, sector_log, dram, split })?)
    }

    fn dram_bytes(&self) -> Option<u64> {
        self.named("dram").and_then(|text| spec::parse_size(text).ok())
    }

    fn named(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}
