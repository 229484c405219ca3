//! What is printed about the smallest workload with each verdict, and programs in C that show it
//! without ftlab.

use std::fs;
use std::path::Path;

use check::cut::repro;
use check::failed_case::FailedCase;

use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::write_text;

/// What is printed about a case.
pub fn text(failed: &FailedCase, is_early: bool) -> String {
    let verdict = failed.finding.defect.verdict();
    let so_far = match is_early {
        true => ", so far: the search was ended, and smaller ones may exist",
        false => "",
    };
    format!("\nThe smallest workload with the verdict {verdict}{so_far}:\n{failed}\n")
}

/// Files for programs that show failed cases: repro.c, repro-2.c and so on.
#[derive(Default)]
pub struct Programs {
    written: u32,
}

impl Programs {
    fn next_name(&self) -> String {
        match self.written {
            0 => "repro.c".to_owned(),
            n => format!("repro-{}.c", n + 1),
        }
    }

    /// Writes the program that shows a failed case, if there is one. Returns a line about it.
    ///
    /// # Errors
    /// It cannot be written, or a file of somebody else has its name.
    pub fn write(&mut self, failed: &FailedCase) -> Result<String> {
        let Some(program) = repro::program(failed) else { return Ok(String::new()) };
        let name = self.next_name();
        let replaces = replaces_own(&name)?;
        let destination = CommandFiles::new().output("--shrink", &name)?;
        destination.write(|out| write_text(out, &program))?;
        self.written += 1;
        let end = if replaces { "; it replaces an older one" } else { "" };
        Ok(format!("  Program: {name}, which shows the same without ftlab{end}\n"))
    }
}

/// Whether an older program has this name, which is replaced as other outputs are. A file that
/// ftlab has not written is kept.
fn replaces_own(name: &str) -> Result<bool> {
    let found = fs::read(Path::new(name)).unwrap_or_default();
    if found.is_empty() || found.starts_with(repro::FIRST_WORDS.as_bytes()) {
        return Ok(!found.is_empty());
    }
    Err(Failure::failed(format!(
        "{name} is not replaced, because ftlab has not written it; move it away, or run the check \
         in another folder"
    )))
}

#[cfg(test)]
mod tests {
    use check::case::Case;
    use check::device_model::DeviceModel;
    use check::finding::{Defect, Finding};
    use check::subject::Subject;
    use ftl::Durability;

    use super::*;

    #[test]
    fn a_search_that_was_ended_says_so() {
        let (page, tiny) = (Subject::from_spec("page").unwrap(), DeviceModel::named("tiny"));
        let case = Case::new(&page, tiny.unwrap(), "random", 1, Durability::Full).unwrap();
        let failed = FailedCase::new(&case, &[], Finding::new(Defect::Lost, "page 3".to_owned()));
        assert!(
            text(&failed, false)
                .starts_with("\nThe smallest workload with the verdict data lost:\n")
        );
        assert!(text(&failed, true).contains("data lost, so far: the search was ended"));
    }
}
