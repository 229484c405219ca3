//! A page of memory that a process with guests shares with the process that watches it: which call
//! runs, and what the process was about to do.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::ftruncate;

use crate::system::memory_file;

/// A call of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// None runs.
    None,
    /// The shared object is loaded, and says what it is.
    Load,
    /// mount
    Mount,
    /// read
    Read,
    /// write
    Write,
    /// trim
    Trim,
    /// flush
    Flush,
    /// unmount
    Unmount,
}

impl Call {
    const ALL: [Call; 8] = [
        Call::None,
        Call::Load,
        Call::Mount,
        Call::Read,
        Call::Write,
        Call::Trim,
        Call::Flush,
        Call::Unmount,
    ];
}

/// Bytes of the note.
const NOTE_BYTES: usize = 3072;

#[repr(C)]
struct Layout {
    /// Number of calls that have begun.
    calls: AtomicU64,
    /// Number of those before the last mount.
    before_mount: AtomicU64,
    call: AtomicU32,
    first: AtomicU32,
    pages: AtomicU32,
    /// Whether the process came to its end by itself.
    is_done: AtomicU32,
    note_bytes: AtomicU32,
    note: [core::sync::atomic::AtomicU8; NOTE_BYTES],
}

/// The shared page.
pub struct Board {
    memory: MmapRaw,
    /// Its file. It has no name, and ends with the last process that has it.
    file: File,
}

/// The board of this process, if another one watches it. Boards live as long as their process.
static OF_PROCESS: AtomicPtr<Board> = AtomicPtr::new(core::ptr::null_mut());

impl Board {
    /// A new board, all zero. Processes that this one starts inherit its file.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new() -> io::Result<Board> {
        let file = memory_file("ftlab-board", true)?;
        ftruncate(&file, size_of::<Layout>() as u64)?;
        Board::of(file)
    }

    fn of(file: File) -> io::Result<Board> {
        let memory = MmapOptions::new().len(size_of::<Layout>()).map_raw(&file)?;
        Ok(Board { memory, file })
    }

    /// The number by which a process that this one starts finds the file.
    pub fn number(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// From now on this process writes to the board with this number.
    ///
    /// # Errors
    /// There is no such board.
    pub fn take(number: i32) -> io::Result<()> {
        if number < 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the number is borrowed only to be duplicated, which fails if it is not open.
        let file = unsafe { BorrowedFd::borrow_raw(number) }.as_fd().try_clone_to_owned()?;
        Board::of(file.into())?.become_own();
        Ok(())
    }

    /// From now on this process writes to this board.
    pub fn become_own(self) {
        OF_PROCESS.store(Box::leak(Box::new(self)), Ordering::Release);
    }

    /// The same board for another process, which has the same memory.
    ///
    /// # Errors
    /// There is no memory.
    pub fn try_clone(&self) -> io::Result<Board> {
        Board::of(self.file.try_clone()?)
    }

    /// The board of this process, if another one watches it.
    #[inline]
    pub fn of_process() -> Option<&'static Board> {
        // SAFETY: the pointer is null, or leads to a board that was leaked.
        unsafe { OF_PROCESS.load(Ordering::Acquire).as_ref() }
    }

    #[inline]
    fn layout(&self) -> &Layout {
        let start: *const c_void = self.memory.as_ptr().cast();
        // SAFETY: the memory is as large as the layout, aligned to a page, and of atomics alone.
        unsafe { &*start.cast::<Layout>() }
    }

    /// Runs a call, for these pages from `first` on. Meanwhile the board of this process shows it,
    /// if it has one.
    #[inline]
    pub fn showing<T>((call, first, pages): (Call, u32, u32), run: impl FnOnce() -> T) -> T {
        let board = Board::of_process();
        if let Some(board) = board {
            board.begin(call, first, pages);
        }
        let answer = run();
        if let Some(board) = board {
            board.end();
        }
        answer
    }

    /// Notes that a call begins.
    #[inline]
    fn begin(&self, call: Call, first: u32, pages: u32) {
        let layout = self.layout();
        let calls = layout.calls.load(Ordering::Relaxed);
        if call == Call::Mount {
            layout.before_mount.store(calls, Ordering::Relaxed);
        }
        layout.calls.store(calls + u64::from(call != Call::Load), Ordering::Relaxed);
        layout.first.store(first, Ordering::Relaxed);
        layout.pages.store(pages, Ordering::Relaxed);
        layout.call.store(call as u32, Ordering::Relaxed);
    }

    /// Notes that the call has ended.
    #[inline]
    fn end(&self) {
        self.layout().call.store(Call::None as u32, Ordering::Relaxed);
    }

    /// The number of calls so far, and the one that runs.
    pub fn state(&self) -> (u64, Call) {
        let call = self.layout().call.load(Ordering::Relaxed) as usize;
        let call = Call::ALL.get(call).copied().unwrap_or(Call::None);
        (self.layout().calls.load(Ordering::Relaxed), call)
    }

    /// Notes that the process comes to its end by itself.
    pub fn set_done(&self) {
        self.layout().is_done.store(1, Ordering::SeqCst);
    }

    /// Whether the process came to its end by itself.
    pub fn is_done(&self) -> bool {
        self.layout().is_done.load(Ordering::SeqCst) == 1
    }

    /// Leaves a note of what the process is about to do.
    pub fn set_note(&self, note: &str) {
        let layout = self.layout();
        let bytes = &note.as_bytes()[..note.len().min(NOTE_BYTES)];
        for (to, &byte) in layout.note.iter().zip(bytes) {
            to.store(byte, Ordering::Relaxed);
        }
        layout.note_bytes.store(bytes.len() as u32, Ordering::SeqCst);
    }

    /// The note; empty if there is none.
    pub fn note(&self) -> String {
        let layout = self.layout();
        let bytes = (layout.note_bytes.load(Ordering::SeqCst) as usize).min(NOTE_BYTES);
        let bytes: Vec<u8> =
            layout.note[..bytes].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The call that runs, as a phrase such as "in write of 3 pages from page 7, call 5 since the
    /// mount", which is call 1. A replay has the same number.
    pub fn place(&self) -> String {
        let (calls, call) = self.state();
        let calls = calls.saturating_sub(self.layout().before_mount.load(Ordering::Relaxed));
        let (first, pages) = (
            self.layout().first.load(Ordering::Relaxed),
            self.layout().pages.load(Ordering::Relaxed),
        );
        let name = match call {
            Call::None => return format!("after {calls} calls since the mount"),
            Call::Load => return "while it was loaded".to_owned(),
            Call::Mount => return "in mount".to_owned(),
            Call::Flush | Call::Unmount => format!("{call:?}").to_lowercase(),
            Call::Read | Call::Write | Call::Trim => {
                let name = format!("{call:?}").to_lowercase();
                let pages = if pages == 1 { "1 page".to_owned() } else { format!("{pages} pages") };
                format!("{name} of {pages} from page {first}")
            }
        };
        format!("in {name}, call {calls} since the mount")
    }
}
