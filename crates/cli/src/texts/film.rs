//! Films as pages.

use film::Film;
use report::pages;

use crate::output::made_by;

/// The page that `--film` of a command writes: a film, or two side by side.
pub fn page(films: &[Film], command: &str) -> String {
    pages::film::html(films, &made_by(command))
}
