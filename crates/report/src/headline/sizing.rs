//! Headlines of sizings: the least over-provisioning for a write amplification.

use sim::sizing::answer::{SizedPoint, Sizing};

use super::words::{list, rounded};
use crate::number_format::{number, percent};

/// The headline of a search: what each FTL needs, with the largest spare that was too little.
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
    let smaller = sizing.curve.iter().filter(|point| share(point) < share(least));
    let missed = smaller.max_by(|a, b| share(a).total_cmp(&share(b)));
    let missed = missed.map_or("the least that was tried".to_owned(), |point| {
        format!("{} % is too little", percent(share(point)))
    });
    let steady = if least.probe.steady == Some(false) { ", not steady" } else { "" };
    format!("{} % with {} ({missed}{steady})", percent(share(least)), sizing.ftl)
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
        SizedPoint { probe, over_provisioning: OverProvisioning::of_blocks(100, extra_blocks) }
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
            command: None,
            curve,
            endurance: None,
            written_share: None,
            notes: vec!["odd".into()],
        }
    }

    #[test]
    fn the_headline_says_what_is_needed_and_what_is_too_little() {
        let all = [sizing("page", true), sizing("fast", false)];
        let wanted = [
            "Write amplification of at most 2 needs over-provisioning (T − U) / U of 50.00 % with \
             page (25.00 % is too little).",
            "fast does not reach 2: with 50.00 % it still has 1.90.",
        ];
        assert_eq!(of(2.0, &all), wanted);
        let none = Sizing { curve: Vec::new(), ..sizing("dac", false) };
        assert!(of(2.0, &[none])[0].starts_with("dac: the trace does not reach collection"));
        let mut only = sizing("page", true);
        only.curve.drain(..2);
        only.least.as_mut().unwrap().probe.steady = Some(false);
        assert!(of(2.0, &[only])[0].contains("(the least that was tried, not steady)"));
        assert!(of(2.0, &[]).is_empty());
    }
}
