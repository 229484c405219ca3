//! The codes of page states in tables and journals.

use nand::page_store::Health;

/// The code of a page's state.
pub(crate) fn encode(health: Health) -> u8 {
    match health {
        Health::Erased => 0,
        Health::Good => 1,
        Health::Torn => 2,
        Health::LooksErased => 3,
        Health::Unstable => 4,
        Health::DataLost => 5,
    }
}

/// The state that a code stands for.
pub(crate) fn decode(code: u8) -> Option<Health> {
    match code {
        0 => Some(Health::Erased),
        1 => Some(Health::Good),
        2 => Some(Health::Torn),
        3 => Some(Health::LooksErased),
        4 => Some(Health::Unstable),
        5 => Some(Health::DataLost),
        _ => None,
    }
}
