//! Folders that take the figures of a page as files for a paper.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use report::html_page::HtmlPage;

use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;

/// Options for the figures of a paper.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct FigureArgs {
    /// Write the figures of the report as SVG to this directory, in the widths and letters of a
    /// two-column page, and a `figures.tex` that places them with their captions; `run` and
    /// `compare` take samples for them as for `--report`
    #[arg(long, value_name = "DIR")]
    svg: Option<String>,

    /// The same as PDF, which LaTeX reads; `rsvg-convert` makes it and must be installed
    #[arg(long, value_name = "DIR")]
    pdf: Option<String>,
}

impl FigureArgs {
    /// Whether figures are wanted.
    pub fn has_any(&self) -> bool {
        self.svg.is_some() || self.pdf.is_some()
    }

    /// The folders, which are made if there are none.
    ///
    /// # Errors
    /// A folder cannot be made, nothing can be written there, or there is no `rsvg-convert`.
    pub fn open(&self) -> Result<Vec<FigureFolder>> {
        if self.pdf.is_some() {
            as_pdf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1\" height=\"1\"/>")?;
        }
        let mut folders: Vec<FigureFolder> = Vec::new();
        for (name, form) in [(&self.svg, FigureForm::Svg), (&self.pdf, FigureForm::Pdf)] {
            let Some(name) = name else { continue };
            let is_new = !Path::new(name).exists();
            let path = writable(Path::new(name))?;
            match folders.iter_mut().find(|folder| folder.path == path) {
                Some(same) => same.forms.push(form),
                None => folders.push(FigureFolder { path, forms: vec![form], is_new }),
            }
        }
        Ok(folders)
    }
}

/// The full path of a folder in which files can be written. It is made if there is none.
fn writable(path: &Path) -> Result<PathBuf> {
    let prepare = || {
        fs::create_dir_all(path)?;
        tempfile::tempfile_in(path)?;
        path.canonicalize()
    };
    let failed = |error| format!("cannot write figures to {}: {error}", path.display());
    prepare().map_err(|error: io::Error| Failure::failed(failed(error)))
}

/// What is written of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FigureForm {
    Svg,
    Pdf,
}

/// A folder that can be written.
#[derive(Debug)]
pub struct FigureFolder {
    path: PathBuf,
    forms: Vec<FigureForm>,
    /// Whether it was made for this command.
    is_new: bool,
}

impl Drop for FigureFolder {
    /// A command that fails leaves no empty folder.
    fn drop(&mut self) {
        if self.is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl FigureFolder {
    /// Writes the files of each figure of a page, and one that places them in a paper. Files with
    /// other names stay.
    ///
    /// # Errors
    /// A file cannot be written, or is also read by the command; or a figure cannot be drawn.
    pub fn write(&self, page: &HtmlPage, files: &mut CommandFiles) -> Result<()> {
        let printed = page.printed();
        for file in printed.map_err(|why| Failure::failed(format!("cannot draw {why}")))? {
            let Some(id) = file.name.strip_suffix(".svg") else {
                self.write_file(&file.name, file.text.as_bytes(), files)?;
                continue;
            };
            for form in &self.forms {
                match form {
                    FigureForm::Svg => self.write_file(&file.name, file.text.as_bytes(), files)?,
                    FigureForm::Pdf => {
                        self.write_file(&format!("{id}.pdf"), &as_pdf(&file.text)?, files)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn write_file(&self, name: &str, content: &[u8], files: &mut CommandFiles) -> Result<()> {
        let out = files.own_output("a figure", &self.path.join(name))?;
        let failed = |error| Failure::failed(format!("cannot write {name}: {error}"));
        out.write(|out| out.write_all(content).map_err(failed))
    }
}

/// The program that makes PDF of SVG.
const CONVERTER: &str = "rsvg-convert";

/// A drawing as PDF. Its date is the beginning of time, so that the same drawing has the same
/// bytes.
fn as_pdf(svg: &str) -> Result<Vec<u8>> {
    let failed = |why: String| {
        Failure::failed(format!(
            "cannot make PDF: {CONVERTER} {why}; install librsvg (Debian: librsvg2-bin), or take \
             `--svg`, which needs no other program"
        ))
    };
    let cannot_run = |error: io::Error| failed(format!("cannot be run: {error}"));
    let mut converter = Command::new(CONVERTER)
        .args(["--format", "pdf"])
        .env("SOURCE_DATE_EPOCH", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot_run)?;
    // It reads everything before it writes. If it ends early, its own words say why.
    let _ = converter.stdin.take().map(|mut input| input.write_all(svg.as_bytes()));
    let done = converter.wait_with_output().map_err(cannot_run)?;
    match done.status.success() {
        true => Ok(done.stdout),
        false => Err(failed(format!("fails: {}", String::from_utf8_lossy(&done.stderr).trim()))),
    }
}
