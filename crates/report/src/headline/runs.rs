//! Headlines of results: what a write costs, and which FTL is the cheapest.

use serde_json::Value;
use sim::result::notes::{Concern, concern};
use sim::result::run_result::{GUEST, half_range};

use super::ranking::{Measure, Ranking};
use super::words::{NAMED_MAX, list, more, names, plus_minus, rounded};
use crate::captions::short_labels;
use crate::runs::{LabelledResult, ends};

/// The headline of results of the same load on the same device: the cost of a write, and how sure
/// it is; then the times if a drive served them; then what was not in a steady state.
pub fn of(runs: &[LabelledResult]) -> Vec<String> {
    let labels: Vec<&str> = runs.iter().map(|run| run.label).collect();
    let named: Vec<Named> = short_labels(&labels)
        .into_iter()
        .zip(runs)
        .map(|(name, run)| Named { name, result: run.result })
        .collect();
    let mut sentences = vec![cost(&named)];
    sentences.extend(rates(&named));
    sentences.extend(state(&named));
    sentences
}

/// A result with its name in sentences.
struct Named<'a> {
    name: String,
    result: &'a Value,
}

// ---- The cost of a write ------------------------------------------------------------------------

/// What the cost of a write is counted in.
struct Unit {
    /// Its field in results.
    field: &'static str,
    /// Behind the number.
    words: &'static str,
}

const PAGES: Unit =
    Unit { field: "write_amplification", words: "pages programmed for each page of the host" };
/// Layers change the pages that reach the scheme, so only bytes can be compared.
const BYTES: Unit = Unit {
    field: "write_amplification_bytes",
    words: "bytes programmed for each byte of the host",
};

impl Unit {
    /// Pages if all runs wrote the same pages, otherwise bytes.
    fn of(runs: &[Named]) -> &'static Unit {
        let written = |run: &Named| run.result["host_pages"]["written"].clone();
        let is_same = runs.iter().all(|run| written(run) == written(&runs[0]));
        let has_layer = |run: &Named| {
            let layers = run.result["layers"].as_object();
            layers.is_some_and(|layers| layers.values().any(|layer| !layer.is_null()))
        };
        if is_same && !runs.iter().any(has_layer) { &PAGES } else { &BYTES }
    }

    fn measure(&self, run: &Named) -> Option<Measure> {
        let value = run.result[self.field].as_f64()?;
        Some(Measure { name: run.name.clone(), value, spread: spread(run.result) })
    }
}

/// How far write amplification is from sure, as a share; none if the run is too short to tell.
pub fn spread(result: &Value) -> Option<f64> {
    let [low, high] = ends(result)?;
    half_range([low, high])
}

/// What a write costs, and with which of several FTLs least.
fn cost(runs: &[Named]) -> String {
    let unit = Unit::of(runs);
    let measures: Vec<Measure> = runs.iter().filter_map(|run| unit.measure(run)).collect();
    match (&measures[..], runs) {
        ([], _) => nothing_written(runs),
        _ if !runs.iter().any(has_collected) => nothing_collected(&measures, unit),
        ([one], [run]) => alone(one, run, unit),
        _ => compared(&Ranking::of_least(measures).expect("there are measures"), unit),
    }
}

fn has_collected(run: &Named) -> bool {
    run.result["erases"]["total"].as_u64() > Some(0)
}

fn nothing_written(runs: &[Named]) -> String {
    let mean = |run: &Named| {
        let reads = &run.result["service_us"]["read"];
        let value = reads["mean"].as_f64().filter(|_| reads["count"].as_u64() > Some(0))?;
        Some(Measure { name: run.name.clone(), value, spread: None })
    };
    let Some(ranking) = Ranking::of_least(runs.iter().filter_map(mean)) else {
        return "Nothing was written or read.".to_owned();
    };
    let us = rounded(ranking.first().value);
    match (runs, &ranking.others[..]) {
        ([_], _) => format!("Nothing was written; a read takes {us} µs on average."),
        (_, []) => format!("Nothing was written; a read takes {us} µs on average with each FTL."),
        (_, others) => format!(
            "Nothing was written; a read takes least with {}: {us} µs on average. {}.",
            list(&ranking.best_names()),
            needs(ranking.first().value, others)
        ),
    }
}

fn nothing_collected(measures: &[Measure], unit: &Unit) -> String {
    let values = || measures.iter().map(|measure| measure.value);
    let [least, most] =
        [values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max)].map(rounded);
    let range = if least == most { least } else { format!("{least} to {most}") };
    let what = if measures.len() == 1 { "the FTL" } else { "these FTLs" };
    format!(
        "No block was collected: the device still had room, so {range} {} say little about {what}.",
        unit.words
    )
}

