//! `ftlab complete`: what can stand at the end of a spec. The completion scripts call it.

use crate::failure::Result;
use crate::known_names;
use crate::output;

/// Options of `ftlab complete`.
#[derive(clap::Args)]
pub struct Args {
    /// The option whose value is completed
    option: String,
    /// What the user has typed of the value
    #[arg(allow_hyphen_values = true)]
    text: String,
}

/// Prints the values that begin with the text, one on each line.
pub fn run(args: &Args) -> Result<()> {
    let values = completed(&args.option, &args.text);
    output::print(&values.iter().map(|value| format!("{value}\n")).collect::<String>())
}

/// Values that go on where the text ends: names, keys behind a name, or words behind a key.
fn completed(option: &str, text: &str) -> Vec<String> {
    let Some((name, keys)) = text.split_once(':') else {
        let names = known_names::of_option(option).into_iter();
        return names.map(|(name, _)| name.to_owned()).filter(|it| it.starts_with(text)).collect();
    };
    let last = keys.rsplit_once(',').map_or(keys, |(_, last)| last);
    let before = &text[..text.len() - last.len()];
    let params = known_names::params_of(option, name);
    let ends = params.iter().flat_map(|param| match last.contains('=') {
        false => vec![format!("{}=", param.name)],
        true => param.kind.words().iter().map(|word| format!("{}={word}", param.name)).collect(),
    });
    ends.filter(|end| end.starts_with(last)).map(|end| format!("{before}{end}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keys_and_words_are_completed() {
        assert_eq!(completed("ftl", "las"), ["last"]);
        assert!(completed("ftl", "page:").contains(&"page:victim=".to_owned()));
        assert_eq!(completed("ftl", "page:victim=wind"), ["page:victim=windowed_greedy"]);
        let second = completed("ftl", "page:frontiers=2,victim=f");
        assert_eq!(second, ["page:frontiers=2,victim=fifo"]);
        assert_eq!(
            completed("drive", "zoned-nvme:acknowledge=b"),
            ["zoned-nvme:acknowledge=buffer"]
        );
        assert_eq!(
            completed("chip", "tlc-3d:program_order=a"),
            ["tlc-3d:program_order=any", "tlc-3d:program_order=ascending"]
        );
        assert!(completed("ftl", "nothing:").is_empty() && completed("seed", "1").is_empty());
    }

    /// Every word that is offered is taken.
    #[test]
    fn what_is_completed_can_be_parsed() {
        for scheme in ftl::SCHEMES {
            for key in completed("ftl", &format!("{}:", scheme.name)) {
                for value in completed("ftl", &key) {
                    let spec = spec::Spec::parse(&value).unwrap();
                    spec::resolve("FTL", &spec.pairs, scheme.params).unwrap();
                }
            }
        }
    }
}
