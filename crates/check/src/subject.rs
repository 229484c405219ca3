//! What is checked: a scheme with its parameters, and the layers above it.

use ftl::{Choice, Layers, Result, Scheme};
use spec::{Kind, Param, Spec};

use crate::device_model::DEVICE_MODELS;

/// A scheme with its parameters, the layers above it, and the way users write it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The spec of the scheme, such as `page:victim=fifo`.
    pub spec: String,
    /// The scheme and its parameters.
    pub choice: Choice,
    /// The layers above it.
    pub layers: Layers,
}

/// Settings of a scheme's parameters: pairs of key and value.
type Settings = Vec<(String, String)>;

impl Subject {
    /// The registered scheme that a spec names.
    ///
    /// # Errors
    /// The scheme or a key is unknown, or a value is malformed.
    pub fn from_spec(text: &str) -> Result<Subject> {
        let choice = Choice::from_spec(&Spec::parse(text)?)?;
        Ok(Subject { spec: text.to_owned(), choice, layers: Layers::default() })
    }

    /// A scheme with these settings. It need not be registered.
    ///
    /// # Errors
    /// A key is unknown, or a value is malformed.
    pub fn of(scheme: &'static Scheme, settings: &[(String, String)]) -> Result<Subject> {
        let spec = Spec { name: scheme.name.to_owned(), pairs: settings.to_vec() };
        let params = spec::resolve(&format!("scheme {}", scheme.name), settings, scheme.params)?;
        let given = settings.iter().map(|(key, _)| key.clone()).collect();
        let choice = Choice { scheme, params, given, guest: None };
        Ok(Subject { spec: spec.to_string(), choice, layers: Layers::default() })
    }

    /// The same scheme under these layers.
    pub fn under(self, layers: &Layers) -> Subject {
        Subject { layers: layers.clone(), ..self }
    }

    /// The options that name the subject: the spec of the scheme and the layers.
    pub fn name(&self) -> String {
        format!("{}{}", self.spec, self.layers)
    }

    /// The scheme with its defaults, with its corner settings, and with every single change of a
    /// choice, a switch or a count. Settings that the scheme refuses are left out.
    pub fn single_changes(scheme: &'static Scheme) -> Vec<Subject> {
        let changes = |param: &'static Param| {
            other_values(param).chain(other_count(param).map(|pair| vec![pair]))
        };
        let changed = scheme.params.iter().flat_map(changes);
        let all = core::iter::once(Vec::new()).chain(corners(scheme)).chain(changed);
        all.filter_map(|settings| Subject::accepted(scheme, &settings)).collect()
    }

    /// The scheme with every combination of its choices and switches, with its corner settings, and
    /// with each combination and one changed count. A parameter without a default changes part of a
    /// preset; it is changed by itself only. Settings that the scheme refuses are left out.
    pub fn all_combinations(scheme: &'static Scheme) -> Vec<Subject> {
        let mut combinations: Vec<Settings> = vec![Vec::new()];
        let is_key = |param: &&'static Param| param.default.is_empty();
        for param in scheme.params.iter().filter(|param| !is_key(param)) {
            combinations = combinations.iter().flat_map(|it| with_each_value(it, param)).collect();
        }
        let counts = scheme.params.iter().filter_map(other_count);
        let changed: Vec<Settings> = counts
            .flat_map(|pair| {
                let with =
                    move |it: &Settings| [it.as_slice(), std::slice::from_ref(&pair)].concat();
                combinations.iter().map(with)
            })
            .collect();
        let keys = scheme.params.iter().filter(is_key).flat_map(other_values);
        let all = combinations.into_iter().chain(corners(scheme)).chain(changed).chain(keys);
        all.filter_map(|settings| Subject::accepted(scheme, &settings)).collect()
    }

    fn accepted(scheme: &'static Scheme, settings: &[(String, String)]) -> Option<Subject> {
        let subject = Subject::of(scheme, settings).ok()?;
        let refused = (scheme.refuses)(&subject.choice.params, &DEVICE_MODELS[0].chip());
        refused.is_none().then_some(subject)
    }
}