fn alone(cost: &Measure, run: &Named, unit: &Unit) -> String {
    let written = run.result["host_pages"]["written"].as_f64().filter(|&pages| pages > 0.0);
    let copied = run.result["copies"]["total"].as_f64().zip(written);
    let copies = match copied {
        // A guest may copy by reading and programming, which counts as neither.
        _ if unit.field == BYTES.field || run.result["ftl"]["name"] == GUEST => String::new(),
        Some((copied, written)) if copied > 0.0 => {
            format!(", {} of them copies", rounded(copied / written))
        }
        _ => ", none of them a copy".to_owned(),
    };
    let value = rounded(cost.value);
    format!("{} writes {value} {}{copies} ({}).", cost.name, unit.words, sure(cost.spread))
}

fn sure(spread: Option<f64>) -> String {
    spread.map_or("too short a run to say how sure".to_owned(), plus_minus)
}

fn compared(ranking: &Ranking, unit: &Unit) -> String {
    let (first, others) = (ranking.first(), &ranking.others[..]);
    let sure = sure(ranking.spread());
    let head = match &ranking.best[..] {
        [_] => format!(
            "{} writes least: {} {} ({sure}).",
            first.name,
            rounded(first.value),
            unit.words
        ),
        best => {
            let last = best.last().expect("there are several");
            let [low, high] = [first.value, last.value].map(rounded);
            let (is_same, names) = (low == high, names(&ranking.best_names(), "FTLs"));
            let range = if is_same { low } else { format!("{low} to {high}") };
            let who = match (others, is_same) {
                ([], true) => format!("{names} write alike"),
                ([], false) => format!("{names} cannot be told apart"),
                (_, true) => format!("{names} write least, and alike"),
                (_, false) => format!("{names} write least, and cannot be told apart"),
            };
            format!("{who}: {range} {} ({sure}).", unit.words)
        }
    };
    match others {
        [] => head,
        others => format!("{head} {}.", needs(first.value, others)),
    }
}

/// What the others need, next to the best. Of many, the nearest and the farthest.
fn needs(best: f64, others: &[Measure]) -> String {
    let what = |measure: &Measure| more(measure.value / best);
    let (first, last) = (&others[0], &others[others.len() - 1]);
    if others.len() > NAMED_MAX {
        let (next, most) = (what(first), what(last));
        return format!("{} comes next with {next}, {} last with {most}", first.name, last.name);
    }
    let mut parts: Vec<String> =
        others.iter().map(|measure| format!("{} {}", measure.name, what(measure))).collect();
    parts[0] = format!("{} needs {}", first.name, what(first));
    list(&parts)
}

// ---- Times in a drive ---------------------------------------------------------------------------

/// The requests that a drive serves in a second, and its slow ones; none without a drive.
fn rates(runs: &[Named]) -> Option<String> {
    let iops = |run: &Named| {
        let value = run.result["drive"]["iops"].as_f64()?;
        Some(Measure { name: run.name.clone(), value, spread: None })
    };
    let ranking = Ranking::of_most(runs.iter().filter_map(iops))?;
    let first = ranking.first();
    let run = runs.iter().find(|run| run.name == first.name)?;
    let rate = format!("{} requests a second{}", rounded(first.value), until_idle(run.result));
    let slow = slow(run.result).map_or(String::new(), |slow| format!("; {slow}"));
    Some(match (runs, &ranking.others[..]) {
        ([_], _) => format!("The drive serves {rate}{slow}."),
        (_, []) => format!("In a drive all serve {rate}."),
        (_, others) => {
            let last = &others[others.len() - 1];
            let share = 100.0 * (1.0 - last.value / first.value);
            let least = format!("{} {} % fewer", last.name, rounded(share));
            let (best, slow) = match &ranking.best[..] {
                [_] => (format!("{} serves", first.name), slow),
                _ => (format!("{} serve", names(&ranking.best_names(), "of them")), String::new()),
            };
            format!("In a drive {best} most: {rate}{slow}; {least}.")
        }
    })
}

/// Where a drive answers long before it is idle, this says that its rate includes the rest.
fn until_idle(result: &Value) -> &'static str {
    let answered = result["open_replay"]["served_iops"].as_f64();
    let differs = |iops: f64| answered.is_some_and(|answered| answered > 1.01 * iops);
    match result["drive"]["iops"].as_f64().is_some_and(differs) {
        true => " until its buffer is written out",
        false => "",
    }
}

fn slow(result: &Value) -> Option<String> {
    let within = |op: &str| {
        let times = &result["response_us"][op];
        let p99 = times["p99"].as_f64().filter(|_| times["count"].as_u64() > Some(0))?;
        Some(format!("of its {op}s within {} ms", rounded(p99 / 1000.0)))
    };
    let both: Vec<String> = ["read", "write"].into_iter().filter_map(within).collect();
    (!both.is_empty()).then(|| format!("it answers 99 % {}", list(&both)))
}

