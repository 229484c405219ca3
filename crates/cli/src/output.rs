//! Destinations of results. A regular file appears when it is complete, by a rename. A closed pipe
//! is not an error. A destination that cannot be written is refused before anything runs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Failure, Result};

/// A destination that can be written.
#[derive(Debug)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// A regular file, existing or not.
    File(PathBuf),
    /// A pipe, terminal or device.
    Special(PathBuf),
}

impl Destination {
    /// The destination with this name; `-` is standard output.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(name: &str) -> Result<Destination> {
        if name == "-" {
            return Ok(Destination::Stdout);
        }
        Self::of_path(Path::new(name)).map_err(|error| cannot_write(name, &error))
    }

    fn of_path(path: &Path) -> io::Result<Destination> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => Ok(Destination::Special(path.to_owned())),
            Ok(_) => {
                OpenOptions::new().write(true).open(path)?;
                // If it is a link, the file that it points to is replaced, not the link.
                Self::regular(fs::canonicalize(path)?)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Self::regular(path.to_owned()),
            Err(error) => Err(error),
        }
    }

    fn regular(path: PathBuf) -> io::Result<Destination> {
        unfinished(&path)?;
        Ok(Destination::File(path))
    }

    /// Whether both are the same regular file.
    pub fn is_same_file(&self, other: &Destination) -> bool {
        match (self, other) {
            (Destination::File(one), Destination::File(other)) => {
                let absolute = |path| std::path::absolute(path).ok();
                absolute(one).is_some_and(|one| absolute(other) == Some(one))
            }
            _ => false,
        }
    }

    /// Writes the output of `produce`. If it fails, a regular file stays as it was.
    ///
    /// # Errors
    /// The output cannot be written, or `produce` fails.
    pub fn write(&self, produce: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        match self {
            Destination::Stdout => {
                let mut out = Pipe { out: io::stdout().lock(), closed: false };
                let done = produce(&mut out).and_then(|()| {
                    out.flush().map_err(|error| cannot_write("standard output", &error))
                });
                // The reader closed the pipe because it has seen enough.
                if out.closed { Ok(()) } else { done }
            }
            Destination::Special(path) => {
                let failed = |error| cannot_write(&path.to_string_lossy(), &error);
                let mut out = OpenOptions::new().write(true).open(path).map_err(failed)?;
                produce(&mut out)
            }
            Destination::File(path) => {
                let failed = |error: io::Error| cannot_write(&path.to_string_lossy(), &error);
                let mut file = BufWriter::new(unfinished(path).map_err(failed)?);
                produce(&mut file)?;
                let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
                file.as_file().sync_all().map_err(failed)?;
                let persisted: std::result::Result<File, _> = file.persist(path);
                persisted.map(drop).map_err(|error| failed(error.error))
            }
        }
    }
}

/// A file beside `path` that is deleted unless it is renamed, with the permissions of a new file.
fn unfinished(path: &Path) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ftlab-").permissions(fs::Permissions::from_mode(0o666));
    builder.tempfile_in(directory.unwrap_or(Path::new(".")))
}

fn cannot_write(name: &str, error: &io::Error) -> Failure {
    Failure::failed(format!("cannot write {name}: {error}"))
}

/// Standard output. Remembers whether its reader closed the pipe.
struct Pipe<W: Write> {
    out: W,
    closed: bool,
}

impl<W: Write> Pipe<W> {
    fn note<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        let closed = |error: &io::Error| error.kind() == ErrorKind::BrokenPipe;
        self.closed |= done.as_ref().is_err_and(closed);
        done
    }
}

impl<W: Write> Write for Pipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.note(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.note(done)
    }
}

/// Writes a text.
///
/// # Errors
/// It cannot be written.
pub fn write_text(out: &mut dyn Write, text: &str) -> Result<()> {
    let written = out.write_all(text.as_bytes());
    written.map_err(|error| Failure::failed(format!("cannot write the output: {error}")))
}

/// Prints a text on standard output.
///
/// # Errors
/// It cannot be written, except because the pipe is closed.
pub fn print(text: &str) -> Result<()> {
    Destination::Stdout.write(|out| write_text(out, text))
}

/// A result as a JSON value.
pub fn value(result: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(result).expect("results have text keys only")
}

/// The line of a report that names the command and its version.
pub fn made_by(command: &str) -> String {
    format!("Made by `ftlab {command}`, version {}.", env!("CARGO_PKG_VERSION"))
}

/// A value as indented JSON with a newline.
pub fn json(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("results have text keys only");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_destination_that_cannot_be_written_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Destination::open(directory.path().to_str().unwrap()).is_err());
        let nowhere = directory.path().join("missing/out.json");
        assert!(Destination::open(nowhere.to_str().unwrap()).is_err());
    }
}
