//! Headlines of sizings: the least over-provisioning for a write amplification.

use sim::sizing::answer::{SizedPoint, SizedRange, Sizing};

use super::words::{list, rounded};
use crate::number_format::{number, percent};

/// The headline of a search: what each FTL needs, and what is open about it.
pub fn of(target: f64, sizings: &[Sizing]) -> Vec<String> {
    let mut found: Vec<(&Sizing, &SizedPoint)> =
        sizings.iter().filter_map(|sizing| Some((sizing, sizing.least.as_ref()?))).collect();
    found.sort_by(|a, b| share(a.1).total_cmp(&share(b.1)));
    let needs: Vec<String> = found.iter().map(|(sizing, least)| need(sizing, least)).collect();
    let target = number(target);
    let needed = (!needs.is_empty()).then(|| {
        format!(
            "Write amplification of at most {target} needs over-provisioning (T − U) / U of {}.",
            list(&needs)
        )
    });
    let missed = sizings.iter().filter(|sizing| sizing.least.is_none());
    needed.into_iter().chain(missed.map(|sizing| unreached(&target, sizing))).collect()
}

fn share(point: &SizedPoint) -> f64 {
    point.over_provisioning.of_capacity
}

fn need(sizing: &Sizing, least: &SizedPoint) -> String {
    let sure = sizing.range.as_ref().map_or(String::new(), in_the_long_run);
    let steady = if least.probe.steady == Some(false) { ", not steady" } else { "" };
    format!("{} % with {} ({sure}{steady})", percent(share(least)), sizing.ftl)
}

/// Between which over-provisioning the answer is.
pub fn in_the_long_run(range: &SizedRange) -> String {
    let from = percent(range.from.over_provisioning.of_capacity);
    match &range.to {
        Some(to) if to.extra_blocks == range.from.extra_blocks => "less is too little".to_owned(),
        Some(to) => {
            format!("{from} to {} % in the long run", percent(to.over_provisioning.of_capacity))
        }
        None => format!("{from} % or more in the long run"),
    }
}

fn unreached(target: &str, sizing: &Sizing) -> String {
    let ftl = &sizing.ftl;
    let Some(most) = sizing.curve.last() else {
        return format!(
            "{ftl}: the trace does not reach collection, so it needs no spare to speak of."
        );
    };
    let spare = percent(share(most));
    match most.probe.write_amplification {
        Some(cost) => {
            format!("{ftl} does not reach {target}: with {spare} % it still has {}.", rounded(cost))
        }
        None => format!("{ftl} does not reach {target}: with {spare} % it cannot work."),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use sim::sizing::answer::SizedSpare;
    use sim::sizing::over_provisioning::OverProvisioning;
    use sim::sizing::probe::Probe;

    use super::*;

    fn point(extra_blocks: u64, write_amplification: Option<f64>) -> SizedPoint {
        let probe = Probe {
            extra_blocks,
            write_amplification,
            write_amplification_bytes: write_amplification,
            steady: Some(true),
            ..Probe::default()
        };
        let over_provisioning = OverProvisioning::of_blocks(100, extra_blocks);
        let settled = write_amplification.map(|_| extra_blocks == 50);
        SizedPoint { probe, over_provisioning, settled }
    }

    fn range(from: u64, to: Option<u64>) -> SizedRange {
        let spare = |extra_blocks| SizedSpare {
            extra_blocks,
            over_provisioning: OverProvisioning::of_blocks(100, extra_blocks),
        };
        SizedRange { from: spare(from), to: to.map(spare) }
    }

    /// A search that tried 2, 25 and 50 extra blocks to 100.
    pub(crate) fn sizing(ftl: &str, reaches: bool) -> Sizing {
        let curve = vec![point(2, None), point(25, Some(2.5)), point(50, Some(1.9))];
        Sizing {
            ftl: ftl.into(),
            chip: "slc-fast2010".into(),
            logical_blocks: 100,
            block_bytes: 1 << 17,
            capacity_bytes: 100 << 17,
            least: reaches.then(|| curve[2].clone()),
            range: reaches.then(|| range(50, Some(50))),
            command: None,
            curve,
            endurance: None,
            written_share: None,
            notes: vec!["odd".into()],
        }
    }

    #[test]
    fn the_headline_says_what_is_needed_and_what_is_open() {
        let all = [sizing("page", true), sizing("fast", false)];
        let wanted = [
            "Write amplification of at most 2 needs over-provisioning (T − U) / U of 50.00 % with \
             page (less is too little).",
            "fast does not reach 2: with 50.00 % it still has 1.90.",
        ];
        assert_eq!(of(2.0, &all), wanted);
        let none = Sizing { curve: Vec::new(), ..sizing("dac", false) };
        assert!(of(2.0, &[none])[0].starts_with("dac: the trace does not reach collection"));
        let mut open = sizing("page", true);
        open.range = Some(range(47, Some(52)));
        open.least.as_mut().unwrap().probe.steady = Some(false);
        let shown = of(2.0, &[open]);
        assert!(shown[0].contains("(47.00 to 52.00 % in the long run, not steady)"), "{shown:?}");
        assert_eq!(in_the_long_run(&range(47, None)), "47.00 % or more in the long run");
        assert!(of(2.0, &[]).is_empty());
    }
}
