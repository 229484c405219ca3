//! Colours: each FTL has its own, on all pages.
//!
//! The colours can be told apart on light and dark grounds. Where two runs have the same scheme,
//! the second one is a shade of its colour; curves differ by their dashes, too.

/// The colour of each scheme.
const SCHEMES: &[(&str, &str)] = &[
    ("page", "#3d8fd1"),
    ("dac", "#009e73"),
    ("sepgc", "#4fb3bf"),
    ("streams", "#c9a227"),
    ("sepbit", "#8a7fd1"),
    ("warcip", "#b05fa8"),
    ("oracle", "#7f8fa6"),
    ("dftl", "#6a5acd"),
    ("superblock", "#cc79a7"),
    ("lsb", "#a64d79"),
    ("block", "#8c8c8c"),
    ("nftl", "#9c755f"),
    ("fmax", "#a89a5b"),
    ("bast", "#b8860b"),
    ("fast", "#d55e00"),
    ("faster", "#e58c7a"),
    ("last", "#5b9a3c"),
];

/// The colours of what is no scheme, such as traces.
const OTHERS: [&str; 8] =
    ["#3d8fd1", "#d55e00", "#009e73", "#cc79a7", "#8a7fd1", "#b8860b", "#7f8fa6", "#9c755f"];

/// The colour of a reading beside none of the schemes, such as a target.
pub const NEUTRAL: &str = "#808080";

/// Whether a label begins with a scheme that has a colour of its own, such as `dac:regions=4`.
pub fn names_a_scheme(label: &str) -> bool {
    own(label).is_some()
}

/// The colours of runs or traces with these labels.
pub fn of<L: AsRef<str>>(labels: &[L]) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for label in labels {
        let own = own(label.as_ref()).map(str::to_owned);
        let colour = own.unwrap_or_else(|| next(&taken));
        let times = taken.iter().filter(|known| is_shade_of(known, &colour)).count();
        taken.push(shade(&colour, times));
    }
    taken
}

/// The colour of a single run.
pub fn of_one(label: &str) -> String {
    of(&[label]).remove(0)
}

/// The colour of the scheme that a label begins with.
fn own(label: &str) -> Option<&'static str> {
    let end = label.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(label.len());
    SCHEMES.iter().find(|(name, _)| *name == &label[..end]).map(|(_, colour)| *colour)
}

fn next(taken: &[String]) -> String {
    let free = OTHERS.iter().find(|colour| !taken.iter().any(|known| known == **colour));
    free.unwrap_or(&OTHERS[taken.len() % OTHERS.len()]).to_string()
}

/// Factors of the shades of a colour.
const SHADES: [f64; 4] = [1.0, 0.68, 1.32, 0.5];

fn shade(colour: &str, times: usize) -> String {
    let factor = SHADES[times % SHADES.len()];
    let part = |at: usize| {
        let part = u8::from_str_radix(&colour[at..at + 2], 16).unwrap_or(128);
        (f64::from(part) * factor).min(255.0) as u8
    };
    format!("#{:02x}{:02x}{:02x}", part(1), part(3), part(5))
}

fn is_shade_of(shaded: &str, colour: &str) -> bool {
    (0..SHADES.len()).any(|times| shade(colour, times) == shaded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_has_its_colour_wherever_it_stands() {
        let alone = of_one("dac");
        assert_eq!(of(&["page", "dac:regions=4"])[1], alone);
        assert_eq!(of(&["dac", "page"])[0], alone);
    }

    #[test]
    fn no_two_colours_are_equal() {
        let labels = ["page", "page:victim=fifo", "page:victim=random", "web.trace", "other"];
        let colours = of(&labels);
        for (at, colour) in colours.iter().enumerate() {
            assert!(!colours[at + 1..].contains(colour), "{colours:?}");
        }
        let all: Vec<&str> = SCHEMES.iter().map(|(name, _)| *name).collect();
        let colours = of(&all);
        assert!((0..all.len()).all(|at| !colours[at + 1..].contains(&colours[at])), "{colours:?}");
    }
}
