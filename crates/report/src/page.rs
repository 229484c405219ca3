//! Text, tables and figures as one HTML file that needs nothing but itself.

use minijinja::{Environment, context};
use serde::Serialize;

use crate::figure::{Figure, Table};

/// A page of a report.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// What the reader should know before anything else, a paragraph each.
    pub lead: Vec<String>,
    /// Pages beside this one: their files and what they are.
    pub links: Vec<Link>,
    /// The sections.
    pub sections: Vec<Section>,
    /// What made it, and when nothing else says so: the command's name and version.
    pub made_by: String,
}

/// A way to another page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Link {
    /// Its file, in the same folder.
    pub file: String,
    /// What it is about.
    pub title: String,
}

/// A section of a page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Paragraphs.
    pub text: Vec<String>,
    /// A table before the figures.
    pub table: Option<Table>,
    /// The figures.
    pub figures: Vec<Figure>,
}

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The library that draws, as vendored.
const LIBRARY: [&str; 3] = [
    include_str!("../../../third_party/vega/vega.min.js"),
    include_str!("../../../third_party/vega/vega-lite.min.js"),
    include_str!("../../../third_party/vega/vega-embed.min.js"),
];

impl Page {
    /// The page as HTML. Equal pages are equal bytes.
    ///
    /// # Panics
    /// The template does not fit the page, which a test would have shown.
    pub fn html(&self) -> String {
        let mut environment = Environment::new();
        environment.add_template("page.html", TEMPLATE).expect("our own template");
        let template = environment.get_template("page.html").expect("added above");
        let specs: Vec<Spec> = self.figures().map(Spec::of).collect();
        let library: Vec<String> = LIBRARY.iter().map(|script| inline(script)).collect();
        let context = context! {
            page => self, specs, library, style => STYLE, script => inline(SCRIPT),
        };
        template.render(context).expect("our own template takes our own page")
    }

    fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| &section.figures)
    }
}

/// A spec as it stands in the page.
#[derive(Serialize)]
struct Spec {
    id: String,
    json: String,
}

impl Spec {
    fn of(figure: &Figure) -> Spec {
        // No text of a user's can end the element that it stands in.
        let json = figure.spec.to_string().replace('<', "\\u003c");
        Spec { id: figure.id.clone(), json }
    }
}

/// A script as it may stand in a page: its own texts must not end the element.
fn inline(script: &str) -> String {
    script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page(title: &str) -> Page {
        let spec = json!({"data": {"values": [{"run": title}]}, "mark": "bar"});
        let table = Table::new(vec!["run".into()], vec![vec![title.into()]]);
        let figure = Figure {
            id: "one".into(),
            title: title.into(),
            caption: title.into(),
            spec,
            table: Some(table),
        };
        let section =
            Section { title: "Section".into(), figures: vec![figure], ..Section::default() };
        Page { title: title.into(), sections: vec![section], ..Page::default() }
    }

    #[test]
    fn texts_of_users_stay_texts() {
        let html = page("</script><script>alert(1)</script>&").html();
        assert!(!html.contains("<script>alert"), "an element of theirs");
        let ours = page("plain").html();
        let elements = |html: &str| html.matches("</script>").count();
        assert_eq!(elements(&html), elements(&ours), "an element of ours ends early");
    }

    #[test]
    fn the_page_asks_the_network_for_nothing() {
        let html = page("plain").html();
        for asking in ["src=\"http", "href=\"http", "src='http", "@import", "url(http"] {
            assert!(!html.contains(asking), "{asking}");
        }
    }

    #[test]
    fn equal_pages_are_equal_bytes() {
        assert_eq!(page("plain").html(), page("plain").html());
    }
}
