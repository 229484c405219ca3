//! Errors in texts that users write. Every message is a sentence that quotes the text.

/// The result of parsing a text from the user.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name of a spec or a key is not a plain name.
    #[error(
        "`{word}` in `{text}` is not a name: use letters, digits, `-`, `_` and `.`, as in \
         `name:key=value,key=value`{}",
        if word.contains(',') { SEVERAL } else { "" }
    )]
    Name {
        /// The wrong name.
        word: String,
        /// The whole text.
        text: String,
    },
    /// A setting lacks its `=` or its value.
    #[error(
        "`{pair}` in `{text}` {}",
        if pair.len() > 1 && pair.ends_with('=') { "has no value" } else { "is not `key=value`" }
    )]
    Pair {
        /// The wrong setting.
        pair: String,
        /// The whole text.
        text: String,
    },
    /// A key was given twice.
    #[error("{what}: `{key}` is given twice")]
    Duplicate {
        /// The thing that is configured, such as `scheme page`.
        what: String,
        /// The repeated key.
        key: String,
    },
    /// A name is unknown.
    #[error("unknown {what} `{word}`{}", suggestion(.nearest, .known))]
    Unknown {
        /// The kind of thing that was named, such as `scheme`.
        what: String,
        /// The name that the user wrote.
        word: String,
        /// The nearest known name, if one is close.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// A key is unknown.
    #[error("{what} has no key `{key}`{}", suggestion(.nearest, .known))]
    UnknownKey {
        /// The thing that is configured, such as `scheme page`.
        what: String,
        /// The key that the user wrote.
        key: String,
        /// The nearest known key, if one is close.
        nearest: Option<String>,
        /// All known keys.
        known: Vec<String>,
    },
    /// The value of a key is wrong.
    #[error("{what}, key `{key}`: {reason}")]
    Value {
        /// The thing that is configured, such as `scheme page`.
        what: String,
        /// The key.
        key: String,
        /// What is wrong with the value.
        reason: Box<Error>,
    },
    /// A value does not have the expected form.
    #[error("`{text}` is not {form}")]
    Malformed {
        /// The value that the user wrote.
        text: String,
        /// The expected form with an example, such as ``a time such as `5ms` ``.
        form: String,
    },
    /// A value is not a whole number of its smallest unit.
    #[error("`{text}` is not a whole number of {unit}")]
    NotWhole {
        /// The value that the user wrote.
        text: String,
        /// The smallest unit, such as `bytes`.
        unit: &'static str,
    },
    /// A value does not fit into 64 bits.
    #[error("`{text}` is too large: the maximum is {} {unit}", u64::MAX)]
    TooLarge {
        /// The value that the user wrote.
        text: String,
        /// The smallest unit, such as `bytes`.
        unit: &'static str,
    },
}

/// The end of a message about several names in one.
const SEVERAL: &str = "; an option that takes several names is given once for each";

/// The end of a message about an unknown name: the nearest name and the list of known names.
fn suggestion(nearest: &Option<String>, known: &[String]) -> String {
    if known.is_empty() {
        return String::from("; it has no keys");
    }
    let known = known.join(", ");
    match nearest {
        Some(word) => format!("; did you mean `{word}`? Known: {known}"),
        None => format!("; known: {known}"),
    }
}
