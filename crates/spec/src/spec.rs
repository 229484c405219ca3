//! Splits a spec into its name and its settings.

use std::fmt;

use crate::error::{Error, Result};

/// A name with settings, as the user wrote them: `name[:key=value[,key=value…]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The name of a scheme, chip, workload, format or the like.
    pub name: String,
    /// Keys and values, in the order written. The keys are plain names; nothing else is checked.
    pub pairs: Vec<(String, String)>,
}

impl Spec {
    /// Splits a spec. [`crate::resolve`] checks the keys and values later.
    ///
    /// # Errors
    /// The name or a key is not a plain name, or a setting is not `key=value`.
    pub fn parse(text: &str) -> Result<Spec> {
        let (name, settings) = match text.split_once(':') {
            Some((name, settings)) => (name, parse_settings(settings, text)?),
            None => (text, Vec::new()),
        };
        Ok(Spec { name: plain_name(name, text)?, pairs: settings })
    }

    /// A spec without settings.
    pub fn plain(name: &str) -> Spec {
        Spec { name: name.to_owned(), pairs: Vec::new() }
    }
}

impl fmt::Display for Spec {
    /// Writes the text that [`Spec::parse`] turns into an equal spec.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        for (index, (key, value)) in self.pairs.iter().enumerate() {
            let separator = if index == 0 { ':' } else { ',' };
            write!(out, "{separator}{key}={value}")?;
        }
        Ok(())
    }
}

/// Splits `key=value[,key=value…]`, the part of a spec after its name.
///
/// # Errors
/// A key is not a plain name, or a setting is not `key=value`.
pub fn parse_pairs(text: &str) -> Result<Vec<(String, String)>> {
    parse_settings(text, text)
}

/// Like [`parse_pairs`]. `text` is the whole text, for error messages.
fn parse_settings(settings: &str, text: &str) -> Result<Vec<(String, String)>> {
    settings.split(',').map(|pair| parse_pair(pair, text)).collect()
}

fn parse_pair(pair: &str, text: &str) -> Result<(String, String)> {
    match pair.split_once('=') {
        Some((key, value)) if !value.is_empty() => Ok((plain_name(key, text)?, value.to_owned())),
        _ => Err(Error::Pair { pair: pair.to_owned(), text: text.to_owned() }),
    }
}

fn plain_name(name: &str, text: &str) -> Result<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(Error::Name { word: name.to_owned(), text: text.to_owned() });
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_is_printed_as_it_was_written() {
        for text in ["page", "skew:writes=4M,hot=70/30,pages=1.4M", "csv:columns=time.us+op=x"] {
            let spec = Spec::parse(text).unwrap();
            assert_eq!(spec.to_string(), text);
        }
        let spec = Spec::parse("csv:columns=a=b").unwrap();
        assert_eq!(spec.pairs, [("columns".to_owned(), "a=b".to_owned())]);
        assert_eq!(Spec::parse("page").unwrap(), Spec::plain("page"));
    }

    #[test]
    fn the_message_about_a_malformed_spec_shows_the_wrong_part_and_the_whole_text() {
        let message = |text| Spec::parse(text).unwrap_err().to_string();
        assert_eq!(message("page:d"), "`d` in `page:d` is not `key=value`");
        assert_eq!(message("page:d=,e=1"), "`d=` in `page:d=,e=1` has no value");
        assert_eq!(message("page:"), "`` in `page:` is not `key=value`");
        assert!(message("").starts_with("`` in `` is not a name"));
        assert!(message("pa ge").starts_with("`pa ge` in `pa ge` is not a name"));
        assert!(
            message("a,b").ends_with("; an option that takes several names is given once for each")
        );
        assert!(message("page:=3").starts_with("`` in `page:=3` is not a name"));
        assert!(message("page:d=1,").starts_with("`` in `page:d=1,` is not"));
    }
}
