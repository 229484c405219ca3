//! Headlines of fleets: the setting under which all volumes together write least.

use crate::headline::words::{list, rounded};
use crate::number_format::count;
use crate::runs::fleet::{Fleet, Setting};

/// What came out, in a sentence; none if fewer than two volumes have figures. Settings with the
/// same rounded figure are not told apart.
pub fn of(fleet: &Fleet) -> Option<String> {
    let together = fleet.settings().iter().filter_map(|it| Some((it.together()?, it)));
    let mut ranking: Vec<(f64, &Setting)> = together.collect();
    ranking.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (&(least, first), volumes) = (ranking.first()?, count(fleet.volumes() as u64));
    let median = first.median().map_or("–".to_owned(), rounded);
    if fleet.volumes() < 2 {
        return None;
    }
    if ranking.len() == 1 {
        return Some(format!(
            "The {volumes} volumes together have a write amplification of {}; their median is \
             {median}.",
            rounded(least)
        ));
    }
    let is_best = |(cost, _): &&(f64, &Setting)| rounded(*cost) == rounded(least);
    let best: Vec<&str> = ranking.iter().take_while(is_best).map(|(_, it)| it.label()).collect();
    let (have, median) = match best.len() {
        1 => ("has", format!(", with a median of {median}")),
        _ => ("have", String::new()),
    };
    if best.len() == ranking.len() {
        return Some(format!(
            "All {} settings have about the same write amplification of the {volumes} volumes \
             together: {}.",
            ranking.len(),
            rounded(least)
        ));
    }
    let next = ranking.get(best.len()).map(|(cost, it)| (it.label(), rounded(*cost)));
    let next = next.map_or(String::new(), |(label, cost)| format!("; then {label} with {cost}"));
    Some(format!(
        "Of {} settings, {} {have} the least write amplification of the {volumes} volumes \
         together: {}{median}{next}.",
        ranking.len(),
        list(&best),
        rounded(least)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use sim::plan::{Plan, Scale};
    use sim::sweep::Findings;

    /// What is said of two volumes of 100 pages each, under FTLs that program so many of them.
    fn said(ftls: &str, programmed: &[u64]) -> String {
        let text =
            format!("[base]\ntrace = \"t.csv\"\n[[grid]]\nvolume = [\"a\", \"b\"]\nftl = {ftls}");
        let plan = Plan::parse("p", &text, Scale::Full).unwrap();
        let mut found = Findings::of(&plan);
        for (row, programmed) in programmed.iter().enumerate() {
            let cost = *programmed as f64 / 100.0;
            let (host, programs) = (json!({"written": 100}), json!({"total": programmed}));
            found.see(
                row,
                &json!({
                    "write_amplification": cost, "host_pages": host, "programs": programs,
                    "sweep": {"error": null},
                }),
            );
        }
        of(&Fleet::of(&found).unwrap()).unwrap()
    }

    #[test]
    fn the_best_settings_of_all_volumes_together_are_named() {
        assert_eq!(
            said("[\"sepgc\", \"sepbit\"]", &[100, 110, 300, 200]),
            "Of 2 settings, sepbit has the least write amplification of the 2 volumes together: \
             1.55, with a median of 1.10; then sepgc with 2.00."
        );
        assert_eq!(
            said("[\"page\", \"dac\", \"fast\"]", &[100, 100, 400, 301, 300, 400]),
            "Of 3 settings, dac and page have the least write amplification of the 2 volumes \
             together: 2.00; then fast with 4.00."
        );
        assert_eq!(
            said("[\"page\", \"dac\"]", &[100, 100, 300, 301]),
            "All 2 settings have about the same write amplification of the 2 volumes together: \
             2.00."
        );
        assert_eq!(
            said("\"page\"", &[100, 300]),
            "The 2 volumes together have a write amplification of 2.00; their median is 1.00."
        );
    }
}
