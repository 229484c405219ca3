//! Panics as values. The chip panics when a rule of flash is broken; here that is a finding like
//! any other, so it is caught, and its sentence is kept instead of printed.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::violation::{Kind, Violation};

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static SENTENCE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Does the work; a panic in it becomes a violation. Whatever the work held is to be dropped.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Violation>) -> Result<T, Violation> {
    listen();
    let outer = CATCHING.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(outer);
    done.unwrap_or_else(|_| Err(Violation::new(Kind::Panic, SENTENCE.take())))
}

/// Puts an ear before the process's own panic hook, once; panics of others go on to that one.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let theirs = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CATCHING.get() {
                return theirs(info);
            }
            let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
            let said = said(info.payload()).unwrap_or("it panicked without a word");
            SENTENCE.set(format!("{said}{}", place.unwrap_or_default()));
        }));
    });
}

fn said(payload: &dyn Any) -> Option<&str> {
    let literal = payload.downcast_ref::<&str>().copied();
    literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_violation_with_its_sentence_and_place() {
        let number = 7;
        let violation = caught::<()>(|| panic!("programmed page {number} twice")).unwrap_err();
        assert_eq!(violation.kind, Kind::Panic);
        assert!(violation.sentence.starts_with("programmed page 7 twice (crates/check/src/panics"));
        assert_eq!(caught(|| Ok(3)), Ok(3));
    }
}
