//! The options by which users set up layers.

use std::collections::BTreeMap;

use spec::Kind;

use crate::contract::Result;

/// An option of a layer.
#[derive(Debug)]
pub struct LayerOption {
    /// The name, with `_` between words; the command line has `-` instead.
    pub name: &'static str,
    /// The form of the value.
    pub kind: Kind,
    /// The default value; empty if there is none.
    pub default: &'static str,
    /// Name of the value in the help.
    pub value_name: &'static str,
    /// The help text.
    pub help: &'static str,
}

impl LayerOption {
    /// The default, if there is one.
    pub fn default_text(&self) -> Option<&'static str> {
        (!self.default.is_empty()).then_some(self.default)
    }
}

/// The layer options that the user gave, by name, each in its printed form. An option with its
/// default value counts as not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LayerOptions(BTreeMap<&'static str, String>);

impl LayerOptions {
    /// The value of an option, or its default.
    pub fn get(&self, option: &LayerOption) -> Option<&str> {
        self.given(option).or(option.default_text())
    }

    /// The value of an option if it is given.
    pub fn given(&self, option: &LayerOption) -> Option<&str> {
        self.0.get(option.name).map(String::as_str)
    }

    /// Sets an option.
    ///
    /// # Errors
    /// The text is no value of the option's kind.
    pub fn set(&mut self, option: &LayerOption, text: &str) -> Result<()> {
        let text = option.kind.parse(text)?.to_string();
        match option.default_text() == Some(text.as_str()) {
            true => self.0.remove(option.name),
            false => self.0.insert(option.name, text),
        };
        Ok(())
    }
}
