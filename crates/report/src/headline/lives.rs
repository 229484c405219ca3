//! Headlines of lives: who lives longest.

use sim::run::life::Life;

use super::ranking::{Measure, Ranking};
use super::words::{NAMED_MAX, list, rounded};

/// The headline of lives: who lives longest, and how much even wear would add.
pub fn of(lives: &[Life]) -> Vec<String> {
    let measure =
        |life: &Life| Measure { name: life.ftl.clone(), value: life.drive_writes, spread: None };
    let Some(ranking) = Ranking::of_most(lives.iter().map(measure)) else { return Vec::new() };
    let best = ranking.first();
    let life = lives.iter().find(|life| life.ftl == best.name).expect("it is one of them");
    let sure = match lives.len() {
        1 => format!("One life, with seed {}", life.seed),
        _ => format!("One life each, with seed {}", life.seed),
    };
    let even = rounded(life.drive_writes_if_even);
    vec![longest(&ranking), format!("With even wear {} would last {even}. {sure}.", best.name)]
}

fn longest(ranking: &Ranking) -> String {
    let (best, others) = (ranking.first(), &ranking.others);
    let writes = rounded(best.value);
    let shown: Vec<&Measure> = match &others[..] {
        [first, .., last] if others.len() > NAMED_MAX => vec![first, last],
        all => all.iter().collect(),
    };
    let times = |other: &&Measure| match best.value / other.value {
        ratio if !ratio.is_finite() => format!("{} dies at once", other.name),
        ratio => match &*rounded(ratio) {
            "1.00" => format!("little more than {}", other.name),
            times => format!("{times} times as much as {}", other.name),
        },
    };
    let compared: Vec<String> = shown.iter().map(times).collect();
    let compared = match compared.is_empty() {
        true => String::new(),
        false => format!(", {}", list(&compared)),
    };
    match (&ranking.best[..], &others[..]) {
        ([one], []) => format!("{} lives for {writes} drive writes.", one.name),
        ([one], _) => format!("{} lives longest: {writes} drive writes{compared}.", one.name),
        (_, []) => format!("{} live alike: {writes} drive writes.", list(&ranking.best_names())),
        _ => format!(
            "{} live longest: {writes} drive writes{compared}.",
            list(&ranking.best_names())
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lives: &[(&str, f64)]) -> String {
        let measure =
            |&(name, value): &(&str, f64)| Measure { name: name.into(), value, spread: None };
        longest(&Ranking::of_most(lives.iter().map(measure)).unwrap())
    }

    #[test]
    fn the_longest_life_is_compared_with_the_others() {
        let three = [("page", 9.9), ("dac", 14.5), ("fast", 7.1)];
        let wanted = "dac lives longest: 14.5 drive writes, 1.46 times as much as page and 2.04 \
                      times as much as fast.";
        assert_eq!(shown(&three), wanted);
        assert_eq!(shown(&three[..1]), "page lives for 9.90 drive writes.");
        assert_eq!(shown(&[("a", 2.0), ("b", 2.0)]), "a and b live alike: 2.00 drive writes.");
        let many = [("a", 9.0), ("b", 8.0), ("c", 7.0), ("d", 6.0), ("e", 3.0)];
        let wanted = "a lives longest: 9.00 drive writes, 1.12 times as much as b and 3.00 times \
                      as much as e.";
        assert_eq!(shown(&many), wanted);
        let dead = shown(&[("a", 2.0), ("b", 0.0)]);
        assert_eq!(dead, "a lives longest: 2.00 drive writes, b dies at once.");
        let close = shown(&[("a", 2.008), ("b", 2.0)]);
        assert_eq!(close, "a lives longest: 2.01 drive writes, little more than b.");
    }
}
