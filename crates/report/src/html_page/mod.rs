//! A self-contained HTML file with text, tables and figures.

use std::collections::HashSet;

use minijinja::{Environment, context};
use serde::Serialize;

use crate::drawing::svg::{PrintedFile, Printer};
use crate::drawing::{self, FITTING};
use crate::figure::{DataTable, Figure};

/// A page of a report.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HtmlPage {
    /// Its title.
    pub title: String,
    /// What came out, in a sentence or two.
    pub headline: Vec<String>,
    /// What was run, in small print below the headline.
    pub lead: Vec<String>,
    /// The most important numbers.
    pub tiles: Vec<Tile>,
    /// Links to other pages.
    pub links: Vec<Link>,
    /// The sections.
    pub sections: Vec<Section>,
    /// The name and version of the program, for the footer.
    pub made_by: String,
}

/// A link to another page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Link {
    /// The file, in the same folder.
    pub file: String,
    /// The text of the link.
    pub title: String,
}

/// A number that is shown large.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tile {
    /// What it is.
    pub label: String,
    /// The number, with its unit.
    pub value: String,
    /// A smaller text below it.
    pub note: String,
}

/// A section of a page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Paragraphs.
    pub text: Vec<String>,
    /// A table. Beside figures it is folded away below them.
    pub table: Option<DataTable>,
    /// Whether it is folded away without figures, too.
    pub is_long: bool,
    /// The figures.
    pub figures: Vec<Figure>,
    /// What the reader must know to judge these numbers, as a list below the figures.
    pub notes: Vec<String>,
}

impl Section {
    /// A section of figures.
    pub fn of_figures(title: impl Into<String>, figures: Vec<Figure>) -> Section {
        Section { title: title.into(), figures, ..Section::default() }
    }

    /// A section that consists of a table.
    pub fn of_table(title: impl Into<String>, table: DataTable) -> Section {
        Section { title: title.into(), table: Some(table), ..Section::default() }
    }
}

/// Gives figures whose ids are alike ids of their own, such as `fig-3-2` for a second `fig-3`: the
/// files and links of a page are named by them.
pub fn number_alike(sections: &mut [Section]) {
    let mut taken = HashSet::new();
    for figure in sections.iter_mut().flat_map(|section| &mut section.figures) {
        let (id, mut number) = (figure.id.clone(), 1);
        while !taken.insert(figure.id.clone()) {
            number += 1;
            figure.id = format!("{id}-{number}");
        }
    }
}

const TEMPLATE: &str = include_str!("template.html");
/// The style of all pages.
pub const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

impl HtmlPage {
    /// The page as HTML. Equal pages give equal bytes.
    ///
    /// # Panics
    /// The template is broken. A test would have failed.
    pub fn html(&self) -> String {
        let mut environment = Environment::new();
        environment.add_filter("soft", soft);
        environment.add_template("page.html", TEMPLATE).expect("the template is valid");
        let template = environment.get_template("page.html").expect("added above");
        let specs: Vec<Spec> = self.figures().map(Spec::of).collect();
        let library = drawing::libraries().into_iter().chain([drawing::embed(), FITTING.into()]);
        let library: Vec<String> = library.map(|script| inline(&script)).collect();
        let context = context! {
            page => self, specs, library, style => STYLE, script => inline(SCRIPT),
        };
        template.render(context).expect("the template fits the page")
    }

    /// The figures as files for a paper, whose captions end with what was run.
    ///
    /// # Errors
    /// A figure cannot be drawn; says which and why.
    pub fn printed(&self) -> Result<Vec<PrintedFile>, String> {
        let figures: Vec<&Figure> = self.figures().collect();
        Printer::new().files(&figures, &self.lead.join(" "))
    }

    fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| &section.figures)
    }
}

/// A spec as text for the page.
#[derive(Serialize)]
struct Spec {
    id: String,
    json: String,
}

impl Spec {
    fn of(figure: &Figure) -> Spec {
        // A text from the user must not end the script element that contains the spec.
        let json = figure.spec.to_string().replace('<', "\\u003c");
        Spec { id: figure.id.clone(), json }
    }
}

/// A text in which a line may break behind punctuation, so that no long name breaks in mid-word,
/// and not within a number or before its unit. What stands in backticks is code.
pub fn soft(text: &str) -> minijinja::Value {
    let mut html = String::with_capacity(text.len());
    let has_code = text.matches('`').count().is_multiple_of(2);
    let mut is_in_code = false;
    for (at, character) in text.char_indices() {
        let is_followed_by_digit =
            || text[at + character.len_utf8()..].starts_with(|next: char| next.is_ascii_digit());
        match character {
            ',' if is_followed_by_digit() => html.push(','),
            '`' if has_code => {
                is_in_code = !is_in_code;
                let is_short = || text[at + 1..].find('`').is_some_and(|end| end <= CODE_IN_A_LINE);
                html.push_str(match is_in_code {
                    false => "</code>",
                    true if is_short() => "<code>",
                    true => "<code class=\"long\">",
                });
            }
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            ',' | ':' | '=' | '/' | '_' => html.extend([character, WORD_BREAK]),
            _ => html.push(character),
        }
    }
    let html = html.replace(&format!("{WORD_BREAK} "), " ").replace(WORD_BREAK, "<wbr>");
    let html = html.replace("± ", "±&nbsp;").replace(" %", "&nbsp;%");
    minijinja::Value::from_safe_string(html)
}

