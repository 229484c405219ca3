//! A place where the code of a guest finds the chip while it is lent.

use core::any::Any;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Mutex, PoisonError};

use ftl::contract::guest::{GuestChip, GuestFaultKind};

/// A reference to a chip, which a call has on its stack.
type Lent<'a> = &'a mut dyn GuestChip;

/// The place. Only the thread to which the chip is lent can use it, and only meanwhile.
#[derive(Default)]
pub struct ChipSlot {
    lent: AtomicPtr<Lent<'static>>,
    /// The thread to which the chip is lent; 0 if it is not.
    thread: AtomicUsize,
    /// Whether the chip was called at another time, or by another thread.
    stray: AtomicBool,
    /// A panic of the chip, on its way around the guest.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl ChipSlot {
    /// Lends the chip for one call of the guest.
    #[inline]
    pub fn lend<T>(&self, chip: &mut dyn GuestChip, call: impl FnOnce() -> T) -> T {
        let mut lent: Lent = &mut *chip;
        self.lent.store((&raw mut lent).cast(), Ordering::Relaxed);
        self.thread.store(this_thread(), Ordering::Relaxed);
        let answer = call();
        self.thread.store(0, Ordering::Relaxed);
        if self.stray.load(Ordering::Relaxed) {
            self.take_trouble(chip);
        }
        answer
    }

    /// Whether the chip was called when it was not lent, since it was lent last.
    pub fn was_astray(&self) -> bool {
        self.stray.load(Ordering::Relaxed)
    }

    /// Does something with the chip, if it is lent to this thread now. After a panic, the call for
    /// which it is lent panics when it returns.
    #[inline]
    pub fn with<T>(&self, work: impl FnOnce(&mut dyn GuestChip) -> T) -> Option<T> {
        if self.thread.load(Ordering::Relaxed) != this_thread() {
            self.stray.store(true, Ordering::Relaxed);
            return None;
        }
        // SAFETY: the reference is on the stack of `lend`, in this thread, below this call. Nobody
        // else uses it: functions of the chip do not call guests.
        let chip: &mut dyn GuestChip = unsafe { &mut **self.lent.load(Ordering::Relaxed) };
        catch_unwind(AssertUnwindSafe(|| work(chip))).map_err(|panic| self.keep(panic)).ok()
    }

    #[cold]
    fn keep(&self, panic: Box<dyn Any + Send>) {
        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        self.stray.store(true, Ordering::Relaxed);
    }

    #[cold]
    fn take_trouble(&self, chip: &mut dyn GuestChip) {
        self.stray.store(false, Ordering::Relaxed);
        match self.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(panic) => resume_unwind(panic),
            None => {
                let why = "called the chip from another thread, or outside of a call";
                chip.fault(GuestFaultKind::Illegal, why);
            }
        }
    }
}

/// A number that no other thread has at the same time, and that is not 0.
#[inline]
fn this_thread() -> usize {
    thread_local!(static HERE: Cell<u8> = const { Cell::new(0) });
    HERE.with(|here| ptr::from_ref(here) as usize)
}
