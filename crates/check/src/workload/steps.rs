//! Workloads that are written out, step by step.
//!
//! ```text
//! steps-w3.F0x2.t3.r0x4:2:1.f
//!       │  │    │  │  │ └┬┘ └ flush
//!       │  │    │  │  │  └ sectors of the first and of the last page, as hexadecimal masks
//!       │  │    │  │  └ number of pages
//!       │  │    │  └ read
//!       │  │    └ trim
//!       │  └ forced write
//!       └ write page 3
//! ```

use nand::SectorMask;

use crate::workload::host_operation::{Dimensions, Extent, HostOperation};

/// Prefix of the names of such workloads.
pub const PREFIX: &str = "steps-";

/// The name of the workload with these operations.
pub fn name(operations: &[HostOperation], full: SectorMask) -> String {
    let steps: Vec<String> = operations.iter().map(|operation| step(operation, full)).collect();
    format!("{PREFIX}{}", steps.join("."))
}

fn step(operation: &HostOperation, full: SectorMask) -> String {
    let pages = |first: u32, pages: u32| match pages {
        1 => first.to_string(),
        _ => format!("{first}x{pages}"),
    };
    let (letter, extent) = match operation {
        HostOperation::Flush => return "f".to_owned(),
        HostOperation::Trim { first, pages: count } => {
            return format!("t{}", pages(*first, *count));
        }
        HostOperation::Write(extent) => ('w', extent),
        HostOperation::Force(extent) => ('F', extent),
        HostOperation::Read(extent) => ('r', extent),
    };
    let Extent { first, pages: count, head, tail } = *extent;
    let masks = match head == full && tail == full {
        true => String::new(),
        false => format!(":{head:x}:{tail:x}"),
    };
    format!("{letter}{}{masks}", pages(first, count))
}

/// The operations of a workload whose steps are separated by points.
///
/// # Errors
/// A step is malformed, or names pages or sectors that the device does not have.
pub fn operations(steps: &str, dimensions: Dimensions) -> spec::Result<Vec<HostOperation>> {
    let parsed = steps.split('.').map(|text| {
        operation(text, dimensions).ok_or_else(|| spec::Error::Malformed {
            text: text.to_owned(),
            form: format!(
                "a step on a device of {} pages such as `w3`, `F0x2`, `t3`, `r0x4:2:1` or `f`",
                dimensions.pages
            ),
        })
    });
    parsed.collect()
}

fn operation(text: &str, dimensions: Dimensions) -> Option<HostOperation> {
    if text == "f" {
        return Some(HostOperation::Flush);
    }
    let full = dimensions.full();
    let letter = text.chars().next()?;
    let (pages, masks) = match text.get(1..)?.split_once(':') {
        Some((pages, masks)) => (pages, Some(masks.split_once(':')?)),
        None => (text.get(1..)?, None),
    };
    let (first, pages) = pages.split_once('x').unwrap_or((pages, "1"));
    let (first, pages): (u32, u32) = (first.parse().ok()?, pages.parse().ok()?);
    let mask = |text: &str| {
        let mask = SectorMask::from_str_radix(text, 16).ok()?;
        (mask != 0 && mask & !full == 0).then_some(mask)
    };
    let (head, tail) = match masks {
        Some((head, tail)) => (mask(head)?, mask(tail)?),
        None => (full, full),
    };
    let fits = pages > 0 && first.checked_add(pages)? <= dimensions.pages;
    if !fits || pages == 1 && head != tail {
        return None;
    }
    let extent = Extent { first, pages, head, tail };
    match letter {
        'w' => Some(HostOperation::Write(extent)),
        'F' => Some(HostOperation::Force(extent)),
        'r' => Some(HostOperation::Read(extent)),
        't' if masks.is_none() => Some(HostOperation::Trim { first, pages }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{after_power_cut, named};

    const DIMENSIONS: Dimensions =
        Dimensions { pages: 24, pages_per_block: 4, sectors_per_page: 2, extra_pages: 12 };

    #[test]
    fn every_workload_can_be_written_out() {
        let full = DIMENSIONS.full();
        for seed in 0..20 {
            let named = named::WORKLOADS
                .iter()
                .map(|it| named::operations(it.name, DIMENSIONS, seed).expect("a known workload"));
            for all in named.chain([after_power_cut(DIMENSIONS, seed)]) {
                let text = name(&all, full);
                let steps = text.strip_prefix(PREFIX).expect("the prefix");
                assert_eq!(operations(steps, DIMENSIONS).unwrap(), all, "{text}");
            }
        }
    }

    #[test]
    fn wrong_steps_are_refused() {
        for text in [
            "", "w", "x3", "w24", "w23x2", "w3x0", "t3:1:1", "w3:0:0", "w3:4:4", "w3:1:2", "f1",
            "wö",
        ] {
            let message = operations(text, DIMENSIONS).unwrap_err().to_string();
            assert!(message.contains("is not a step on a device of 24 pages"), "{text}: {message}");
        }
    }
}