/// Bytes of code that fit into a line of a phone. Longer code may break, as browsers do behind each
/// hyphen.
const CODE_IN_A_LINE: usize = 36;

/// Stands for a place where a line may break; no text has it.
const WORD_BREAK: char = '\u{fffe}';

/// A script without texts that would end the script element that contains it.
pub fn inline(script: &str) -> String {
    script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page(title: &str) -> HtmlPage {
        let spec = json!({"data": {"values": [{"run": title}]}, "mark": "bar"});
        let table = DataTable::new(["run"], vec![vec![title.into()]]);
        let figure = Figure {
            id: "one".into(),
            title: title.into(),
            caption: title.into(),
            spec,
            table: Some(table),
        };
        let section = Section::of_figures("Section", vec![figure]);
        HtmlPage { title: title.into(), sections: vec![section], ..HtmlPage::default() }
    }

    #[test]
    fn a_text_from_the_user_cannot_add_or_end_elements() {
        let html = page("</script><script>alert(1)</script>&").html();
        assert!(!html.contains("<script>alert"), "the text added an element");
        let plain = page("plain").html();
        let elements = |html: &str| html.matches("</script>").count();
        assert_eq!(elements(&html), elements(&plain), "the text ended an element");
    }

    #[test]
    fn the_table_of_contents_leads_to_every_section_and_figure() {
        let mut page = page("plain");
        page.sections.push(Section { title: "Other".into(), ..Section::default() });
        let html = page.html();
        for target in ["section-1", "section-2", "one"] {
            assert!(html.contains(&format!("<a href=\"#{target}\">")), "no link to {target}");
            assert_eq!(html.matches(&format!(" id=\"{target}\"")).count(), 1, "{target}");
        }
    }

    #[test]
    fn a_figure_has_a_text_for_those_who_cannot_see_it() {
        let html = page("a \"quoted\" title").html();
        let label = "role=\"img\" aria-label=\"a &quot;quoted&quot; title: ";
        assert!(html.contains(label), "no label");
    }

    #[test]
    fn long_names_break_behind_punctuation() {
        let shown = soft("a<b: fast:rw=4,x, 1/2 `--x`").to_string();
        assert_eq!(shown, "a&lt;b: fast:<wbr>rw=<wbr>4,<wbr>x, 1/<wbr>2 <code>--x</code>");
        assert_eq!(soft("a`b").to_string(), "a`b");
        let long = "x".repeat(CODE_IN_A_LINE + 1);
        let shown = soft(&format!("`{long}` `b`")).to_string();
        assert_eq!(shown, format!("<code class=\"long\">{long}</code> <code>b</code>"));
    }

    #[test]
    fn no_line_ends_within_a_number_or_before_its_unit() {
        let shown = soft("1,234,567.8 pages ± 7 %, 2,page").to_string();
        assert_eq!(shown, "1,234,567.8 pages ±&nbsp;7&nbsp;%, 2,<wbr>page");
    }

    #[test]
    fn the_best_of_a_row_is_bold_and_a_single_cell_is_a_line() {
        let rows = [vec!["cost".to_owned()], vec!["WA".into(), "*1.25".into(), "2.5".into()]];
        let table = DataTable::new(["", "page", "fast"], rows);
        let section = Section::of_table("Numbers", table);
        let html = HtmlPage { sections: vec![section], ..HtmlPage::default() }.html();
        assert!(html.contains("<td class=\"line\" colspan=\"3\"><span>cost</span></td>"));
        assert!(html.contains("<td class=\"best\">1.25</td><td>2.5</td>"));
    }

    #[test]
    fn a_long_table_is_folded_away() {
        let section = |is_long| {
            let table = DataTable::new(["run"], vec![vec!["a".into()]]);
            Section { is_long, ..Section::of_table("Numbers", table) }
        };
        let html = |is_long| HtmlPage { sections: vec![section(is_long)], ..HtmlPage::default() };
        let folded = [true, false].map(|is_long| html(is_long).html().contains("<details class="));
        assert_eq!(folded, [true, false]);
    }

    #[test]
    fn sentences_and_tables_need_no_script() {
        let mut page = page("plain");
        page.headline = vec!["dac writes least.".into()];
        let html = page.html();
        let before_scripts = html.split("<script").next().unwrap();
        let parts = [
            "<p class=\"headline\">dac writes least.</p>",
            "<noscript>",
            "<td class=\"text\">plain</td>",
        ];
        for part in parts {
            assert!(before_scripts.contains(part), "{part}");
        }
    }

    #[test]
    fn notes_and_tiles_are_shown_only_if_there_are_any() {
        let mut plain = page("plain");
        assert!(!plain.html().contains("<ul class=\"notes\">"));
        assert!(!plain.html().contains("<dl class=\"tiles\">"));
        plain.tiles =
            vec![Tile { label: "requests".into(), value: "7".into(), note: String::new() }];
        plain.sections[0].notes = vec!["no <block> was collected".into()];
        let html = plain.html();
        assert!(html.contains("<li>no &lt;block&gt; was collected</li>"));
        assert!(html.contains("<dt>requests</dt><dd>7</dd>"));
    }

    #[test]
    fn the_page_loads_nothing_from_the_network() {
        let html = page("plain").html();
        for loading in ["src=\"http", "href=\"http", "src='http", "@import", "url(http"] {
            assert!(!html.contains(loading), "{loading}");
        }
    }

    #[test]
    fn equal_pages_give_equal_bytes() {
        assert_eq!(page("plain").html(), page("plain").html());
    }
}
