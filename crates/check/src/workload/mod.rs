//! Workloads: lists of host operations, by name.
//!
//! ```text
//! hot              the workload `hot`, drawn from the seed
//! steps-w3.f.t0    written out: see [`steps`]
//! ace-w0.f.t0.g    a short program: write page 0 · flush · trim page 0 · garbage collection
//! log-17           a part of a log that was given: see [`logged`]
//! ```
//! A workload is a value: the same name, device and seed always give the same operations.

pub mod host_operation;
pub mod logged;
pub mod named;
mod script;
pub mod short_programs;
pub mod steps;

use host_operation::{Dimensions, HostOperation};
use script::Script;

/// The operations of a workload or a short program.
///
/// # Errors
/// The name or a letter of the short program is unknown.
pub fn operations(
    name: &str,
    dimensions: Dimensions,
    seed: u64,
) -> spec::Result<Vec<HostOperation>> {
    if let Some(steps) = name.strip_prefix(steps::PREFIX) {
        return steps::operations(steps, dimensions);
    }
    match name.strip_prefix(short_programs::PREFIX) {
        Some(letters) => short_programs::operations(letters, dimensions),
        None => named::operations(name, dimensions, seed),
    }
}

/// What the host does after a power cut: a few operations of every kind.
pub fn after_power_cut(dimensions: Dimensions, seed: u64) -> Vec<HostOperation> {
    let mut script = Script::new(dimensions, seed);
    for _ in 0..7 {
        match script.rng.below(10) {
            0 => script.trim_anywhere(2),
            1 => script.flush(),
            2..=3 => script.patch_anywhere(3),
            4 => script.read_part_anywhere(2),
            _ => script.write_anywhere(dimensions.pages_per_block),
        }
    }
    script.into_operations()
}

#[cfg(test)]
mod tests {
    use nand::SectorMask;

    use super::*;

    const DIMENSIONS: Dimensions =
        Dimensions { pages: 24, pages_per_block: 4, sectors_per_page: 2, extra_pages: 12 };

    #[test]
    fn every_operation_of_every_workload_is_valid_on_the_device() {
        let smallest =
            Dimensions { pages: 4, pages_per_block: 2, sectors_per_page: 1, extra_pages: 4 };
        for (workload, dimensions) in named::WORKLOADS
            .iter()
            .flat_map(|workload| [(workload, DIMENSIONS), (workload, smallest)])
        {
            for seed in 0..20 {
                for operation in operations(workload.name, dimensions, seed).unwrap() {
                    assert!(is_valid(&operation, &dimensions), "{}: {operation}", workload.name);
                }
            }
        }
    }

    fn is_valid(operation: &HostOperation, dimensions: &Dimensions) -> bool {
        let within = |first: u32, pages: u32| pages > 0 && first + pages <= dimensions.pages;
        match *operation {
            HostOperation::Flush => true,
            HostOperation::Trim { first, pages } => within(first, pages),
            HostOperation::Write(extent)
            | HostOperation::Force(extent)
            | HostOperation::Read(extent) => {
                let possible = |mask: SectorMask| mask != 0 && mask & !dimensions.full() == 0;
                within(extent.first, extent.pages)
                    && possible(extent.head)
                    && possible(extent.tail)
                    && (extent.pages > 1 || extent.head == extent.tail)
            }
        }
    }

    #[test]
    fn equal_seeds_give_equal_operations() {
        let random = |seed| operations("random", DIMENSIONS, seed).unwrap();
        assert_eq!(random(1), random(1));
        assert_ne!(random(1), random(2));
        assert_ne!(after_power_cut(DIMENSIONS, 1), after_power_cut(DIMENSIONS, 2));
    }

    #[test]
    fn after_a_power_cut_the_host_does_something_of_every_kind() {
        let all: Vec<HostOperation> =
            (0..100).flat_map(|seed| after_power_cut(DIMENSIONS, seed)).collect();
        let is_part =
            |it: &HostOperation| matches!(it, HostOperation::Write(it) if it.head != 0b11);
        let kinds: [&dyn Fn(&HostOperation) -> bool; 4] = [
            &|it| matches!(it, HostOperation::Trim { .. }),
            &|it| matches!(it, HostOperation::Read(_)),
            &|it| matches!(it, HostOperation::Flush),
            &is_part,
        ];
        for (kind, is_kind) in kinds.iter().enumerate() {
            assert!(all.iter().filter(|&it| is_kind(it)).count() > 20, "kind {kind}");
        }
    }

