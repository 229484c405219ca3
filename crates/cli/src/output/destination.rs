//! Destinations of results. A regular file appears when it is complete, by a rename. A closed pipe
//! is not an error. A destination that cannot be written is refused before anything runs.
//!
//! Messages name the file as the user does, never the temporary file beside it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Failure, Result};
use crate::process::{signals, stdout};

/// A destination that can be written.
#[derive(Debug)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A regular file, existing or not.
    File(RegularFile),
    /// A pipe, terminal or device.
    Special(PathBuf),
}

/// A regular file, existing or not.
#[derive(Debug)]
pub struct RegularFile {
    /// The name that the user gave.
    name: PathBuf,
    /// The path of the file itself, if the name is that of a link.
    path: PathBuf,
}

impl RegularFile {
    /// The path of the file itself, if it is named by a link.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Destination {
    /// Whether a name is that of standard output.
    pub fn is_stdout(name: &str) -> bool {
        ["-", "/dev/stdout", "/dev/fd/1"].contains(&name)
    }

    /// The destination with this name.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn open(name: &str) -> Result<Destination> {
        if Self::is_stdout(name) {
            return Ok(Destination::Stdout);
        }
        let name = Path::new(name);
        Self::of_path(name).map_err(|error| cannot_write(name, &error))
    }

    fn of_path(name: &Path) -> io::Result<Destination> {
        match fs::metadata(name) {
            Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => Ok(Destination::Special(name.to_owned())),
            Ok(_) => {
                OpenOptions::new().write(true).open(name)?;
                Self::regular(name, destination_of_links(name)?)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Self::regular(name, destination_of_links(name)?)
            }
            Err(error) => Err(error),
        }
    }

    fn regular(name: &Path, path: PathBuf) -> io::Result<Destination> {
        let folder = folder_of(&path);
        match fs::metadata(folder) {
            Ok(found) if found.is_dir() => drop(UnfinishedFile::beside(&path)?),
            _ => {
                let why = format!("there is no folder {}; make it first", folder.display());
                return Err(io::Error::new(ErrorKind::NotFound, why));
            }
        }
        Ok(Destination::File(RegularFile { name: name.to_owned(), path }))
    }

    /// Writes the output of `produce`. If it fails, a regular file stays as it was.
    ///
    /// # Errors
    /// The output cannot be written, or `produce` fails.
    pub fn write(&self, produce: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        match self {
            Destination::Stdout => {
                let mut out = WatchedWriter::new(BufWriter::new(stdout::own()));
                let done = out.all_of(produce);
                // The reader closed the pipe because it has seen enough.
                let is_closed = |error: &io::Error| error.kind() == ErrorKind::BrokenPipe;
                if out.failed.as_ref().is_some_and(is_closed) {
                    return Ok(());
                }
                out.named(done, Path::new("standard output"))
            }
            Destination::Special(path) => {
                let opened = OpenOptions::new().write(true).open(path);
                let mut out = WatchedWriter::new(opened.map_err(|why| cannot_write(path, &why))?);
                let done = out.all_of(produce);
                out.named(done, path)
            }
            Destination::File(file) => file.write(produce),
        }
    }
}

impl RegularFile {
    fn write(&self, produce: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let failed = |error: io::Error| cannot_write(&self.name, &error);
        let unfinished = UnfinishedFile::beside(&self.path).map_err(failed)?;
        let mut out = WatchedWriter::new(BufWriter::new(unfinished.file()));
        let done = out.all_of(produce);
        out.named(done, &self.name)?;
        unfinished.complete(&self.path).map_err(failed)
    }
}

/// Follows the links of a name whose file does not exist. Returns the path to which they lead.
pub(super) fn destination_of_links(name: &Path) -> io::Result<PathBuf> {
    /// As many links as Linux follows.
    const LINKS_MAX: usize = 40;
    let mut path = name.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("it is a circle of links"))
}

