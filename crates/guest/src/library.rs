//! Loading shared objects. Each load has globals of its own, with their first values.
//!
//! The first load of a file is the file itself, so that debuggers and sanitizers know it. While it
//! is in use, or if the loader keeps it for ever, further loads are copies in memory: the loader
//! takes them for other files. An object whose symbols the loader would share with its copies is
//! loaded from copies alone, in which it does not.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::system::memory_file;

/// A file that can be loaded once at a time.
struct Slot {
    /// The shared object: its path, and what tells it from a later file of this name.
    object: (PathBuf, [i64; 4]),
    /// What the loader opens: the object or a copy.
    path: PathBuf,
    /// The copy.
    _copy: Option<File>,
    in_use: bool,
}

/// The object itself and its copies, of all objects that were loaded.
static SLOTS: Mutex<Vec<Slot>> = Mutex::new(Vec::new());

/// A loaded shared object.
pub struct Loaded {
    library: Option<Library>,
    /// What the loader opened.
    path: PathBuf,
}

impl Loaded {
    /// Loads a shared object.
    ///
    /// # Errors
    /// The reason why it cannot be loaded, in a sentence.
    pub fn open(path: &Path) -> Result<Loaded, String> {
        let shown = path.display();
        let file = path.canonicalize().map_err(|error| format!("{shown}: {error}"))?;
        if !file.is_file() {
            return Err(format!("{shown} is no file"));
        }
        expect_own_machine(&file).map_err(|why| format!("{shown}: {why}"))?;
        let free = take_slot(&file).map_err(|error| format!("{shown}: {error}"))?;
        // SAFETY: the constructors of the file run. Whoever names a guest lets it run here.
        match unsafe { Library::open(Some(&free), RTLD_NOW | RTLD_LOCAL) } {
            Ok(library) => Ok(Loaded { library: Some(library), path: free }),
            Err(error) => {
                slots().retain(|slot| slot.path != free);
                Err(format!("{shown}: {}", readable(&error)))
            }
        }
    }

    /// The address of a symbol.
    ///
    /// # Safety
    /// `T` is the type of the symbol, which is used no longer than the library is loaded.
    pub unsafe fn symbol<T: Copy>(&self, name: &str) -> Option<T> {
        let library = self.library.as_ref()?;
        // SAFETY: the caller's promise.
        unsafe { library.get::<T>(name) }.ok().map(|symbol| *symbol)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        drop(self.library.take());
        if !is_still_loaded(&self.path) {
            let mut slots = slots();
            let slot = slots.iter_mut().find(|slot| slot.path == self.path);
            slot.into_iter().for_each(|slot| slot.in_use = false);
        }
    }
}

/// Refuses a file that is no shared object of this machine. The loader says of some that they do
/// not exist.
fn expect_own_machine(file: &Path) -> Result<(), String> {
    const MACHINE: u16 = match cfg!(target_arch = "x86_64") {
        true => 62,
        false => 183,
    };
    let is_known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    let mut head = [0; 20];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut head));
    if read.is_err() || !head.starts_with(b"\x7fELF") {
        return Err("it is no shared object".into());
    }
    let machine = u16::from_le_bytes([head[18], head[19]]);
    if is_known && (head[4] != 2 || machine != MACHINE) {
        return Err(format!(
            "it was made for another machine ({} bits, ELF machine {machine}); compile it for {}",
            if head[4] == 2 { 64 } else { 32 },
            std::env::consts::ARCH
        ));
    }
    Ok(())
}

fn slots() -> MutexGuard<'static, Vec<Slot>> {
    SLOTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The path of the object or of a copy that is not in use.
fn take_slot(file: &Path) -> io::Result<PathBuf> {
    let about = fs::metadata(file)?;
    let mark = [about.ino() as i64, about.size() as i64, about.mtime(), about.mtime_nsec()];
    let object = (file.to_owned(), mark);
    let mut slots = slots();
    if let Some(slot) = slots.iter_mut().find(|slot| slot.object == object && !slot.in_use) {
        slot.in_use = true;
        return Ok(slot.path.clone());
    }
    // While an earlier file of this name is loaded, the loader would take it for this one.
    let is_first = slots.iter().all(|slot| slot.path != file);
    let is_own_file = is_first && unshared(fs::read(file)?).is_none();
    let copy = if is_own_file { None } else { Some(copied(file)?) };
    let path = match &copy {
        None => file.to_owned(),
        Some(copy) => path_of(copy),
    };
    slots.push(Slot { object, path: path.clone(), _copy: copy, in_use: true });
    Ok(path)
}