    /// Pages that a workload writes, and whether anything in it is flushed or forced.
    fn effort(name: &str, seed: u64) -> (u32, bool) {
        let operations = operations(name, DIMENSIONS, seed).unwrap();
        let written = operations.iter().map(|it| match it {
            HostOperation::Write(extent) | HostOperation::Force(extent) => extent.pages,
            _ => 0,
        });
        (written.sum(), operations.iter().any(HostOperation::makes_durable))
    }

    #[test]
    fn workloads_collect_garbage_and_all_but_some_make_something_durable() {
        // Some trim so much that they need not write as much as there is room.
        let room = DIMENSIONS.pages + DIMENSIONS.extra_pages;
        for name in named::WORKLOADS.iter().map(|workload| workload.name) {
            let written = effort(name, 1).0;
            let enough = 10 * written > 9 * room || ["borders", "windows"].contains(&name);
            assert!(enough, "{name}: only {written} pages");
            let never = ["sequential", "never-flush"].contains(&name);
            assert_ne!((1..6).any(|seed| effort(name, seed).1), never, "{name}");
        }
        let forced = operations("forced", DIMENSIONS, 1).unwrap();
        assert!(forced.iter().any(|it| matches!(it, HostOperation::Force(_))));
    }

    #[test]
    fn partial_writes_have_all_masks() {
        let partial = operations("partial", DIMENSIONS, 3).unwrap();
        for mask in [0b01, 0b10, 0b11] {
            let of_mask =
                |it: &HostOperation| matches!(it, HostOperation::Write(it) if it.head == mask);
            assert!(partial.iter().any(of_mask), "{mask:b}");
        }
    }

    #[test]
    fn windows_touches_both_sides_of_every_border() {
        let (pages, pages_per_block) = (8400, 24);
        let dimensions =
            Dimensions { pages, pages_per_block, sectors_per_page: 1, extra_pages: 144 };
        let windows = operations("windows", dimensions, 1).unwrap();
        for page in [0, 3967, 3968, 7935, 7936, 8399] {
            let covers = |first: u32, pages: u32| (first..first + pages).contains(&page);
            let is_trimmed = windows.iter().any(|it| match *it {
                HostOperation::Trim { first, pages } => covers(first, pages),
                _ => false,
            });
            assert!(is_trimmed, "page {page} is never trimmed");
        }
    }

    #[test]
    fn parts_of_pages_are_read() {
        let merges = operations("merges", DIMENSIONS, 3).unwrap();
        let is_part = |it: &HostOperation| matches!(it, HostOperation::Read(it) if it.head != 0b11);
        assert!(merges.iter().any(is_part));
    }

    #[test]
    fn an_unknown_workload_is_refused_with_a_suggestion() {
        let message = operations("hto", DIMENSIONS, 0).unwrap_err().to_string();
        assert!(message.starts_with("unknown workload `hto`; did you mean `hot`?"), "{message}");
    }

    /// A replay line of an older version leads to the same operations.
    #[test]
    fn every_workload_is_what_it_always_was() {
        let windowed =
            Dimensions { pages: 8400, pages_per_block: 24, sectors_per_page: 1, extra_pages: 144 };
        let digest = |operations: Vec<HostOperation>| {
            let lines: Vec<String> = operations.iter().map(HostOperation::to_string).collect();
            crc32fast::hash(lines.join("\n").as_bytes())
        };
        let named = named::WORKLOADS.iter().map(|workload| {
            let dimensions = if workload.name == "windows" { windowed } else { DIMENSIONS };
            (workload.name, digest(operations(workload.name, dimensions, 1).unwrap()))
        });
        let short = "ace-w1.p2.t0.f.r.a.g";
        let others = [
            (short, digest(operations(short, DIMENSIONS, 1).unwrap())),
            ("after a cut", digest(after_power_cut(DIMENSIONS, 1))),
        ];
        let found: Vec<(&str, u32)> = named.chain(others).collect();
        assert_eq!(found, DIGESTS);
    }

    /// Checksums of the operations of each workload. A workload that is changed on purpose gets
    /// another one.
    const DIGESTS: [(&str, u32); 20] = [
        ("sequential", 1777155997),
        ("random", 2580436),
        ("fill-random", 3439698198),
        ("hot", 4065759209),
        ("trims", 1670936005),
        ("trim-rewrite", 4242742278),
        ("trim-all", 375563175),
        ("trim-flush", 1204873871),
        ("flush-each", 4046744750),
        ("never-flush", 2990349668),
        ("partial", 1428752),
        ("large", 3356240375),
        ("borders", 758459482),
        ("streams", 3427274967),
        ("sectors", 1127446369),
        ("forced", 2076420966),
        ("merges", 2675813401),
        ("windows", 778500625),
        ("ace-w1.p2.t0.f.r.a.g", 2482445784),
        ("after a cut", 3793972458),
    ];
}
