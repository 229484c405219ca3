//! A folder that takes the figures of a page as files for a paper.

use std::fs;
use std::path::{Path, PathBuf};

use report::html_page::HtmlPage;

use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::write_text;

/// A folder that can be written.
#[derive(Debug)]
pub struct FigureFolder {
    path: PathBuf,
}

impl FigureFolder {
    /// The folder with this name, which is made if there is none.
    ///
    /// # Errors
    /// It cannot be made, or nothing can be written there.
    pub fn open(name: impl AsRef<Path>) -> Result<FigureFolder> {
        let path = name.as_ref().to_owned();
        let failed =
            |error| Failure::failed(format!("cannot write figures to {}: {error}", path.display()));
        fs::create_dir_all(&path).map_err(failed)?;
        tempfile::tempfile_in(&path).map_err(failed)?;
        Ok(FigureFolder { path })
    }

    /// Writes an SVG for each figure of a page, and a file that places them in a paper. Files with
    /// other names stay.
    ///
    /// # Errors
    /// A file cannot be written, or is also read by the command; or a figure cannot be drawn.
    pub fn write(&self, page: &HtmlPage, files: &mut CommandFiles) -> Result<()> {
        let printed = page.printed();
        for file in printed.map_err(|why| Failure::failed(format!("cannot draw {why}")))? {
            let path = self.path.join(&file.name);
            let out = files.output("--svg", &path.to_string_lossy())?;
            out.write(|out| write_text(out, &file.text))?;
        }
        Ok(())
    }
}
