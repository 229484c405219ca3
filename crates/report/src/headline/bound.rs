//! Headlines of bounds: how far schemes are from what placement could achieve.

use sim::sizing::bound::{Bound, BoundLaw, BoundRun};

use super::ranking::{Measure, Ranking};
use super::words::{list, plus_minus, rounded};
use crate::number_format::{count, percent};

/// The headline of a bound: the scheme that copies least beside the oracle, then the law.
pub fn of(bound: &Bound) -> Vec<String> {
    let copies = |run: &BoundRun| Measure {
        name: run.ftl.clone(),
        value: run.copies_per_host_page,
        spread: run.spread.map(|share| of_copies(share, run)),
    };
    let oracle = Ranking::of_least(bound.oracle.iter().map(copies));
    let oracle = oracle.map(|ranking| {
        let best = ranking.first();
        format!("{} copies {}", best.name, rounded(best.value))
    });
    let schemes = Ranking::of_least(bound.schemes.iter().map(copies));
    let sentence = match (schemes, oracle) {
        (None, oracle) => oracle.map(|oracle| format!("{oracle} pages for each page of the host.")),
        (Some(schemes), oracle) => Some(beside(&schemes, oracle.as_deref())),
    };
    sentence.into_iter().chain([law(&bound.law)]).collect()
}

/// The uncertainty of copies, given that of write amplification: both differ by as much.
fn of_copies(share: f64, run: &BoundRun) -> f64 {
    match run.copies_per_host_page {
        copies if copies > 0.0 => share * run.write_amplification / copies,
        _ => 0.0,
    }
}

fn beside(schemes: &Ranking, oracle: Option<&str>) -> String {
    let first = schemes.first();
    let sure = schemes.spread().map_or("too short to say how sure".to_owned(), plus_minus);
    let verb = if schemes.best.len() == 1 { "copies" } else { "copy" };
    let head = format!(
        "{} {verb} least: {} pages for each page of the host ({sure})",
        list(&schemes.best_names()),
        rounded(first.value)
    );
    let other = |measure: &Measure| format!("{} {}", measure.name, rounded(measure.value));
    let others: Vec<String> = schemes.others.iter().map(other).collect();
    let others = if others.is_empty() { String::new() } else { format!("; {}", list(&others)) };
    let oracle =
        oracle.map_or(String::new(), |oracle| format!(" Knowing when each page dies, {oracle}."));
    format!("{head}{others}.{oracle}")
}

/// The law of the oracle in a sentence.
pub fn law(law: &BoundLaw) -> String {
    let BoundLaw { spare, needed_spare, needed_windows } = *law;
    if needed_windows == 0.0 {
        return "No page is known to die, so the law of the oracle says nothing about this trace."
            .into();
    }
    let (needed, own) = (percent(needed_spare), percent(spare));
    let compared = if spare >= needed_spare { "which is enough" } else { "which is less" };
    let blocks = count(needed_windows.ceil() as u64);
    format!(
        "If the deaths of pages are known, no page needs to be copied with a spare of {needed} % \
         of the capacity and {blocks} open blocks. This device has a spare of {own} %, {compared}."
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn run(ftl: &str, open_blocks: Option<u32>, copies: f64) -> BoundRun {
        BoundRun {
            ftl: ftl.into(),
            open_blocks,
            write_amplification: 1.0 + copies,
            host_pages: 100,
            copied_pages: (100.0 * copies) as u64,
            copies_per_host_page: copies,
            spread: Some(0.01),
        }
    }

    pub(crate) fn bound(needed_windows: f64) -> Bound {
        Bound {
            trace: "oltp.log".into(),
            chip: "slc-fast2010".into(),
            capacity_bytes: 64 << 20,
            logical_blocks: 100,
            extra_blocks: 7,
            law: BoundLaw { spare: 0.07, needed_spare: 0.25, needed_windows },
            oracle: vec![run("oracle:open=1", Some(1), 2.0), run("oracle:open=8", Some(8), 0.2)],
            schemes: vec![
                run("page", Some(1), 2.5),
                run("fast", None, 8.0),
                run("dac", Some(6), 1.0),
            ],
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_headline_names_the_nearest_scheme_and_the_oracle() {
        let wanted = "dac copies least: 1.00 pages for each page of the host (± 2.0 %); page 2.50 \
                      and fast 8.00. Knowing when each page dies, oracle:open=8 copies 0.200.";
        assert_eq!(of(&bound(30.5))[0], wanted);
        let mut alike = bound(30.5);
        alike.schemes[0] = run("page", Some(1), 0.99);
        let shown = &of(&alike)[0];
        assert!(shown.starts_with("page and dac copy least: 0.990 pages"), "{shown}");
        let mut nothing = bound(30.5);
        nothing.schemes.iter_mut().for_each(|it| *it = run(&it.ftl, None, 0.0));
        let shown = &of(&nothing)[0];
        assert!(shown.starts_with("page, fast and dac copy least: 0.00 pages"), "{shown}");
        nothing.schemes.clear();
        let wanted = "oracle:open=8 copies 0.200 pages for each page of the host.";
        assert_eq!(of(&nothing)[0], wanted);
    }

    #[test]
    fn the_law_compares_the_spare() {
        let less = law(&bound(30.5).law);
        assert!(less.contains("25.00 % of the capacity and 31 open blocks"), "{less}");
        assert!(less.contains("a spare of 7.00 %, which is less"), "{less}");
        let enough = law(&BoundLaw { spare: 0.25, ..bound(2.0).law });
        assert!(enough.ends_with("which is enough."), "{enough}");
        assert!(law(&bound(0.0).law).contains("No page is known to die"));
    }
}
