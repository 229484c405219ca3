//! Figures for papers: SVG files in the widths and letters of a two-column page.
//!
//! ```text
//! spec ─► vega-lite ─► vega ─► SVG        the scripts of the pages, run by QuickJS
//! ```
//! A figure is drawn as on a narrow page, with letters of 12 pixels, and shrunk to two thirds: its
//! letters have 8 points then, as captions of papers have. A figure with panels is as wide as both
//! columns. Nothing in it depends on the time, the machine or its fonts, so the same figure has the
//! same bytes.

use rquickjs::{CatchResultExt, Context, Function, Runtime};

use crate::drawing::{FITTING, libraries};
use crate::figure::Figure;
use crate::latex::escaped;

/// Points for each pixel of a drawing.
const POINTS: f64 = 2.0 / 3.0;
/// The width of a column, and of both, in points: 3.5 and 7.16 inches.
const COLUMN: f64 = 252.0;
const PAGE: f64 = 516.0;

const PRINT: &str = include_str!("print.js");

/// Draws figures without a browser.
pub struct Printer {
    runtime: Runtime,
    context: Context,
}

/// A file for a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedFile {
    /// Its name.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// The file that places all figures in a paper.
pub const INDEX: &str = "figures.tex";

impl Default for Printer {
    fn default() -> Printer {
        Printer::new()
    }
}

impl Printer {
    /// Loads the libraries, which takes some tenths of a second.
    ///
    /// # Panics
    /// The libraries are broken. A test would have failed.
    pub fn new() -> Printer {
        let runtime = Runtime::new().expect("there is memory for a small engine");
        let context = Context::full(&runtime).expect("there is memory for a small engine");
        context.with(|engine| {
            let [vega, vega_lite] = libraries();
            for script in [PRINT, &vega, &vega_lite, FITTING] {
                let loaded = engine.eval::<(), _>(script).catch(&engine);
                loaded.unwrap_or_else(|error| panic!("a library does not load: {error}"));
            }
        });
        Printer { runtime, context }
    }

    /// The figure as SVG. Its title and its caption are those of the drawing.
    ///
    /// # Errors
    /// The spec cannot be drawn; says why.
    pub fn svg(&self, figure: &Figure) -> Result<String, String> {
        let width = width(figure) / POINTS;
        self.context.with(|engine| {
            let draw: Function = engine.globals().get("draw").map_err(|error| error.to_string())?;
            let begun = draw.call::<_, ()>((figure.spec.to_string(), width)).catch(&engine);
            begun.map_err(|error| error.to_string())
        })?;
        while self.runtime.is_job_pending() {
            self.runtime.execute_pending_job().map_err(|error| error.to_string())?;
        }
        let drawing: String = self
            .context
            .with(|engine| engine.globals().get("drawing").map_err(|error| error.to_string()))?;
        shrunk(&drawing, figure).ok_or(drawing)
    }

    /// An SVG for each figure, and a file for LaTeX that places them with their captions, which end
    /// with what was run.
    ///
    /// # Errors
    /// A figure cannot be drawn; says which and why.
    pub fn files(&self, figures: &[&Figure], run: &str) -> Result<Vec<PrintedFile>, String> {
        let file = |figure: &&Figure| {
            let text = self.svg(figure).map_err(|why| format!("figure {}: {why}", figure.id))?;
            Ok(PrintedFile { name: format!("{}.svg", figure.id), text })
        };
        let mut files = figures.iter().map(file).collect::<Result<Vec<_>, String>>()?;
        files.push(PrintedFile { name: INDEX.to_owned(), text: index(figures, run) });
        Ok(files)
    }
}

/// The width of a figure on paper, in points.
fn width(figure: &Figure) -> f64 {
    if is_wide(figure) { PAGE } else { COLUMN }
}

fn is_wide(figure: &Figure) -> bool {
    figure.spec.get("facet").is_some()
}

/// The drawing in its size on paper, with a title and a caption; none if it is no drawing.
fn shrunk(drawing: &str, figure: &Figure) -> Option<String> {
    let (head, content) = drawing.strip_prefix("<svg")?.split_once('>')?;
    let size = head.split("viewBox=\"0 0 ").nth(1)?.split('"').next()?;
    let (width, height) = size.split_once(' ')?;
    let points = |pixels: &str| Some(pixels.parse::<f64>().ok()? * POINTS);
    let (wide, high) = (points(width)?, points(height)?);
    let (title, caption) = (text(&figure.title), text(&figure.caption));
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.2}pt\" height=\"{high:.2}pt\" \
         viewBox=\"0 0 {width} {height}\"><title>{title}</title><desc>{caption}</desc>{content}\n"
    ))
}