/// The settings extended by each value of a choice or a switch. A default value adds no setting.
fn with_each_value(settings: &[(String, String)], param: &Param) -> Vec<Settings> {
    let values: &[&str] = match param.kind {
        Kind::Choice(names) => names,
        Kind::Switch => &["true", "false"],
        _ => &[param.default],
    };
    let with = |value: &&str| match *value == param.default {
        true => settings.to_vec(),
        false => [settings, &[(param.name.to_owned(), (*value).to_owned())]].concat(),
    };
    values.iter().map(with).collect()
}

/// Each value of a choice or a switch but its default, as the only setting.
fn other_values(param: &'static Param) -> impl Iterator<Item = Settings> {
    with_each_value(&[], param).into_iter().filter(|settings| !settings.is_empty())
}

/// The corner settings that a scheme lists.
fn corners(scheme: &'static Scheme) -> impl Iterator<Item = Settings> {
    let parse = |text: &&str| spec::parse_pairs(text).expect("corner settings are well-formed");
    scheme.corners.iter().map(parse)
}

/// The default of a count plus one. If zero lets the scheme choose, the value is two, because the
/// scheme may well choose one.
fn other_count(param: &Param) -> Option<(String, String)> {
    let number = match param.kind {
        Kind::Count if param.default == "0" => 2,
        Kind::Count => param.default.parse::<u64>().ok()? + 1,
        _ => return None,
    };
    Some((param.name.to_owned(), number.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters of a scheme that exists for these tests alone.
    static PARAMS: &[Param] = &[
        Param {
            name: "order",
            kind: Kind::Choice(&["oldest", "newest", "any"]),
            default: "oldest",
            unit: "",
            doc: "",
        },
        Param { name: "draws", kind: Kind::Count, default: "2", unit: "", doc: "" },
        Param { name: "log", kind: Kind::Count, default: "0", unit: "", doc: "" },
        Param { name: "eager", kind: Kind::Switch, default: "false", unit: "", doc: "" },
        Param::key("way", Kind::Choice(&["up", "down"]), "", ""),
    ];

    static SCHEME: Scheme = Scheme {
        name: "sample",
        params: PARAMS,
        corners: &["draws=9,log=9"],
        refuses: |params, _| {
            params.switch("eager").then(|| params.choice("order") == "any")?.then(String::new)
        },
        least_extra: |_, _, _| 1,
        ..Scheme::PLAIN
    };

    fn specs(subjects: Vec<Subject>) -> Vec<String> {
        subjects.into_iter().map(|subject| subject.spec).collect()
    }

    #[test]
    fn single_changes_cover_every_choice_switch_and_count() {
        let expected = [
            "sample",
            "sample:draws=9,log=9",
            "sample:order=newest",
            "sample:order=any",
            "sample:draws=3",
            "sample:log=2",
            "sample:eager=true",
            "sample:way=up",
            "sample:way=down",
        ];
        assert_eq!(specs(Subject::single_changes(&SCHEME)), expected);
    }

    #[test]
    fn all_combinations_are_listed_except_refused_ones() {
        let all = specs(Subject::all_combinations(&SCHEME));
        assert_eq!(all.len(), 5 + 1 + 5 * 2 + 2, "{all:?}");
        for spec in ["sample", "sample:order=newest,eager=true", "sample:order=any,draws=3"] {
            assert_eq!(all.iter().filter(|it| *it == spec).count(), 1, "{spec} in {all:?}");
        }
        assert!(!all.iter().any(|it| it.contains("order=any,eager=true")), "{all:?}");
    }

    #[test]
    fn specs_of_registered_schemes_can_be_parsed_again() {
        for subject in ftl::SCHEMES.iter().flat_map(|scheme| Subject::single_changes(scheme)) {
            assert_eq!(Subject::from_spec(&subject.spec).unwrap().spec, subject.spec);
        }
    }

    #[test]
    fn a_subject_is_under_the_layers_that_it_was_given() {
        let layers = Layers::from_texts(ftl::LAYERS[0].corners[0]).unwrap();
        let subject = Subject::of(&SCHEME, &[]).unwrap().under(&layers);
        assert!(!subject.layers.is_empty());
        assert_eq!(subject.name(), format!("sample{layers}"));
    }
}
