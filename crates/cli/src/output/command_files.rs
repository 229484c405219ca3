//! The files that a command reads and writes.
//!
//! A command registers all of them before it runs; this is the only way to get a [`Destination`].
//! No output may be the same file as an input or another output. Files are compared by device and
//! inode, so different names, links and `./..` hide nothing. Terminals and devices such as
//! `/dev/null` may have several uses.

use core::fmt;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use sim::Experiment;

use crate::failure::{Failure, Result};
use crate::output::destination::{Destination, destination_of_links, folder_of};
use crate::process::stdout;

/// The files of a command.
#[derive(Debug)]
pub struct CommandFiles {
    claims: Vec<Claim>,
}

/// A file and its use.
#[derive(Debug)]
struct Claim {
    is_output: bool,
    /// The use, such as `--json`, with backticks, or `the trace`.
    purpose: String,
    /// The name that the user gave; standard streams have none.
    name: String,
    identity: FileIdentity,
}

/// Equal for two names of the same file.
#[derive(Debug, PartialEq, Eq)]
enum FileIdentity {
    /// The result itself goes to standard output.
    Stdout,
    Existing(DeviceAndInode),
    /// A file to be created: its folder and its name there.
    New(DeviceAndInode, OsString),
}

#[derive(Debug, PartialEq, Eq)]
struct DeviceAndInode(u64, u64);

impl DeviceAndInode {
    fn of(metadata: &Metadata) -> DeviceAndInode {
        DeviceAndInode(metadata.dev(), metadata.ino())
    }
}

impl FileIdentity {
    /// The identity of the file at a path, existing or not; `None` for one that may have several
    /// uses, or that cannot be written anyway.
    fn at(path: &Path) -> Option<FileIdentity> {
        match fs::metadata(path) {
            Ok(found) => FileIdentity::existing(&found),
            Err(_) => {
                let path = destination_of_links(path).ok()?;
                let folder = fs::metadata(folder_of(&path)).ok()?;
                let name = path.file_name()?.to_owned();
                Some(FileIdentity::New(DeviceAndInode::of(&folder), name))
            }
        }
    }

    fn existing(found: &Metadata) -> Option<FileIdentity> {
        let kind = found.file_type();
        let is_shared = kind.is_char_device() || kind.is_socket();
        (!is_shared).then(|| FileIdentity::Existing(DeviceAndInode::of(found)))
    }

    /// The identity of the file that standard input or output is redirected to.
    fn of_stream(stream: impl AsFd) -> Option<FileIdentity> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        FileIdentity::existing(&file.metadata().ok()?)
    }
}

impl CommandFiles {
    /// The files of a command that has none yet, except standard output.
    pub fn new() -> CommandFiles {
        let claim = |identity| Claim {
            is_output: true,
            purpose: "standard output".into(),
            name: String::new(),
            identity,
        };
        let stdout = FileIdentity::of_stream(stdout::own()).map(claim);
        CommandFiles { claims: stdout.into_iter().collect() }
    }

    /// Registers a file that the command reads.
    ///
    /// # Errors
    /// It is also an output.
    pub fn input(&mut self, purpose: &str, path: &Path) -> Result<()> {
        let identity = FileIdentity::at(path);
        self.read(purpose, path.to_string_lossy().into_owned(), identity)
    }

    /// Registers the files of a trace; a workload has none.
    ///
    /// # Errors
    /// One of them is also an output.
    pub fn trace(&mut self, name: &str) -> Result<()> {
        if name == "-" {
            let identity = FileIdentity::of_stream(io::stdin());
            return self.read("the trace on standard input", String::new(), identity);
        }
        trace::stored_files(name).iter().try_for_each(|path| self.input("the trace", path))
    }

