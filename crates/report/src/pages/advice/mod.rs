//! The page of an advice: each sentence beside its figure.
//!
//! * [`sentences`] the sentences and tables, which the terminal shows, too
//! * `figures`     the figures of the answers

mod figures;
pub mod sentences;

use sim::advise::answer::{Answer, Refusal};
use sim::advise::{Advice, AdvisedDevice};

use crate::captions::short_name;
use crate::figure::{Figure, slug};
use crate::headline;
use crate::html_page::{HtmlPage, Section};
use crate::number_format::bytes;
use figures::{costs, effects, iops, latency, spare, years};

/// The page of advices; `made_by` is for its footer. Of several logs, each section names its log.
pub fn page(advices: &[Advice], made_by: String) -> HtmlPage {
    let single = advices.len() == 1;
    let mut page = HtmlPage { title: title(advices), made_by, ..HtmlPage::default() };
    for advice in advices {
        let name = short_name(&advice.look.trace);
        let of_one = headline::advice::of(advice);
        match single {
            true => page.headline = of_one,
            false => page.headline.push(format!("{name}: {}", of_one.join(" "))),
        }
        page.lead.extend(lead(advice));
        let prefix = if single { String::new() } else { format!("{name}: ") };
        page.sections.extend(sections(advice).into_iter().map(|section| named(section, &prefix)));
    }
    page
}

fn title(advices: &[Advice]) -> String {
    let device =
        |device: &AdvisedDevice| format!(" on {} of {}", bytes(device.capacity_bytes), device.chip);
    match advices {
        [advice] => {
            let device = advice.device.as_ref().map_or(String::new(), device);
            format!("{}: advice{device}", short_name(&advice.look.trace))
        }
        all => format!("Advice on {} logs", all.len()),
    }
}

fn lead(advice: &Advice) -> Vec<String> {
    let is_measured = advice.spare.found().is_some();
    let device = advice.device.iter();
    let device = device.flat_map(|it| sentences::device(&advice.look, it, is_measured));
    sentences::look(&advice.look).into_iter().chain(device).collect()
}

/// The section of one of several logs: its title and the ids of its figures name the log.
fn named(mut section: Section, prefix: &str) -> Section {
    if !prefix.is_empty() {
        section.title = format!("{prefix}{}", section.title);
        for figure in &mut section.figures {
            figure.id = slug(&format!("{prefix} {}", figure.id));
        }
    }
    section
}

/// A section for each question, answered or refused.
fn sections(advice: &Advice) -> Vec<Section> {
    let spread = advice.confidence.found().map(|it| it.spread);
    let chance = advice.confidence.found().map(|it| it.chance);
    let mut sections = vec![
        answered("Over-provisioning", &advice.spare, |it| {
            let classes = advice.endurance.found().map_or(&[][..], |it| &it.classes);
            let found = vec![spare(it, classes, advice.placement.found())];
            (sentences::spare(it, spread), found)
        }),
        answered("Endurance", &advice.endurance, |it| {
            (sentences::endurance(it, spread), vec![years(it, spread)])
        }),
        answered("Latency", &advice.latency, |it| {
            let found = [iops(it), latency(it)].into_iter().flatten().collect();
            (sentences::latency(it), found)
        }),
        answered("What helps", &advice.effects, |it| {
            (sentences::effects(it, chance.unwrap_or(0.0)), vec![effects(it)])
        }),
        answered("Placement", &advice.placement, |it| {
            (sentences::placement(it), vec![super::bound::figure(it)])
        }),
        answered("How sure", &advice.confidence, |it| {
            let own = advice.spare.found().map(|spare| spare.write_amplification);
            (sentences::confidence(it), vec![costs(it, own)])
        }),
    ];
    // What is to be known about the run stands below the first answer that follows from it.
    sections[0].notes.clone_from(&advice.notes);
    merged(sections)
}

/// A section with sentences and figures, or with the reason why there is no answer.
fn answered<T>(
    title: &str,
    answer: &Answer<T>,
    found: impl FnOnce(&T) -> (Vec<String>, Vec<Figure>),
) -> Section {
    let (text, figures) = match answer {
        Answer::Found(answer) => found(answer),
        Answer::Refused(Refusal { why, instead }) => (vec![why.clone(), instead.clone()], vec![]),
    };
    Section { text, ..Section::of_figures(title, figures) }
}

/// The sections; neighbours that are refused for the same reason are one.
fn merged(sections: Vec<Section>) -> Vec<Section> {
    let mut merged: Vec<Section> = Vec::new();
    for section in sections {
        match merged.last_mut() {
            Some(last) if last.figures.is_empty() && last.text == section.text => {
                last.title = format!("{}, {}", last.title, lower(&section.title));
            }
            _ => merged.push(section),
        }
    }
    merged
}

fn lower(title: &str) -> String {
    let mut title = title.to_owned();
    title[..1].make_ascii_lowercase();
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_are_refused_for_one_reason_share_a_section() {
        let refused = |why: &str| -> Answer<u8> {
            Answer::Refused(Refusal { why: why.into(), instead: "Record.".into() })
        };
        let of = |title: &str, why: &str| answered(title, &refused(why), |_| unreachable!());
        let sections = merged(vec![of("Endurance", "Why."), of("Latency", "Why."), of("A", "B.")]);
        let titles: Vec<&str> = sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["Endurance, latency", "A"]);
        assert_eq!(sections[0].text, ["Why.", "Record."]);
    }
}
