//! Tar archives, for traces that are published as an archive of many files.
//!
//! ```text
//! set.tar.gz   README   02.csv   10.csv.gz   01.csv          in the order in which they were added
//!                  01.csv ─▶ 02.csv ─▶ 10.csv.gz             read in the order of their names
//! ```
//!
//! The members are the consecutive parts of one trace. Each is read like a file of its own, with
//! its own header and its own compression. If only some members are a trace, the user names them
//! (`set.tar.gz/*.csv*`); no member is left out by guessing. Directories are ignored. Of several
//! members with the same name the last one is read, as when an archive is extracted.
//!
//! The whole archive is scanned before the trace is read, and a compressed one is decompressed to
//! its end. So truncation and damage are detected first. Only the list of members is kept in
//! memory.

use std::io::{self, Read, Seek};

use spec::shell_word;
use tar::{Archive, Entries, Entry, EntryType};

use crate::error::{Error, Result};

/// Number of first bytes that identify a tar archive.
pub(crate) const TAR_HEADER_BYTES: usize = 512;

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// The offset of its bytes in the decompressed archive.
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

/// Whether bytes that begin with `head` are a tar archive. Archives from before 1988 have no magic
/// number and are not recognised.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    head.get(257..262).is_some_and(|magic| magic == b"ustar")
}

/// The members of an archive that match a pattern, or all, in the order of their names. Seeks from
/// header to header.
pub(crate) fn seek_members(
    name: &str,
    file: impl Read + Seek,
    pattern: Option<&str>,
) -> Result<Vec<Member>> {
    let mut archive = Archive::new(file);
    let entries = archive.entries_with_seek().map_err(|error| broken(name, 0, &error))?;
    let members = select_members(name, entries, pattern)?;
    check_end(name, members.len(), archive.into_inner())?;
    Ok(members)
}

/// The same for an archive that cannot be seeked; reads it to its end.
pub(crate) fn read_members(
    name: &str,
    reader: impl Read,
    pattern: Option<&str>,
) -> Result<Vec<Member>> {
    let mut archive = Archive::new(reader);
    let entries = archive.entries().map_err(|error| broken(name, 0, &error))?;
    let members = select_members(name, entries, pattern)?;
    check_end(name, members.len(), archive.into_inner())?;
    Ok(members)
}

/// Checks that only zeros follow the end of an archive, not for example another archive.
fn check_end(name: &str, members: usize, mut rest: impl Read) -> Result<()> {
    let mut chunk = vec![0; 64 << 10];
    loop {
        let count = rest.read(&mut chunk).map_err(|error| broken(name, members, &error))?;
        if chunk[..count].iter().any(|&byte| byte != 0) {
            let what =
                String::from("more data follow after its end; several archives are not one trace");
            return Err(Error::Archive { name: name.to_owned(), what });
        }
        if count == 0 {
            return Ok(());
        }
    }
}

fn select_members(
    archive: &str,
    entries: Entries<'_, impl Read>,
    pattern: Option<&str>,
) -> Result<Vec<Member>> {
    let refuse = |what: String| Error::Archive { name: archive.to_owned(), what };
    let (mut members, mut others) = (Vec::new(), Vec::new());
    for entry in entries {
        let entry = entry.map_err(|error| broken(archive, members.len() + others.len(), &error))?;
        let name = name_of(&entry);
        if !may_have_data(&entry) {
            continue;
        }
        match pattern.is_none_or(|pattern| is_selected(pattern, &name)) {
            true => members.push(regular_file(entry, archive, name).map_err(refuse)?),
            false => others.push(name),
        }
    }
    // Of members with the same name the last one is kept.
    members.reverse();
    members.sort_by(|one, other| one.name.cmp(&other.name));
    members.dedup_by(|later, kept| later.name == kept.name);
    members.retain(|member| member.bytes > 0);
    match (members.is_empty(), pattern) {
        (false, _) => Ok(members),
        (true, Some(pattern)) if !others.is_empty() => Err(refuse(no_match(pattern, &others))),
        (true, _) => Err(refuse(String::from("it has no member that is not empty"))),
    }
}

/// The error for an archive that cannot be read to its end.
fn broken(archive: &str, members: usize, error: &io::Error) -> Error {
    let what = format!(
        "it is damaged or truncated after {members} members: {error}; fetch the archive again"
    );
    Error::Archive { name: archive.to_owned(), what }
}

fn name_of(entry: &Entry<impl Read>) -> String {
    let path = entry.path_bytes();
    let name = String::from_utf8_lossy(path.strip_prefix(b"./").unwrap_or(&path));
    // Messages contain the name, so control characters are replaced.
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    name.chars().map(shown).collect()
}

/// Whether a member can be part of a trace.
fn may_have_data(entry: &Entry<impl Read>) -> bool {
    !matches!(entry.header().entry_type(), EntryType::Directory | EntryType::XGlobalHeader)
}

/// A member that is a regular file, or the reason why it cannot be read.
fn regular_file<R: Read>(
    mut entry: Entry<R>,
    archive: &str,
    name: String,
) -> std::result::Result<Member, String> {
    let sparse = |name| {
        format!(
            "member `{name}` is stored without its holes; create the archive without `--sparse`"
        )
    };
    match entry.header().entry_type() {
        EntryType::Regular | EntryType::Continuous => {}
        EntryType::GNUSparse => return Err(sparse(name)),
        EntryType::Link | EntryType::Symlink => {
            return Err(format!("member `{name}` is a link; {}", hint_to_select(archive)));
        }
        _ => return Err(format!("member `{name}` is not a file; {}", hint_to_select(archive))),
    }
    let extensions = entry.pax_extensions().ok().flatten();
    let mut keys = extensions.into_iter().flatten().flatten();
    if keys.any(|extension| extension.key_bytes().starts_with(b"GNU.sparse.")) {
        return Err(sparse(name));
    }
    Ok(Member { name, start: entry.raw_file_position(), bytes: entry.size() })
}

fn hint_to_select(archive: &str) -> String {
    let members = shell_word(&format!("{archive}/*.csv"));
    format!("name the members that are the trace, as in `{members}`")
}

const NAMES_SHOWN: usize = 8;

fn no_match(pattern: &str, others: &[String]) -> String {
    let shown = others[..others.len().min(NAMES_SHOWN)].join(", ");
    let more = if others.len() > NAMES_SHOWN { ", …" } else { "" };
    format!("no member matches `{pattern}`; it has {} members: {shown}{more}", others.len())
}

/// Whether a pattern selects a member, or a file in a folder. It matches the name or a directory
/// above it; `*` stands for any number of any characters.
pub(crate) fn is_selected(pattern: &str, name: &str) -> bool {
    let pattern = pattern.trim_end_matches('/');
    let above = name.match_indices('/').map(|(end, _)| &name[..end]);
    above.chain([name]).any(|name| matches(pattern.as_bytes(), name.as_bytes()))
}

fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut in_name) = (0, 0);
    // The latest star in the pattern, and the end in `name` of the characters it stands for.
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
