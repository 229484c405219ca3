//! A note on results in which a small cache of the map costs most of the time.

use serde_json::{Map, Value};

use crate::result::run_result::RunResult;

/// Map operations that take a larger share of the time are worth a word.
const MAP_SHARE: f64 = 0.2;

/// How the sentence begins.
pub(super) const START: &str = "The cache of the map";

/// A sentence about a cache of the map whose misses cost much of the time.
pub fn note(result: &RunResult) -> Option<String> {
    let cost = result.time_us.map / result.time_us.total;
    let entries = result.scheme.get("cmt_entries")?.as_f64()?;
    let misses = miss_share(&result.scheme)?;
    let (blocks, pages) = (result.device.logical_blocks, result.device.pages_per_block);
    let pages = f64::from(blocks) * f64::from(pages);
    (cost > MAP_SHARE).then(|| {
        let [held, missed, cost] =
            [entries / pages, misses, cost].map(|share| format!("{:.1} %", 100.0 * share));
        format!(
            "{START} holds {held} of its entries, and {missed} of the look-ups miss: \
             operations on the map take {cost} of the time. Larger caches cost less."
        )
    })
}

/// The share of look-ups that miss; none if there were none.
fn miss_share(scheme: &Map<String, Value>) -> Option<f64> {
    let look_ups = ["read", "write"].map(|access| {
        let misses = scheme.get(&format!("cmt_{access}_misses")).and_then(Value::as_f64);
        let hit_ratio = scheme.get(&format!("cmt_{access}_hit_ratio")).and_then(Value::as_f64);
        let (misses, missed) = (misses.unwrap_or(0.0), 1.0 - hit_ratio.unwrap_or(1.0));
        (misses, if missed > 0.0 { misses / missed } else { 0.0 })
    });
    let [misses, all] = [look_ups[0].0 + look_ups[1].0, look_ups[0].1 + look_ups[1].1];
    (all > 0.0).then(|| misses / all)
}

#[cfg(test)]
mod tests {
    use crate::config::experiment::Experiment;
    use crate::config::setup::Setup;
    use crate::run::{RunOptions, run};

    fn noted(ftl: &str) -> Vec<String> {
        let experiment = Experiment {
            trace: Some("uniform:writes=30K".into()),
            ftl: ftl.into(),
            capacity_bytes: Some(64 << 20),
            ..Experiment::default()
        };
        let notes = run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap().notes;
        notes.into_iter().filter(|note| note.starts_with("The cache of the map")).collect()
    }

    #[test]
    fn a_small_cache_is_noted_with_what_it_holds_and_misses() {
        // 256 of 32,768 entries: of uniform look-ups all but 0.8 % miss.
        let notes = noted("dftl:cmt=2KiB");
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains("holds 0.8 % of its entries, and 99."), "{notes:?}");
    }

    #[test]
    fn a_cache_of_the_whole_map_and_a_scheme_without_one_need_no_note() {
        assert!(noted("dftl:cmt=1MiB").is_empty());
        assert!(noted("page").is_empty());
    }
}
