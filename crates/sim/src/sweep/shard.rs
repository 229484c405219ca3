//! A shard: the part of a plan's rows that one of several machines runs.
//!
//! All shards have the same number of rows, up to one. Costs follow the options: some schemes,
//! chips and traces take longer than others. So each row goes to the shard that has the fewest rows
//! with the same values of the varied options. Giving row r to shard r mod n would not do: in a
//! grid whose last key has n values, each shard would get one of these values only.
//!
//! ```text
//! ftl      page page fast fast          shard 1 of 2: rows 0 and 3
//! extra    7%   15%  7%   15%           shard 2 of 2: rows 1 and 2
//! ```
//! The rows of a shard follow from the plan and the number of shards alone, so machines need not
//! agree on anything else.

use core::fmt;
use core::str::FromStr;
use std::collections::HashMap;

use crate::plan::Plan;

/// The largest number of shards.
pub const SHARDS_MAX: u32 = 10_000;

/// One of several shards of a plan, or the whole plan, which is shard 1 of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    /// The number of shards, from 1.
    of: u32,
    /// Its number, from 1.
    number: u32,
}

impl Shard {
    /// All rows.
    pub const WHOLE: Shard = Shard { of: 1, number: 1 };

    /// The shard with this number, from 1 to `of`; none if there is no such shard, or there are
    /// more than [`SHARDS_MAX`].
    pub fn new(number: u32, of: u32) -> Option<Shard> {
        let exists = (1..=of).contains(&number) && of <= SHARDS_MAX;
        exists.then_some(Shard { of, number })
    }

    /// Its number, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// The number of shards.
    pub fn of(self) -> u32 {
        self.of
    }

    /// All shards of which this is one.
    pub fn all(self) -> impl Iterator<Item = Shard> {
        (1..=self.of).map(move |number| Shard { number, ..self })
    }

    /// The numbers of its rows, in the order of the plan.
    pub fn rows(self, plan: &Plan) -> Vec<usize> {
        let shards = dealt(plan, self.of as usize);
        let is_own = |&(_, shard): &(usize, usize)| shard + 1 == self.number as usize;
        shards.into_iter().enumerate().filter(is_own).map(|(row, _)| row).collect()
    }
}

/// The shard of each row, counted from 0.
fn dealt(plan: &Plan, shards: usize) -> Vec<usize> {
    let values = varied_values(plan);
    let kinds = values.iter().flatten().max().map_or(0, |&value| value + 1);
    let mut held = vec![vec![0_u32; kinds]; if shards > 1 { shards } else { 0 }];
    let mut dealt = Vec::with_capacity(plan.rows.len());
    // In each round every shard gets one row, so none gets more rows than others.
    for round in values.chunks(shards) {
        let mut free: Vec<usize> = (0..shards).collect();
        for row in round {
            let alike = |&shard: &usize| row.iter().map(|&value| held[shard][value]).sum::<u32>();
            let at = match free.len() {
                1 => 0,
                _ => (0..free.len()).min_by_key(|&at| alike(&free[at])).expect("a free shard"),
            };
            let shard = free.remove(at);
            if let Some(held) = held.get_mut(shard) {
                row.iter().for_each(|&value| held[value] += 1);
            }
            dealt.push(shard);
        }
    }
    dealt
}

/// For each row its varied values, numbered over all options.
fn varied_values(plan: &Plan) -> Vec<Vec<usize>> {
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut number = |(key, value): (&String, &serde_json::Value)| {
        let next = numbers.len();
        *numbers.entry(format!("{key} {value}")).or_insert(next)
    };
    plan.rows.iter().map(|row| row.varied.iter().map(&mut number).collect()).collect()
}

impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(number, of)| Some((digits(number)?, digits(of)?)));
        let shard = numbers.and_then(|(number, of)| Shard::new(number, of));
        shard.ok_or_else(|| {
            format!(
                "a shard is its number and the number of shards, such as 1/8 to 8/8, with at most \
                 {SHARDS_MAX} shards"
            )
        })
    }
}

/// A number of digits alone, without a sign or leading zeros.
pub(super) fn digits(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Scale;

    fn plan(grid: &str) -> Plan {
        let text = format!("[base]\ncapacity = \"1MiB\"\n[[grid]]\n{grid}");
        Plan::parse("p", &text, Scale::Full).unwrap()
    }

    fn shards(of: u32) -> impl Iterator<Item = Shard> {
        Shard::new(1, of).unwrap().all()
    }

    /// The number of values of an option in a list.
    fn values(key: &str, count: usize) -> String {
        let values: Vec<String> = (1..=count).map(|value| value.to_string()).collect();
        format!("{key} = [{}]\n", values.join(", "))
    }

    #[test]
    fn every_row_is_in_one_shard_and_shards_are_equally_large() {
        for rows in [1, 2, 7, 12, 100] {
            let plan = plan(&values("seed", rows));
            for of in [1, 2, 3, 5, 8, 12, 13] {
                let all: Vec<Vec<usize>> = shards(of).map(|shard| shard.rows(&plan)).collect();
                let mut seen = all.concat();
                seen.sort_unstable();
                assert_eq!(seen, (0..rows).collect::<Vec<_>>(), "{rows} rows, {of} shards");
                let sizes = all.iter().map(Vec::len);
                let (least, most) = (sizes.clone().min().unwrap(), sizes.max().unwrap());
                assert!(most - least <= 1, "{rows} rows, {of} shards: {least} to {most}");
                assert!(all.iter().all(|rows| rows.is_sorted()));
            }
        }
    }

    /// Whatever the numbers of values, no shard gets much more of a costly value than others.
    #[test]
    fn every_value_of_an_option_is_spread_evenly() {
        for (outer, inner) in [(2, 2), (4, 2), (2, 4), (3, 4), (4, 3), (6, 5), (8, 8)] {
            let text = values("seed", outer) + &values("warmup", inner);
            let plan = plan(&text);
            for of in [2, 3, 4, 8] {
                for (key, count) in [("seed", inner), ("warmup", outer)] {
                    let fair = count as f64 / f64::from(of);
                    for shard in shards(of) {
                        let mut held: HashMap<u64, usize> = HashMap::new();
                        for row in shard.rows(&plan) {
                            *held
                                .entry(plan.rows[row].varied[key].as_u64().unwrap())
                                .or_default() += 1;
                        }
                        let most = held.values().max().copied().unwrap_or(0);
                        let why = format!("{outer} x {inner}, shard {shard}: {most} of a {key}");
                        assert!(most as f64 <= fair + 1.5, "{why}, fair is {fair}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_shard_is_written_as_its_number_and_their_number() {
        let shard: Shard = "3/8".parse().unwrap();
        assert_eq!((shard.number(), shard.of(), shard.to_string()), (3, 8, "3/8".to_owned()));
        let wrong =
            ["", "3", "0/8", "9/8", "1/0", "-1/8", "+1/8", "1/8/2", "a/b", "1/10001", "01/8"];
        for text in wrong {
            let why = text.parse::<Shard>().unwrap_err();
            assert!(why.contains("such as 1/8 to 8/8"), "{text}: {why}");
        }
    }
}
