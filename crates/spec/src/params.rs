//! Declared parameters and their values.
//!
//! Everything that can be configured declares a `&'static [Param]`. Help, documentation and checks
//! read this list. [`resolve`] turns the settings of a [`crate::Spec`] into values.
//!
//! ```
//! use spec::{Kind, Param, Spec, resolve};
//!
//! static PARAMS: &[Param] = &[Param {
//!     name: "regions",
//!     kind: Kind::Count,
//!     default: "6",
//!     unit: "regions",
//!     doc: "number of regions by update frequency",
//! }];
//! let spec = Spec::parse("dac:regions=4").unwrap();
//! let params = resolve("scheme dac", &spec.pairs, PARAMS).unwrap();
//! assert_eq!(params.count("regions"), 4);
//! ```

use std::fmt;

use crate::error::{Error, Result};
use crate::quantity::{
    malformed, parse_count, parse_ratio, parse_real, parse_size, parse_switch, parse_time_ns,
    print_size, print_time_ns,
};
use crate::share::Share;
use crate::suggestion::nearest;

/// The kind of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bytes: `8GiB`.
    Size,
    /// Bytes, or one of these names: `auto`.
    SizeOr(&'static [&'static str]),
    /// A whole number: `4M`.
    Count,
    /// A share of a whole: `7%`.
    Share,
    /// A whole number, or a share of a whole: `2`, `7%`.
    CountOrShare,
    /// A time: `5ms`.
    Time,
    /// `true` or `false`.
    Switch,
    /// A finite decimal number: `0.99`.
    Real,
    /// Two whole numbers: `70/30`.
    Ratio,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
    /// All settings whose keys are not declared. A list of parameters has at most one such.
    Rest,
}

impl Kind {
    /// The words among the values; empty if there are none.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Kind::SizeOr(words) | Kind::Choice(words) => words,
            Kind::Switch => &["true", "false"],
            _ => &[],
        }
    }
}

/// A parameter that can be set in a spec.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// The key.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: Kind,
    /// The default, as a user would write it. If it is empty, the parameter has no default.
    pub default: &'static str,
    /// The unit of a number, such as `blocks`; empty if the kind implies it.
    pub unit: &'static str,
    /// A description for the help, with the source if there is one.
    pub doc: &'static str,
}

impl Param {
    /// A key of a spec whose other values are those of a preset: it has no default.
    pub const fn key(
        name: &'static str,
        kind: Kind,
        unit: &'static str,
        doc: &'static str,
    ) -> Param {
        Param { name, kind, default: "", unit, doc }
    }
}

/// The number of parameters in several lists.
pub const fn total_len(lists: &[&[Param]]) -> usize {
    let (mut total, mut list) = (0, 0);
    while list < lists.len() {
        total += lists[list].len();
        list += 1;
    }
    total
}

/// Joins several lists of parameters into one, for declarations that are made of parts. `N` is
/// their [`total_len`].
pub const fn joined<const N: usize>(lists: &[&[Param]]) -> [Param; N] {
    let mut all = [Param { name: "", kind: Kind::Text, default: "", unit: "", doc: "" }; N];
    let (mut filled, mut list) = (0, 0);
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            all[filled] = lists[list][at];
            filled += 1;
            at += 1;
        }
        list += 1;
    }
    assert!(filled == N);
    all
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Bytes.
    Size(u64),
    /// A whole number.
    Count(u64),
    /// A share of a whole.
    Share(Share),
    /// Nanoseconds.
    TimeNs(u64),
    /// On or off.
    Switch(bool),
    /// A finite number.
    Real(f64),
    /// Two whole numbers.
    Ratio(u64, u64),
    /// One of the declared names.
    Choice(&'static str),
    /// Any text.
    Text(String),
    /// Settings whose keys are not declared.
    Rest(Vec<(String, String)>),
}

impl fmt::Display for Value {
    /// Writes a text that can be parsed into the same value.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Size(bytes) => out.write_str(&print_size(*bytes)),
            Value::Count(count) => write!(out, "{count}"),
            Value::Share(share) => write!(out, "{share}"),
            Value::TimeNs(time_ns) => out.write_str(&print_time_ns(*time_ns)),
            Value::Switch(on) => write!(out, "{on}"),
            Value::Real(real) => write!(out, "{real}"),
            Value::Ratio(a, b) => write!(out, "{a}/{b}"),
            Value::Choice(word) => out.write_str(word),
            Value::Text(text) => out.write_str(text),
            Value::Rest(pairs) => {
                let pairs: Vec<_> =
                    pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
                out.write_str(&pairs.join(","))
            }
        }
    }
}

