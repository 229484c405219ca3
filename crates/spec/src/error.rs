//! What can be wrong with the words a user wrote. Every message is a sentence that shows the text.

/// The result of parsing what a user wrote.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A spec or one of its keys is not a plain word.
    #[error(
        "`{word}` in `{text}` is not a name: use letters, digits, `-`, `_` and `.`, as in \
         `name:key=value,key=value`"
    )]
    Name {
        /// The offending word.
        word: String,
        /// The whole text it stands in.
        text: String,
    },
    /// A part of a spec lacks its `=` or its value.
    #[error("`{pair}` in `{text}` is not `key=value`")]
    Pair {
        /// The offending part.
        pair: String,
        /// The whole text it stands in.
        text: String,
    },
    /// A key was given twice.
    #[error("{what}: `{key}` is given twice")]
    Duplicate {
        /// Whom the key was meant for, such as `scheme page`.
        what: String,
        /// The repeated key.
        key: String,
    },
    /// A word that names nothing we have.
    #[error("unknown {what} `{word}`{}", suggestion(.nearest, .known))]
    Unknown {
        /// The kind of thing asked for, such as `scheme`.
        what: String,
        /// What the user wrote.
        word: String,
        /// The known word closest to it, if one is close.
        nearest: Option<String>,
        /// All known words.
        known: Vec<String>,
    },
    /// A key that the thing configured does not have.
    #[error("{what} has no key `{key}`{}", suggestion(.nearest, .known))]
    UnknownKey {
        /// Whom the key was meant for, such as `scheme page`.
        what: String,
        /// What the user wrote.
        key: String,
        /// The known key closest to it, if one is close.
        nearest: Option<String>,
        /// All known keys.
        known: Vec<String>,
    },
    /// The value of a key was refused.
    #[error("{what}, key `{key}`: {reason}")]
    Value {
        /// Whom the key was meant for, such as `scheme page`.
        what: String,
        /// The key.
        key: String,
        /// What is wrong with its value.
        reason: Box<Error>,
    },
    /// A value is not of the expected form.
    #[error("`{text}` is not {form}")]
    Malformed {
        /// What the user wrote.
        text: String,
        /// The expected form with an example, such as ``a time such as `5ms` ``.
        form: String,
    },
    /// A value of the right form that is not a whole number of its smallest unit.
    #[error("`{text}` is not a whole number of {unit}")]
    NotWhole {
        /// What the user wrote.
        text: String,
        /// The smallest unit, such as `bytes`.
        unit: &'static str,
    },
    /// A value that does not fit into 64 bits.
    #[error("`{text}` is too large: at most {} {unit} fit", u64::MAX)]
    TooLarge {
        /// What the user wrote.
        text: String,
        /// The smallest unit, such as `bytes`.
        unit: &'static str,
    },
}

/// The end of a sentence about an unknown word: the nearest one and the list.
fn suggestion(nearest: &Option<String>, known: &[String]) -> String {
    if known.is_empty() {
        return String::from("; it takes none");
    }
    let known = known.join(", ");
    match nearest {
        Some(word) => format!("; did you mean `{word}`? Known: {known}"),
        None => format!("; known: {known}"),
    }
}
