//! The page that plays a film: one self-contained file.
//!
//! * `decode.js`    reads the format
//! * `flash.js`     the flash at any moment
//! * `player.js`    time: requests, and the operations of each
//! * `captions.js`  what happens, in sentences
//! * `pixels.js`    a canvas as an array of pixels
//! * `map.js`       the blocks, drawn on it
//! * `curves.js`    curves and the strip of requests
//! * `live.js`      films of a disk at work, one after the other
//! * `page.js`      controls
//! * `terms`        the terms that the captions use
//!
//! The first four need no browser, so tests run them in an engine beside the run that they show.

mod terms;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use film::Film;
use film::scene::SceneKind;
use minijinja::{Environment, context};
use serde::Serialize;

use crate::colours;
use crate::html_page::{STYLE, inline, soft};

const TEMPLATE: &str = include_str!("template.html");
const FILM_STYLE: &str = include_str!("film.css");

/// The scripts that need no browser.
pub const MODEL: [&str; 4] = [
    include_str!("decode.js"),
    include_str!("flash.js"),
    include_str!("player.js"),
    include_str!("captions.js"),
];

const VIEW: [&str; 4] = [
    include_str!("pixels.js"),
    include_str!("map.js"),
    include_str!("curves.js"),
    include_str!("page.js"),
];

/// For the page of a disk at work, before the scripts that use it.
const LIVE: &str = include_str!("live.js");

/// A film on a page.
#[derive(Serialize)]
struct Shown<'a> {
    ftl: &'a str,
    scheme: &'a str,
    source: &'a str,
    colour: String,
    gauges: Vec<String>,
    picture: String,
    lecture: Vec<String>,
    data: String,
}

/// The page of a film, or of two films side by side that show the same requests.
///
/// # Panics
/// The template is broken. A test would have failed.
pub fn html(films: &[Film], made_by: &str) -> String {
    page(films, made_by, "")
}

/// The page of a disk at work: a film of what it has just done. The page asks its server for the
/// next ones, at the path `live` with `/film` behind it.
///
/// # Panics
/// As for [`html`].
pub fn live_html(film: Film, made_by: &str, live: &str) -> String {
    let left_out = "The page shows the newest requests, a few at a time.";
    let film = Film { left_out: left_out.to_owned(), ..film };
    page(&[film], made_by, live)
}

fn page(films: &[Film], made_by: &str, live: &str) -> String {
    let names: Vec<&str> = films.iter().map(|film| &*film.about.ftl).collect();
    let colours = colours::of(&names);
    let shown: Vec<Shown> = films.iter().zip(colours).map(|(film, it)| shown(film, it)).collect();
    let gauges = shown.iter().flat_map(|film| film.gauges.iter().cloned());
    let curves = ["write amplification".to_owned(), "free blocks".to_owned()].into_iter();
    // What a disk will do next is not known.
    let kinds =
        |film: &Film| if live.is_empty() { film.kinds_seen.clone() } else { film.kinds.clone() };
    let text: String = films.iter().map(|film| text_of(film, &kinds(film))).collect();
    let of_live: &[&str] = if live.is_empty() { &[] } else { &[LIVE] };
    let scripts = MODEL.iter().chain(of_live).chain(&VIEW).map(|script| inline(script));
    let mut environment = Environment::new();
    environment.add_filter("soft", soft);
    environment.add_template("film.html", TEMPLATE).expect("the template is valid");
    let template = environment.get_template("film.html").expect("added above");
    let context = context! {
        title => format!("{} at work", names.join(" and ")),
        summary => summary(films),
        lead => [&*films[0].about.run, &*films[0].left_out].join(". "),
        has_states => films.iter().any(|film| !film.about.is_guest),
        films => shown,
        curve_names => curves.chain(gauges).collect::<Vec<_>>().join(", "),
        terms => terms::used_in(&text),
        made_by,
        live,
        style => [STYLE, FILM_STYLE].concat(),
        scripts => scripts.collect::<Vec<_>>(),
    };
    template.render(context).expect("the template fits the page")
}

/// What the FTLs are, in a line.
fn summary(films: &[Film]) -> String {
    let summaries = films.iter().map(|film| film.about.summary);
    match films {
        [_] => summaries.collect(),
        _ => {
            let named = films.iter().zip(summaries);
            let named = named.map(|(film, summary)| format!("{}: {summary}.", film.about.scheme));
            named.collect::<Vec<_>>().join(" ")
        }
    }
}

fn shown(film: &Film, colour: String) -> Shown<'_> {
    let (picture, lecture) = parts(&film.about.lecture);
    Shown {
        ftl: &film.about.ftl,
        scheme: film.about.scheme,
        source: film.about.source,
        colour,
        gauges: film.gauges.iter().map(|name| name.replace('_', " ")).collect(),
        picture,
        lecture,
        data: BASE64_STANDARD.encode(&film.bytes),
    }
}

/// The picture of a lecture, and its paragraphs without marks of code and stress.
fn parts(lecture: &str) -> (String, Vec<String>) {
    let (before, rest) = lecture.split_once("```text\n").unwrap_or(("", lecture));
    let (picture, after) = rest.split_once("```").unwrap_or(("", rest));
    let paragraphs = [before, after].into_iter().flat_map(|part| part.split("\n\n"));
    let paragraphs = paragraphs.flat_map(points);
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = |text: String| words(unlinked(&text)).replace(['*', '`'], "");
    let paragraphs = paragraphs.map(plain).filter(|text| !text.is_empty());
    (picture.to_owned(), paragraphs.collect())
}

/// The points of a numbered list, or a paragraph as it is.
fn points(paragraph: &str) -> Vec<String> {
    let mut points = vec![String::new()];
    for line in paragraph.lines() {
        let number = line.split_once(". ").and_then(|(number, _)| number.parse::<u32>().ok());
        if number.is_some() {
            points.push(String::new());
        }
        let point = points.last_mut().expect("there is one");
        *point += line;
        point.push('\n');
    }
    points
}

/// A text without the targets of its links: `[words](target)` and `` [`words`] `` become words.
fn unlinked(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain += before;
        rest = link;
        let Some((words, after)) = link.split_once(']') else { break };
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        if let Some((_, after)) = target {
            plain += words;
            rest = after;
        } else if words.starts_with('`') {
            plain += words;
            rest = after;
        } else {
            plain.push('[');
        }
    }
    plain + rest
}

/// What readers may want to have explained.
fn text_of(film: &Film, kinds: &[SceneKind]) -> String {
    let says = kinds.iter().map(|kind| format!("{} {}", kind.name, kind.says));
    let text: String = says.chain(film.gauges.iter().map(|it| it.replace('_', " "))).collect();
    text + "write amplification free block LPN LBN stale page frontier victim valid page"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lecture_is_a_picture_and_plain_paragraphs() {
        let lecture = "a: *b*.\n\n```text\n [0 1]\n```\nSee [c](d::e) and\n[`f`], not [g].\n\n\
                       1. *One.* x\n   y\n2. z";
        let (picture, paragraphs) = parts(lecture);
        assert_eq!(picture, " [0 1]\n");
        let points = ["1. One. x y", "2. z"];
        assert_eq!(paragraphs, [["a: b.", "See c and f, not [g]."], points].concat());
    }
}