    /// Registers the traces of experiments.
    ///
    /// # Errors
    /// One of them is also an output.
    pub fn traces<'a>(&mut self, experiments: impl Iterator<Item = &'a Experiment>) -> Result<()> {
        let mut names: Vec<&str> = experiments.flat_map(Experiment::trace_names).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().try_for_each(|name| self.trace(name))
    }

    fn read(&mut self, purpose: &str, name: String, identity: Option<FileIdentity>) -> Result<()> {
        let claim = |identity| Claim { is_output: false, purpose: purpose.into(), name, identity };
        identity.map(claim).map_or(Ok(()), |claim| self.claim(claim))
    }

    /// Registers the file that an option names, `-` for standard output, and opens it as a
    /// destination.
    ///
    /// # Errors
    /// It is also an input or another output, or it cannot be written.
    pub fn output(&mut self, option: &str, name: &str) -> Result<Destination> {
        self.written(&format!("`{option}`"), name)
    }

    /// Registers the file that an option names, if it is given.
    ///
    /// # Errors
    /// As for [`CommandFiles::output`].
    pub fn optional_output(
        &mut self,
        option: &str,
        name: &Option<String>,
    ) -> Result<Option<Destination>> {
        name.as_deref().map(|name| self.output(option, name)).transpose()
    }

    /// Registers the file for a page of HTML that an option names, if it is given.
    ///
    /// # Errors
    /// As for [`CommandFiles::output`]; or the name is that of another format.
    pub fn optional_page(
        &mut self,
        option: &str,
        name: &Option<String>,
    ) -> Result<Option<Destination>> {
        let page = self.optional_output(option, name)?;
        name.as_deref().map_or(Ok(()), refuse_other_format)?;
        Ok(page)
    }

    /// Registers a file whose name the command chooses itself.
    ///
    /// # Errors
    /// As for [`CommandFiles::output`].
    pub fn own_output(&mut self, purpose: &str, path: &Path) -> Result<Destination> {
        self.written(purpose, &path.to_string_lossy())
    }

    fn written(&mut self, purpose: &str, name: &str) -> Result<Destination> {
        let identity = match Destination::is_stdout(name) {
            true => Some(FileIdentity::Stdout),
            false => FileIdentity::at(Path::new(name)),
        };
        if let Some(identity) = identity {
            let (purpose, name) = (purpose.to_owned(), name.to_owned());
            self.claim(Claim { is_output: true, purpose, name, identity })?;
        }
        Destination::open(name)
    }

    /// Adds a claim. Fails if there is an earlier claim to the same file and at least one of the
    /// two is for an output.
    fn claim(&mut self, claim: Claim) -> Result<()> {
        let conflicts = |other: &&Claim| {
            other.identity == claim.identity && (other.is_output || claim.is_output)
        };
        match self.claims.iter().find(conflicts) {
            Some(other) => Err(Failure::usage(conflict(&claim, other))),
            None => {
                self.claims.push(claim);
                Ok(())
            }
        }
    }
}

/// Refuses the name of another format for a page of HTML. A name that tells no format is good.
///
/// # Errors
/// A sentence with the name that is meant.
pub fn refuse_other_format(page: &str) -> Result<()> {
    let path = Path::new(page);
    // The endings that are no part of the name: `r.html.gz` is meant to be `r.html`.
    let stem = path.with_extension("");
    let html = match stem.extension() {
        Some(ending) if ending == "html" || ending == "htm" => stem,
        _ => path.with_extension("html"),
    };
    match path.extension().map(|ending| ending.to_string_lossy().to_lowercase()) {
        Some(ending) if ending != "html" && ending != "htm" => Err(Failure::usage(format!(
            "{page} ends in .{ending}, but this is a page of HTML: call it {}",
            html.display()
        ))),
        _ => Ok(()),
    }
}

/// The sentence about two claims to the same file, one of which is that of an output.
fn conflict(claim: &Claim, other: &Claim) -> String {
    let (output, other) = if claim.is_output { (claim, other) } else { (other, claim) };
    match other.is_output {
        true if output.name == other.name => format!(
            "{} and {} both name {}; each needs a file of its own",
            output.purpose, other.purpose, output.name
        ),
        true => format!("{output} and {other} both name the same file; each needs its own"),
        false => format!(
            "{output} and {other} are the same file, which would be overwritten; write to another \
             file"
        ),
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name.as_str(), self.is_output) {
            ("", _) => out.write_str(&self.purpose),
            (name, true) => write!(out, "{} ({name})", self.purpose),
            (name, false) => write!(out, "{} {name}", self.purpose),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_no_name_of_another_format() {
        for good in ["r.html", "a.b/r.HTM", "r", "-", "/dev/stdout", "a.b/page", ".hidden"] {
            assert!(refuse_other_format(good).is_ok(), "{good}");
        }
        for (bad, call) in
            [("a.b/r.pdf", "a.b/r.html"), ("film.MP4", "film.html"), ("r.html.gz", "r.html")]
        {
            let why = refuse_other_format(bad).unwrap_err().message().to_owned();
            assert!(why.ends_with(&format!("this is a page of HTML: call it {call}")), "{why}");
        }
    }
}