// ---- Steady or not ------------------------------------------------------------------------------

/// Who was not in a steady state; none if everybody was, or nothing was written or collected.
fn state(runs: &[Named]) -> Option<String> {
    let is_unsteady = |run: &&Named| {
        let notes = run.result["notes"].as_array();
        let mut notes = notes.into_iter().flatten().filter_map(Value::as_str);
        notes.any(|note| concern(note) == Concern::State)
    };
    let unsteady: Vec<String> =
        runs.iter().filter(is_unsteady).map(|run| run.name.clone()).collect();
    let all = runs.len();
    match unsteady.len() {
        0 => None,
        _ if !runs.iter().any(has_collected) => None,
        1 if all == 1 => Some("It was not in a steady state: a longer run may differ.".into()),
        n if n == all => Some("None was in a steady state: longer runs may differ.".into()),
        1 => Some(format!("{} was not in a steady state: a longer run may differ.", unsteady[0])),
        _ => Some(format!(
            "{} were not in a steady state: longer runs may differ.",
            names(&unsteady, "of them")
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::headline::draws::Draws;

    fn headline(results: &[(String, Value)]) -> String {
        let runs: Vec<LabelledResult> =
            results.iter().map(|(label, result)| LabelledResult { label, result }).collect();
        of(&runs).join(" ")
    }

    /// A result with this write amplification, seen between these ends.
    fn result(amplification: f64, ends: Option<[f64; 2]>) -> Value {
        let [first, last] = ends.map_or([None; 2], |ends| ends.map(Some));
        json!({
            "write_amplification": amplification, "write_amplification_bytes": amplification,
            "write_amplification_course": {"first_fifth": first, "last_fifth": last},
            "host_pages": {"written": 1000}, "erases": {"total": 70},
            "copies": {"total": (1000.0 * (amplification - 1.0)).max(0.0) as u64},
        })
    }

    fn labelled(results: impl IntoIterator<Item = (&'static str, Value)>) -> Vec<(String, Value)> {
        results.into_iter().map(|(label, result)| (label.to_owned(), result)).collect()
    }

    #[test]
    fn the_best_is_named_with_its_cost_and_what_the_others_need() {
        let all = labelled([
            ("page", result(2.2, Some([2.2, 2.2]))),
            ("fast:rw=4", result(4.8, None)),
            ("dac", result(2.0, Some([1.98, 2.02]))),
        ]);
        let wanted = "dac writes least: 2.00 pages programmed for each page of the host (± 1.0 %). \
                      page needs 1.1 times as much and fast 2.4 times as much.";
        assert_eq!(headline(&all), wanted);
        let alone = headline(&all[..1]);
        let wanted = "page writes 2.20 pages programmed for each page of the host, 1.20 of them \
                      copies (± less than 0.1 %).";
        assert_eq!(alone, wanted);
    }

    #[test]
    fn whether_a_guest_copied_is_not_known() {
        let of_guest = |mut it: Value| {
            (it["ftl"], it["copies"]) = (json!({"name": "guest"}), json!({"total": 0}));
            it
        };
        let wanted =
            "ours.so writes 2.20 pages programmed for each page of the host (± less than 0.1 %).";
        let one = of_guest(result(2.2, Some([2.2, 2.2])));
        assert_eq!(headline(&labelled([("ours.so", one)])), wanted);
    }

    #[test]
    fn overlapping_costs_cannot_be_told_apart() {
        let all = labelled([
            ("page", result(2.1, Some([2.0, 2.2]))),
            ("dac", result(2.0, Some([1.9, 2.1]))),
        ]);
        let wanted = "dac and page cannot be told apart: 2.00 to 2.10 pages programmed for each \
                      page of the host (± 5.0 %).";
        assert_eq!(headline(&all), wanted);
        let same = ["page", "dac"].map(|name| (name, result(2.0, Some([1.9, 2.1]))));
        let wanted = "page and dac write alike: 2.00 pages programmed for each page of the host";
        assert!(headline(&labelled(same)).starts_with(wanted));
    }

    #[test]
    fn what_did_not_happen_is_not_compared() {
        let change = |name: &str, value: Value| {
            let mut of = result(1.0, None);
            of[name] = value;
            of
        };
        let fresh = change("erases", json!({"total": 0}));
        let all = labelled([("page", fresh.clone()), ("fast", fresh)]);
        assert!(headline(&all).starts_with("No block was collected: "), "{}", headline(&all));
        let mut reads = change("write_amplification", Value::Null);
        reads["write_amplification_bytes"] = Value::Null;
        let all = labelled([("page", reads.clone())]);
        assert_eq!(headline(&all), "Nothing was written or read.");
        reads["service_us"] = json!({"read": {"count": 3, "mean": 25.0}});
        let all = labelled([("page", reads.clone()), ("fast", reads)]);
        let wanted = "Nothing was written; a read takes 25.0 µs on average with each FTL.";
        assert_eq!(headline(&all), wanted);
        let buffered = change("layers", json!({"buffer": {"size": 1}}));
        let shown = headline(&labelled([("page", buffered)]));
        assert!(shown.contains("1.00 bytes programmed for each byte of the host ("), "{shown}");
    }

    #[test]
    fn who_is_not_steady_is_said_beside_the_cost() {
        let mut moving = result(3.0, Some([2.0, 4.0]));
        let note = "Write amplification was 2.0000 in the first fifth of the pages written and 4";
        moving["notes"] = json!([note]);
        let all = labelled([("page", moving.clone()), ("dac", result(1.5, None))]);
        let shown = headline(&all);
        assert!(shown.ends_with("page was not in a steady state: a longer run may differ."));
        let all = labelled([("page", moving.clone()), ("dac", moving)]);
        assert!(headline(&all).ends_with("None was in a steady state: longer runs may differ."));
    }

    #[test]
    fn a_drive_adds_its_rate_and_its_slow_requests() {
        let drive = |iops: f64| {
            let mut of = result(2.0, None);
            of["drive"] = json!({"iops": iops});
            of["response_us"] = json!({"read": {"count": 9, "p99": 2591.0},
                                       "write": {"count": 0, "p99": null}});
            of
        };
        let all = labelled([("page", drive(15_936.0)), ("dac", drive(20_000.0))]);
        let shown = headline(&all);
        let wanted = "In a drive dac serves most: 20,000 requests a second; it answers 99 % of its \
                      reads within 2.59 ms; page 20.3 % fewer.";
        assert!(shown.contains(wanted), "{shown}");
        let shown = headline(&all[..1]);
        assert!(shown.contains("The drive serves 15,936 requests a second; "), "{shown}");
        let mut open = drive(740.0);
        open["open_replay"] = json!({"offered_iops": 2006.0, "served_iops": 906.0});
        let shown = headline(&labelled([("page", open)]));
        let wanted = "serves 740 requests a second until its buffer is written out; ";
        assert!(shown.contains(wanted), "{shown}");
    }

    /// Any results: equal and nearly equal costs, huge ones, none; some steady, some not.
    fn drawn(draws: &mut Draws) -> Vec<(String, Value)> {
        let names = ["page", "dac", "fast:rw=4", "fast:rw=8", "dftl:cmt=4KiB", "lsb", "bast"];
        let count = 1 + draws.below(names.len() as u64) as usize;
        let bases = [1.0, 1.004, 2.0, 2.001, 2.2, 19.0, 51.5];
        let mut all = Vec::new();
        for name in &names[..count] {
            let amplification = bases[draws.below(bases.len() as u64) as usize];
            let off = [0.0, 0.0001, 0.02, 0.4][draws.below(4) as usize];
            let around = [1.0 - off, 1.0 + off].map(|share| share * amplification);
            let ends = if draws.one_in(4) { None } else { Some(around) };
            let mut of = result(amplification, ends);
            if draws.one_in(5) {
                of["erases"]["total"] = 0.into();
            }
            if draws.one_in(6) {
                of["write_amplification"] = Value::Null;
                of["write_amplification_bytes"] = Value::Null;
            }
            all.push(((*name).to_owned(), of));
        }
        all
    }

    #[test]
    fn the_headline_of_any_results_is_true() {
        let mut draws = Draws::new(7);
        for _ in 0..2000 {
            let all = drawn(&mut draws);
            let shown = headline(&all);
            assert!(shown.ends_with('.') && !shown.contains("NaN") && !shown.contains('∞'));
            let Some((best, _)) = shown.split_once(" writes least: ") else { continue };
            let (_, others) = shown.split_once(" of the host").expect("the unit");
            let names = short_labels(&all.iter().map(|it| &*it.0).collect::<Vec<_>>());
            let cost = |name: &str| {
                let at = names.iter().position(|it| it == name).expect("a name of a run");
                all[at].1["write_amplification"].as_f64()
            };
            let least = cost(best).expect("the best has a cost");
            for other in names.iter().filter(|name| *name != best) {
                let Some(cost) = cost(other) else { continue };
                assert!(cost > least, "{shown}: {other} has {cost}");
                let told = others.split(&format!("{other} ")).nth(1).map(|rest| {
                    let rest = rest.trim_start_matches("needs ").trim_start_matches("last with ");
                    rest.trim_start_matches("comes next with ").to_owned()
                });
                let told =
                    told.filter(|rest| !rest.starts_with("was ") && !rest.starts_with("and "));
                if let Some(told) = told {
                    assert!(told.starts_with(&more(cost / least)), "{shown}: {other} has {cost}");
                }
            }
        }
    }
}
