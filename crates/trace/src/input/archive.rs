//! Tar archives: traces that are published as one archive of many files.
//!
//! ```text
//! set.tar.gz   README   02.csv   10.csv.gz   01.csv          in whatever order they were added
//!                  01.csv ─▶ 02.csv ─▶ 10.csv.gz             read in the order of their names
//! ```
//!
//! Members are one trace, laid one behind another: each begins as a file of its own would, with its
//! own header and its own packing. Which of them are the trace is for the user to say where not all
//! are (`set.tar.gz/*.csv*`); nothing is left out by guessing. Directories hold nothing; of members
//! of one name the last counts, as when an archive is unpacked.
//!
//! An archive is looked through before anything runs, a packed one from its first byte to its last,
//! so that one cut off or damaged is found out. Only the list of members is kept.

use std::io::{self, Read, Seek};

use tar::{Archive, Entries, Entry, EntryType};

use crate::error::{Error, Result};

/// As many of the first bytes as tell a tar archive.
pub(crate) const TAR_HEADER_BYTES: usize = 512;

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Where its bytes begin in the archive, unpacked.
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

/// Whether bytes that begin so are a tar archive; those from before 1988 have no mark.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    head.get(257..262).is_some_and(|magic| magic == b"ustar")
}

/// The members of an archive that a pattern chooses, all if there is none, in the order of their
/// names. What lies between their headers is not read.
pub(crate) fn seek_members(
    name: &str,
    file: impl Read + Seek,
    pattern: Option<&str>,
) -> Result<Vec<Member>> {
    let mut archive = Archive::new(file);
    let entries = archive.entries_with_seek().map_err(|error| broken(name, 0, &error))?;
    let members = chosen(name, entries, pattern)?;
    ends(name, members.len(), archive.into_inner())?;
    Ok(members)
}

/// The same for one that can only be read on; it is, to its last byte.
pub(crate) fn read_members(
    name: &str,
    reader: impl Read,
    pattern: Option<&str>,
) -> Result<Vec<Member>> {
    let mut archive = Archive::new(reader);
    let entries = archive.entries().map_err(|error| broken(name, 0, &error))?;
    let members = chosen(name, entries, pattern)?;
    ends(name, members.len(), archive.into_inner())?;
    Ok(members)
}

/// Demands that nothing but zeros follows the end of an archive, such as another one.
fn ends(name: &str, members: usize, mut rest: impl Read) -> Result<()> {
    let mut chunk = vec![0; 64 << 10];
    loop {
        let count = rest.read(&mut chunk).map_err(|error| broken(name, members, &error))?;
        if chunk[..count].iter().any(|&byte| byte != 0) {
            let what =
                String::from("something follows its end; several archives are several traces");
            return Err(Error::Archive { name: name.to_owned(), what });
        }
        if count == 0 {
            return Ok(());
        }
    }
}

fn chosen(
    archive: &str,
    entries: Entries<'_, impl Read>,
    pattern: Option<&str>,
) -> Result<Vec<Member>> {
    let refuse = |what: String| Error::Archive { name: archive.to_owned(), what };
    let (mut members, mut others) = (Vec::new(), Vec::new());
    for entry in entries {
        let entry = entry.map_err(|error| broken(archive, members.len() + others.len(), &error))?;
        let name = name_of(&entry);
        if !holds_bytes(&entry) {
            continue;
        }
        match pattern.is_none_or(|pattern| chooses(pattern, &name)) {
            true => members.push(file(entry, name).map_err(refuse)?),
            false => others.push(name),
        }
    }
    // Of equal names the last one stays.
    members.reverse();
    members.sort_by(|one, other| one.name.cmp(&other.name));
    members.dedup_by(|later, kept| later.name == kept.name);
    members.retain(|member| member.bytes > 0);
    match (members.is_empty(), pattern) {
        (false, _) => Ok(members),
        (true, Some(pattern)) if !others.is_empty() => Err(refuse(no_such(pattern, &others))),
        (true, _) => Err(refuse(String::from("it has no member with anything in it"))),
    }
}

/// The error for an archive that cannot be read on.
fn broken(archive: &str, members: usize, error: &io::Error) -> Error {
    let what = format!("it is damaged, or cut off, after {members} members: {error}");
    Error::Archive { name: archive.to_owned(), what }
}

fn name_of(entry: &Entry<impl Read>) -> String {
    let path = entry.path_bytes();
    let name = String::from_utf8_lossy(path.strip_prefix(b"./").unwrap_or(&path));
    // A message shows it as it is.
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    name.chars().map(shown).collect()
}

/// Whether a member could be a part of a trace at all.
fn holds_bytes(entry: &Entry<impl Read>) -> bool {
    !matches!(entry.header().entry_type(), EntryType::Directory | EntryType::XGlobalHeader)
}

/// A member as a file, or what is wrong with it.
fn file<R: Read>(mut entry: Entry<R>, name: String) -> std::result::Result<Member, String> {
    let sparse = |name| {
        format!("member `{name}` is stored sparse, without its holes; pack it without `--sparse`")
    };
    match entry.header().entry_type() {
        EntryType::Regular | EntryType::Continuous => {}
        EntryType::GNUSparse => return Err(sparse(name)),
        EntryType::Link | EntryType::Symlink => {
            return Err(format!("member `{name}` is a link; {}", choose_others()));
        }
        _ => return Err(format!("member `{name}` is not a file; {}", choose_others())),
    }
    let extensions = entry.pax_extensions().ok().flatten();
    let mut keys = extensions.into_iter().flatten().flatten();
    if keys.any(|extension| extension.key_bytes().starts_with(b"GNU.sparse.")) {
        return Err(sparse(name));
    }
    Ok(Member { name, start: entry.raw_file_position(), bytes: entry.size() })
}

fn choose_others() -> &'static str {
    "name those that are the trace behind the archive, as in `set.tar/*.csv`"
}

const NAMES_SHOWN: usize = 8;

fn no_such(pattern: &str, others: &[String]) -> String {
    let shown = others[..others.len().min(NAMES_SHOWN)].join(", ");
    let more = if others.len() > NAMES_SHOWN { ", …" } else { "" };
    format!("no member is named `{pattern}`; it has {} members: {shown}{more}", others.len())
}

/// Whether a pattern chooses a member: its name, a directory above it, or either with `*` for any
/// number of any characters.
fn chooses(pattern: &str, name: &str) -> bool {
    let pattern = pattern.trim_end_matches('/');
    let above = name.match_indices('/').map(|(end, _)| &name[..end]);
    above.chain([name]).any(|name| matches(pattern.as_bytes(), name.as_bytes()))
}

fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut in_name) = (0, 0);
    // The latest star, and the end of what it stands for.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(byte) if *byte == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => {
                let Some((star_at, end)) = star else { return false };
                star = Some((star_at, end + 1));
                (at, in_name) = (star_at + 1, end + 1);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}