/// The folder that contains a path.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file that is deleted unless it is completed, also if a signal ends the process.
struct UnfinishedFile {
    /// None once it is completed.
    file: Option<NamedTempFile>,
    temporary: PathBuf,
}

impl UnfinishedFile {
    /// A file beside `path`, with the permissions of a new file.
    fn beside(path: &Path) -> io::Result<UnfinishedFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".ftlab-").permissions(fs::Permissions::from_mode(0o666));
        let created = signals::created(|| builder.tempfile_in(folder_of(path)));
        // The error itself names the temporary file.
        let file = created.map_err(|error| io::Error::from(error.kind()))?;
        Ok(UnfinishedFile { temporary: file.path().to_owned(), file: Some(file) })
    }

    fn file(&self) -> &File {
        self.file.as_ref().expect("it is not completed").as_file()
    }

    /// Gives the file its name; a file that had the name is replaced.
    fn complete(mut self, path: &Path) -> io::Result<()> {
        self.file().sync_all()?;
        let file = self.file.take().expect("it is completed once");
        file.persist(path).map(drop).map_err(|failed| failed.error)
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        drop(self.file.take());
        signals::finished(&self.temporary);
    }
}

fn cannot_write(name: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("cannot write {}: {error}", name.display()))
}

/// A writer that keeps its first error. Code that writes through it reports the error in its own
/// words. The kept error tells the cause, so the message can name the file.
struct WatchedWriter<W: Write> {
    out: W,
    failed: Option<io::Error>,
}

impl<W: Write> WatchedWriter<W> {
    fn new(out: W) -> WatchedWriter<W> {
        WatchedWriter { out, failed: None }
    }

    /// Writes everything and flushes it.
    fn all_of(&mut self, produce: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        produce(self)?;
        self.flush().map_err(|error| Failure::failed(error.to_string()))
    }

    /// The result of writing; a failure to write names the file.
    fn named(self, done: Result<()>, name: &Path) -> Result<()> {
        match self.failed {
            Some(error) => Err(cannot_write(name, &error)),
            None => done,
        }
    }

    fn watched<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.inspect_err(|error| {
            let same = match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => error.kind().into(),
            };
            if error.kind() != ErrorKind::Interrupted {
                self.failed.get_or_insert(same);
            }
        })
    }
}

impl<W: Write> Write for WatchedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.watched(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.watched(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::write_text;

    #[test]
    fn a_file_appears_complete_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.json");
        let destination = Destination::open(path.to_str().unwrap()).unwrap();
        assert!(
            fs::read_dir(directory.path()).unwrap().next().is_none(),
            "checking leaves nothing"
        );
        let failed = destination.write(|out| {
            write_text(out, "half of")?;
            Err(Failure::failed("interrupted".into()))
        });
        assert!(failed.is_err());
        assert!(fs::read_dir(directory.path()).unwrap().next().is_none(), "nothing is left over");
        destination.write(|out| write_text(out, "all of it")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "all of it");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o400, 0o400);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn messages_name_a_file_as_it_was_named_whether_it_exists_or_not() {
        let directory = tempfile::tempdir_in(".").unwrap();
        let folder = Path::new(directory.path().file_name().unwrap());
        let [name, link] = ["rows.csv", "link.csv"].map(|name| folder.join(name));
        std::os::unix::fs::symlink("rows.csv", &link).unwrap();
        let path = |name: &Path| match Destination::open(name.to_str().unwrap()).unwrap() {
            Destination::File(file) => file.path,
            other => panic!("{other:?}"),
        };
        assert_eq!([path(&name), path(&link)], [name.clone(), name.clone()]);
        fs::write(&name, "").unwrap();
        assert_eq!([path(&name), path(&link)], [name.clone(), name.clone()]);
    }

    #[test]
    fn a_destination_that_cannot_be_written_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Destination::open(directory.path().to_str().unwrap()).is_err());
        let nowhere = directory.path().join("missing/out.json");
        assert!(Destination::open(nowhere.to_str().unwrap()).is_err());
    }
}