/// A text between tags.
fn text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Places each figure with its caption. Figures with panels are as wide as both columns.
fn index(figures: &[&Figure], run: &str) -> String {
    let mut text = "% needs \\usepackage{graphicx}, and each SVG as PDF:\n\
                    % for f in *.svg; do rsvg-convert -f pdf -o \"${f%.svg}.pdf\" \"$f\"; done\n"
        .to_owned();
    for figure in figures {
        let (star, width) =
            if is_wide(figure) { ("*", "\\textwidth") } else { ("", "\\columnwidth") };
        let caption = escaped(format!("{}. {} {run}", figure.title, figure.caption).trim());
        text += &format!(
            "\n\\begin{{figure{star}}}\n\\centering\n\\includegraphics[width={width}]{{{}}}\n\
             \\caption{{{caption}}}\n\\end{{figure{star}}}\n",
            figure.id
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::figure::spec;

    /// Points of two curves, with a title that is too long for a column.
    fn figure(id: &str, facets: bool) -> Figure {
        let point = |(x, run): (u32, &str)| json!({"x": x, "y": x * x, "run": run});
        let values = [(1, "page"), (3, "page"), (2, "fast"), (5, "fast")].map(point).to_vec();
        let view = json!({
            "height": 160, "width": 240, "mark": {"type": "line", "point": true},
            "encoding": {
                "x": {"field": "x", "type": "quantitative", "title": "requests ".repeat(12)},
                "y": {"field": "y", "type": "quantitative", "title": "write amplification"},
                "color": {"field": "run", "type": "nominal"},
            },
        });
        let mut parts = match facets {
            true => {
                json!({"facet": {"field": "run", "type": "nominal"}, "columns": 2, "spec": view})
            }
            false => view,
        };
        if !facets {
            parts.as_object_mut().unwrap().remove("width");
        }
        Figure {
            id: id.into(),
            title: "Cost & <time>".into(),
            caption: "100 % of it.".into(),
            spec: spec(values, parts),
            table: None,
        }
    }

    /// The width in the head of an SVG, in points.
    fn points(svg: &str) -> f64 {
        svg.split("width=\"").nth(1).unwrap().split("pt").next().unwrap().parse().unwrap()
    }

    #[test]
    fn a_figure_is_as_wide_as_a_column_and_panels_as_both() {
        let printer = Printer::new();
        let [one, panels] = [false, true].map(|facets| printer.svg(&figure("a", facets)).unwrap());
        assert!((points(&one) - COLUMN).abs() < 2.0, "{}", points(&one));
        assert!(
            points(&panels) > 0.9 * PAGE && points(&panels) < PAGE + 1.0,
            "{}",
            points(&panels)
        );
        for svg in [&one, &panels] {
            assert!(
                svg.contains("<title>Cost &amp; &lt;time&gt;</title><desc>100 % of it.</desc>")
            );
            assert!(svg.contains("font-size=\"12px\"") && svg.contains("Helvetica"), "{svg}");
            assert!(svg.ends_with("</svg>\n"));
        }
        assert_eq!(one, Printer::new().svg(&figure("a", false)).unwrap(), "the same bytes");
        assert_eq!(one, printer.svg(&figure("a", false)).unwrap(), "also after another");
    }

    #[test]
    fn figures_become_files_and_one_that_places_them() {
        let [one, two] = [figure("one", false), figure("two", true)];
        let files = Printer::new().files(&[&one, &two], "page on oltp_1. Seed 1.").unwrap();
        let names: Vec<&str> = files.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["one.svg", "two.svg", INDEX]);
        let index = &files[2].text;
        for part in [
            "\\includegraphics[width=\\columnwidth]{one}\n",
            "\\begin{figure*}\n\\centering\n\\includegraphics[width=\\textwidth]{two}\n",
            "\\caption{Cost \\& \\textless{}time\\textgreater{}. 100 \\% of it. page on oltp\\_1. ",
        ] {
            assert!(index.contains(part), "{part}: {index}");
        }
    }

    #[test]
    fn a_spec_that_cannot_be_drawn_says_why() {
        let broken = Figure { spec: json!({"mark": "pie"}), ..figure("broken", false) };
        let why = Printer::new().svg(&broken).unwrap_err();
        assert!(why.starts_with("Error: ") && !why.contains("<svg"), "{why}");
    }
}
