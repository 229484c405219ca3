//! `--film` and `--film-data`: an FTL at work, as a page to watch and as data.

use film::Film;
use report::pages;

use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::{made_by, write_bytes, write_text};

/// The options of a film.
#[derive(clap::Args, Debug)]
pub struct FilmArgs {
    /// Write a film: one HTML file that needs no network, in which every flash operation can be
    /// watched: of the measured pass, or of the case that `check` replays or that fails. Of a long
    /// pass it shows parts. `compare` shows two FTLs side by side
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    film: Option<String>,

    /// Write the data of the film alone; the documentation of films defines its format
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    film_data: Option<String>,
}

/// The files of a film.
#[derive(Debug)]
pub struct FilmFiles {
    page: Option<Destination>,
    data: Option<Destination>,
}

impl FilmArgs {
    /// Whether a film is asked for.
    pub fn is_given(&self) -> bool {
        self.film.is_some() || self.film_data.is_some()
    }

    /// The files, if any is asked for. `ftls` is the number of FTLs.
    ///
    /// # Errors
    /// A file cannot be written, or there are too many FTLs.
    pub fn open(&self, ftls: usize, files: &mut CommandFiles) -> Result<Option<FilmFiles>> {
        if !self.is_given() {
            return Ok(None);
        }
        if ftls > 2 {
            return Err(Failure::usage(format!(
                "a film shows two FTLs side by side, and these are {ftls}; give `--ftl` twice, and \
                 one `--durability` and one `--trim`"
            )));
        }
        if ftls > 1 && self.film_data.is_some() {
            return Err(Failure::usage(
                "`--film-data` writes the film of one FTL; use it with `run`".into(),
            ));
        }
        let page = files.optional_page("--film", &self.film)?;
        let data = files.optional_output("--film-data", &self.film_data)?;
        Ok(Some(FilmFiles { page, data }))
    }
}

impl FilmFiles {
    /// Writes page and data of films.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, films: &[Film], command: &str) -> Result<()> {
        if let Some(data) = &self.data {
            data.write(|out| write_bytes(out, &films[0].bytes))?;
        }
        match &self.page {
            Some(page) => {
                let html = pages::film::html(films, &made_by(command));
                page.write(|out| write_text(out, &html))
            }
            None => Ok(()),
        }
    }
}
