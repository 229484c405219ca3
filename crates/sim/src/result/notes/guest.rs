//! Notes on results of an FTL from outside.

use ftl::Durability;

use crate::config::setup::Setup;
use crate::result::run_result::RunResult;

/// What a reader of a guest's figures should know.
pub fn notes(result: &RunResult, setup: &Setup) -> Vec<String> {
    let Some(guest) = &setup.ftl.guest else { return Vec::new() };
    let declaration = guest.declaration();
    let name = &declaration.name;
    let mut notes = vec![format!(
        "The guest `{name}` says itself why it makes each operation, so nothing has checked that \
         its host programs are the pages that the host wrote."
    )];
    if !declaration.trims && result.host_pages.trimmed > 0 {
        let trimmed = result.host_pages.trimmed;
        notes.push(format!(
            "The guest `{name}` does not trim, so trims of {trimmed} pages were not passed to it."
        ));
    }
    if result.programs.total < result.host_pages.written {
        notes.push(format!(
            "The guest `{name}` programmed fewer pages than the host wrote. `--verify` compares \
             what it reads with what was written."
        ));
    }
    if setup.experiment.durability == Durability::Full {
        notes.push(format!(
            "Durability `full` changes nothing under the guest `{name}`: what it keeps when the \
             power fails is what it declares."
        ));
    }
    notes
}
