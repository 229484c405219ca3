//! Turns panics into findings. The chip panics when a rule of flash is broken. The checker reports
//! this like any other defect: it catches the panic and keeps the message instead of printing it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::finding::{Defect, Finding};

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Does the work and turns a panic into a finding. After a panic, the caller must drop everything
/// that the work borrowed.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Finding>) -> Result<T, Finding> {
    install_hook();
    let outer = CATCHING.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(outer);
    done.unwrap_or_else(|_| Err(Finding::new(Defect::Panic, MESSAGE.take())))
}

/// Installs a panic hook, once. It keeps the message of a panic that [`caught`] is waiting for, and
/// passes all other panics to the previous hook.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CATCHING.get() {
                return previous(info);
            }
            let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
            let message = message(info.payload()).unwrap_or("a panic without a message");
            MESSAGE.set(format!("{message}{}", place.unwrap_or_default()));
        }));
    });
}

fn message(payload: &dyn Any) -> Option<&str> {
    let literal = payload.downcast_ref::<&str>().copied();
    literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_finding_with_its_message_and_place() {
        let number = 7;
        let finding = caught::<()>(|| panic!("programmed page {number} twice")).unwrap_err();
        assert_eq!(finding.defect, Defect::Panic);
        assert!(finding.sentence.starts_with("programmed page 7 twice (crates/check/src/panics"));
        assert_eq!(caught(|| Ok(3)), Ok(3));
    }
}