impl Kind {
    /// Parses a value of this kind.
    ///
    /// # Errors
    /// The text is not of this kind. The message describes the expected form.
    pub fn parse(self, text: &str) -> Result<Value> {
        Ok(match self {
            Kind::Size => Value::Size(parse_size(text)?),
            Kind::SizeOr(words) => match choose(text, words) {
                Ok(word) => Value::Choice(word),
                Err(_) => Value::Size(parse_size(text).map_err(|_| size_or(text, words))?),
            },
            Kind::Count => Value::Count(parse_count(text)?),
            Kind::Share => Value::Share(Share::parse(text)?),
            Kind::CountOrShare => count_or_share(text)?,
            Kind::Time => Value::TimeNs(parse_time_ns(text)?),
            Kind::Switch => Value::Switch(parse_switch(text)?),
            Kind::Real => Value::Real(parse_real(text)?),
            Kind::Ratio => {
                let (a, b) = parse_ratio(text)?;
                Value::Ratio(a, b)
            }
            Kind::Choice(words) => Value::Choice(choose(text, words)?),
            Kind::Text => Value::Text(text.to_owned()),
            Kind::Rest => Value::Rest(crate::spec::parse_pairs(text)?),
        })
    }
}

/// A text with a percent sign is a share, so `1` is one and not the whole.
fn count_or_share(text: &str) -> Result<Value> {
    let parsed = match text.ends_with('%') {
        true => Share::parse(text).map(Value::Share),
        false => parse_count(text).map(Value::Count),
    };
    parsed.map_err(|_| malformed(text, "a whole number such as 4, or a share such as `8%`"))
}

fn size_or(text: &str, words: &[&str]) -> Error {
    malformed(text, &format!("a size such as 64KiB, or `{}`", words.join("`, `")))
}

fn choose(text: &str, words: &'static [&'static str]) -> Result<&'static str> {
    let chosen = words.iter().copied().find(|&word| word == text);
    chosen.ok_or_else(|| {
        let listed = words.join("`, `");
        let meant = match nearest(text, words.iter().copied()) {
            Some(word) => format!("; did you mean `{word}`?"),
            None => String::new(),
        };
        malformed(text, &format!("one of `{listed}`{meant}"))
    })
}

/// Checks settings against the declared parameters and adds the defaults.
///
/// `what` names the thing that is configured, such as `scheme page`, for error messages.
///
/// # Errors
/// A key is not declared or is given twice, or a value is not of the declared kind.
///
/// # Panics
/// A declared default is not of its declared kind. This is a bug in the program.
pub fn resolve(
    what: &str,
    pairs: &[(String, String)],
    declared: &'static [Param],
) -> Result<Params> {
    check_keys(what, pairs, declared)?;
    let mut values = Vec::with_capacity(declared.len());
    for param in declared {
        let given = pairs.iter().find(|(key, _)| key == param.name);
        if param.kind == Kind::Rest {
            values.push((param.name, rest_of(pairs, declared)));
            continue;
        }
        let value = match given {
            Some((key, text)) => Some(param.kind.parse(text).map_err(|reason| Error::Value {
                what: what.to_owned(),
                key: key.clone(),
                reason: Box::new(reason),
            })?),
            None => default_of(what, param),
        };
        values.push((param.name, value));
    }
    Ok(Params(values))
}

/// The settings whose keys are not declared; none if there are none.
fn rest_of(pairs: &[(String, String)], declared: &[Param]) -> Option<Value> {
    let is_declared = |key: &str| declared.iter().any(|param| param.name == key);
    let rest: Vec<_> = pairs.iter().filter(|(key, _)| !is_declared(key)).cloned().collect();
    (!rest.is_empty()).then_some(Value::Rest(rest))
}

/// Every key must be declared, unless the rest is, and given only once.
fn check_keys(what: &str, pairs: &[(String, String)], declared: &[Param]) -> Result<()> {
    let takes_rest = declared.iter().any(|param| param.kind == Kind::Rest);
    for (index, (key, _)) in pairs.iter().enumerate() {
        if !takes_rest && !declared.iter().any(|param| param.name == key) {
            return Err(unknown_key(what, key, declared));
        }
        if pairs[..index].iter().any(|(earlier, _)| earlier == key) {
            return Err(Error::Duplicate { what: what.to_owned(), key: key.clone() });
        }
    }
    Ok(())
}

fn unknown_key(what: &str, key: &str, declared: &[Param]) -> Error {
    let names = || declared.iter().map(|param| param.name);
    Error::UnknownKey {
        what: what.to_owned(),
        key: key.to_owned(),
        nearest: nearest(key, names()).map(str::to_owned),
        known: names().map(str::to_owned).collect(),
    }
}