/// Makes sure that there is a free copy of every object that is in use. Processes that are copies
/// of this one then find it, instead of making one each.
pub(crate) fn prepare_copies() {
    let mut slots = slots();
    let mut objects: Vec<_> = slots.iter().map(|slot| slot.object.clone()).collect();
    objects.dedup();
    for object in objects {
        let is_free = |slot: &Slot| slot.object == object && !slot.in_use;
        if slots.iter().any(is_free) {
            continue;
        }
        // Without a copy each process makes its own, or says why it cannot.
        if let Ok(copy) = copied(&object.0) {
            let path = path_of(&copy);
            slots.push(Slot { object, path, _copy: Some(copy), in_use: false });
        }
    }
}

/// Debuggers must find the copy too. They are another process, so `/proc/self` is of no use.
fn path_of(copy: &File) -> PathBuf {
    let process = fs::read_link("/proc/self").unwrap_or_else(|_| "self".into());
    Path::new("/proc").join(process).join("fd").join(copy.as_raw_fd().to_string())
}

fn copied(file: &Path) -> io::Result<File> {
    let mut memory = memory_file("ftlab-guest", false)?;
    let bytes = fs::read(file)?;
    memory.write_all(&unshared(bytes.clone()).unwrap_or(bytes))?;
    Ok(memory)
}

/// An ELF file of 64 bits whose unique symbols are ordinary ones; `None` if it has none. Of a
/// unique symbol the loader keeps one for all objects of a process, and for ever. g++ makes them of
/// C++ inline variables, of static variables of inline functions, and of static members of
/// templates.
fn unshared(mut object: Vec<u8>) -> Option<Vec<u8>> {
    const DYNAMIC_SYMBOLS: u64 = 11;
    const SYMBOL_BYTES: usize = 24;
    const UNIQUE: u8 = 10;
    const GLOBAL: u8 = 1;
    let number = |object: &[u8], at: usize, bytes: usize| -> Option<u64> {
        let bytes = object.get(at..at.checked_add(bytes)?)?;
        Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    let header = |at, bytes| number(&object, at, bytes).map(|number| number as usize);
    let (table, size, count) = (header(0x28, 8)?, header(0x3A, 2)?, header(0x3C, 2)?);
    let field = |section: usize, at: usize, bytes| {
        number(&object, table.checked_add(section * size)?.checked_add(at)?, bytes)
    };
    let symbols = (0..count).find(|&at| field(at, 4, 4) == Some(DYNAMIC_SYMBOLS))?;
    let (start, bytes) = (field(symbols, 0x18, 8)? as usize, field(symbols, 0x20, 8)? as usize);
    let mut has_changed = false;
    for symbol in object.get_mut(start..start.checked_add(bytes)?)?.chunks_exact_mut(SYMBOL_BYTES) {
        if symbol[4] >> 4 == UNIQUE {
            symbol[4] = GLOBAL << 4 | symbol[4] & 0xF;
            has_changed = true;
        }
    }
    has_changed.then_some(object)
}

/// Whether the loader has kept a file that was closed, as it does for some C++ code.
fn is_still_loaded(file: &Path) -> bool {
    const RTLD_NOLOAD: i32 = 4;
    // SAFETY: nothing is loaded, so nothing runs.
    unsafe { Library::open(Some(file), RTLD_NOW | RTLD_NOLOAD) }.is_ok()
}

/// The loader's own words.
fn readable(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_objects_are_left_as_they_are() {
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(unshared(Vec::new()).is_none() && unshared(own[..64].to_vec()).is_none());
        for at in 0..64 {
            for value in [0, 0x7F, 0xFF] {
                let mut damaged = own[..4096].to_vec();
                damaged[at] = value;
                damaged[0x28..0x30].rotate_left(at % 8);
                let same = damaged.clone();
                assert!(unshared(damaged).is_none_or(|changed| changed.len() == same.len()));
            }
        }
    }
}
