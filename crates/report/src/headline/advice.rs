//! Headlines of advices: which drive a load needs.

use sim::advise::Advice;
use sim::advise::spare::Spare;

use super::sizing::in_the_long_run;
use super::words::{plus_minus, rounded};
use crate::number_format::{number, percent};

/// The headline of an advice: the over-provisioning for the target and what the drive's own gives;
/// then years and the latency at the largest depth, as far as the trace answers.
pub fn of(advice: &Advice) -> Vec<String> {
    let spread = advice.confidence.found().map(|it| it.spread);
    let mut sentences = Vec::new();
    sentences.push(match advice.spare.found() {
        Some(found) => spare(found, spread),
        None => "This trace does not tell what writing costs.".to_owned(),
    });
    sentences.extend([years(advice), latency(advice)].into_iter().flatten());
    sentences
}

fn spare(spare: &Spare, spread: Option<f64>) -> String {
    let target = number(spare.target);
    let sure = spread.map_or(String::new(), |spread| format!(" ({})", plus_minus(spread)));
    let own = format!(
        "the drive's own {} % give {}{sure}",
        percent(spare.own.of_capacity),
        rounded(spare.write_amplification)
    );
    match &spare.sizing.least {
        Some(least) => format!(
            "Write amplification of at most {target} needs {} % over-provisioning{}; {own}.",
            percent(least.over_provisioning.of_capacity),
            spare
                .sizing
                .range
                .as_ref()
                .map_or(String::new(), |it| format!(" ({})", in_the_long_run(it)))
        ),
        None => format!("Write amplification of {target} is not reached; {own}."),
    }
}

/// The years of the classes of drives.
fn years(advice: &Advice) -> Option<String> {
    let classes = &advice.endurance.found()?.classes;
    let years = || classes.iter().filter_map(|class| class.years);
    let least = years().min_by(f64::total_cmp)?;
    let most = years().max_by(f64::total_cmp)?;
    Some(match rounded(least) == rounded(most) {
        true => format!("The flash lasts {} years.", rounded(least)),
        false => format!(
            "The flash lasts {} to {} years, by the class of the drive.",
            rounded(least),
            rounded(most)
        ),
    })
}

fn latency(advice: &Advice) -> Option<String> {
    let depth = advice.latency.found()?.depths.last()?;
    let iops = rounded(depth.iops?);
    let read = depth.read.p99.filter(|_| depth.read.count > 0);
    let slow = read.map_or(String::new(), |us| {
        format!(", and 99 % of reads within {} ms", rounded(us / 1000.0))
    });
    Some(format!("At depth {} the drive serves {iops} requests a second{slow}.", depth.depth))
}