fn default_of(what: &str, param: &Param) -> Option<Value> {
    if param.default.is_empty() {
        return None;
    }
    match param.kind.parse(param.default) {
        Ok(value) => Some(value),
        Err(error) => panic!("{what}: wrong default of `{}`: {error}", param.name),
    }
}

/// The values of all declared parameters, in the order of their declaration.
///
/// The typed accessors, such as `count("x")`, panic if the parameter is not declared with that
/// kind, or if it has neither a value nor a default, because this is a bug in the program. The
/// accessors that begin with `opt_` return `None` if the parameter has neither.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Params(Vec<(&'static str, Option<Value>)>);

/// Generates both accessors of a kind.
macro_rules! accessors {
    ($($name:ident, $optional:ident, $pattern:pat => $value:expr, $type:ty, $doc:literal;)*) => {
        $(
            #[doc = concat!("The ", $doc, " `name`.")]
            pub fn $name(&self, name: &str) -> $type {
                match self.$optional(name) {
                    Some(value) => value,
                    None => panic!("parameter `{name}` has neither a value nor a default"),
                }
            }

            #[doc = concat!("The ", $doc, " `name`, or `None` if it was not given.")]
            pub fn $optional(&self, name: &str) -> Option<$type> {
                match self.declared(name) {
                    Some($pattern) => Some($value),
                    None => None,
                    Some(other) => panic!("parameter `{name}` has another kind: {other:?}"),
                }
            }
        )*
    };
}

impl Params {
    accessors! {
        size, opt_size, Value::Size(bytes) => *bytes, u64, "size in bytes";
        count, opt_count, Value::Count(count) => *count, u64, "count";
        share, opt_share, Value::Share(share) => *share, Share, "share";
        time_ns, opt_time_ns, Value::TimeNs(time_ns) => *time_ns, u64, "time in nanoseconds";
        switch, opt_switch, Value::Switch(on) => *on, bool, "switch";
        real, opt_real, Value::Real(real) => *real, f64, "number";
        ratio, opt_ratio, Value::Ratio(a, b) => (*a, *b), (u64, u64), "ratio";
        choice, opt_choice, Value::Choice(word) => word, &'static str, "chosen name";
        text, opt_text, Value::Text(text) => text.as_str(), &str, "text";
        rest, opt_rest, Value::Rest(pairs) => pairs, &[(String, String)], "other settings";
    }

    /// The value of `name`; `None` if it has no value or is not declared.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(declared, _)| *declared == name);
        found.and_then(|(_, value)| value.as_ref())
    }

    /// The parameters that have a value, in the order of their declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().filter_map(|(name, value)| value.as_ref().map(|value| (*name, value)))
    }

    /// The settings that resolve to these values: keys and printed values, and those whose keys are
    /// not declared.
    pub fn settings(&self) -> Vec<(String, String)> {
        let settings = self.iter().flat_map(|(name, value)| match value {
            Value::Rest(pairs) => pairs.clone(),
            value => vec![(name.to_owned(), value.to_string())],
        });
        settings.collect()
    }

    fn declared(&self, name: &str) -> Option<&Value> {
        let declared = self.0.iter().any(|(declared, _)| *declared == name);
        assert!(declared, "parameter `{name}` is read but not declared");
        self.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    const fn param(name: &'static str, kind: Kind, default: &'static str) -> Param {
        Param { name, kind, default, unit: "", doc: "" }
    }

    static PARAMS: &[Param] = &[
        param("victim", Kind::Choice(&["greedy", "fifo", "random"]), "greedy"),
        param("frontiers", Kind::Count, "2"),
        param("cmt", Kind::Size, "64KiB"),
        param("reserve", Kind::Share, "7%"),
        param("delay", Kind::Time, "5ms"),
        param("isolation", Kind::Switch, "true"),
        param("theta", Kind::Real, "0.99"),
        param("hot", Kind::Ratio, "70/30"),
        param("label", Kind::Text, ""),
        param("pages", Kind::Count, ""),
    ];

    fn resolved(text: &str) -> Result<Params> {
        resolve("scheme page", &Spec::parse(text).unwrap().pairs, PARAMS)
    }

    #[test]
    fn joined_lists_keep_their_order() {
        const PARTS: &[&[Param]] = &[&[param("a", Kind::Count, "1")], &[], PLAIN];
        const PLAIN: &[Param] = &[param("b", Kind::Count, "2"), param("c", Kind::Count, "3")];
        const ALL: [Param; total_len(PARTS)] = joined(PARTS);
        assert_eq!(ALL.map(|param| param.name), ["a", "b", "c"]);
    }

    #[test]
    fn parameters_that_are_not_given_have_their_defaults() {
        let params = resolved("page:frontiers=1,label=x").unwrap();
        assert_eq!(params.choice("victim"), "greedy");
        assert_eq!(params.count("frontiers"), 1);
        assert_eq!(params.size("cmt"), 65536);
        assert_eq!(params.share("reserve").ceil_of(100), 7);
        assert_eq!(params.time_ns("delay"), 5_000_000);
        assert!(params.switch("isolation"));
        assert_eq!(params.real("theta"), 0.99);
        assert_eq!(params.ratio("hot"), (70, 30));
        assert_eq!(params.opt_text("label"), Some("x"));
        assert_eq!(params.opt_count("pages"), None);
        assert_eq!(params.get("pages"), None);
        let names: Vec<_> = params.iter().map(|(name, _)| name).collect();
        assert_eq!(names[..3], ["victim", "frontiers", "cmt"]);
        assert_eq!(names.len(), 9, "parameters without a value are left out");
    }

    #[test]
    fn a_printed_value_can_be_parsed_again() {
        let params = resolved("page:label=a b,pages=1.4M").unwrap();
        let pairs: Vec<_> =
            params.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect();
        assert_eq!(resolve("scheme page", &pairs, PARAMS).unwrap(), params);
    }

    #[test]
    fn settings_that_are_not_declared_are_kept_if_the_rest_is() {
        static OPEN: &[Param] = &[param("lib", Kind::Text, ""), param("more", Kind::Rest, "")];
        let pairs = Spec::parse("guest:lib=a.so,log=8,x=y=z").unwrap().pairs;
        let params = resolve("scheme guest", &pairs, OPEN).unwrap();
        assert_eq!(params.text("lib"), "a.so");
        assert_eq!(params.rest("more"), &pairs[1..]);
        assert_eq!(params.settings(), pairs);
        let plain = resolve("scheme guest", &pairs[..1], OPEN).unwrap();
        assert_eq!(plain.opt_rest("more"), None);
        let twice = [pairs[1].clone(), pairs[1].clone()];
        let message = resolve("scheme guest", &twice, OPEN).unwrap_err().to_string();
        assert_eq!(message, "scheme guest: `log` is given twice");
    }

    #[test]
    fn error_messages_name_the_key_and_what_is_expected() {
        let message = |text| resolved(text).unwrap_err().to_string();
        assert!(message("page:victm=fifo").starts_with(
            "scheme page has no key `victm`; did you mean `victim`? Known: victim, frontiers"
        ));
        assert_eq!(message("page:cmt=1,cmt=2"), "scheme page: `cmt` is given twice");
        assert_eq!(
            message("page:victim=greey"),
            "scheme page, key `victim`: `greey` is not one of `greedy`, `fifo`, `random`; \
             did you mean `greedy`?"
        );
        assert_eq!(
            message("page:isolation=yes"),
            "scheme page, key `isolation`: `yes` is not `true` or `false`"
        );
        assert_eq!(
            Kind::SizeOr(&["auto"]).parse("autos").unwrap_err().to_string(),
            "`autos` is not a size such as 64KiB, or `auto`"
        );
        let none = resolve("scheme block", &[("d".to_owned(), "1".to_owned())], &[]).unwrap_err();
        assert_eq!(none.to_string(), "scheme block has no key `d`; it has no keys");
    }

    #[test]
    #[should_panic(expected = "read but not declared")]
    fn reading_an_undeclared_parameter_panics() {
        resolved("page").unwrap().count("nonsense");
    }

    #[test]
    #[should_panic(expected = "neither a value nor a default")]
    fn reading_a_parameter_without_a_value_panics() {
        resolved("page").unwrap().count("pages");
    }

    #[test]
    fn a_size_may_have_names_beside_it() {
        let kind = Kind::SizeOr(&["auto"]);
        assert_eq!(kind.parse("auto").unwrap(), Value::Choice("auto"));
        assert_eq!(kind.parse("8KiB").unwrap(), Value::Size(8192));
    }

    #[test]
    fn a_count_or_share_is_a_share_if_it_ends_in_percent() {
        let parse = |text| Kind::CountOrShare.parse(text);
        assert_eq!(parse("1").unwrap(), Value::Count(1));
        assert_eq!(parse("8%").unwrap(), Value::Share(Share::parse("8%").unwrap()));
        for text in ["0.5", "-1", "8 %", "few"] {
            let message = parse(text).unwrap_err().to_string();
            let expected = "is not a whole number such as 4, or a share such as `8%`";
            assert_eq!(message, format!("`{text}` {expected}"));
        }
    }

    #[test]
    #[should_panic(expected = "has another kind")]
    fn reading_a_parameter_as_another_kind_panics() {
        resolved("page").unwrap().count("victim");
    }
}
