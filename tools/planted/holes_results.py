"""Results: figures in the wrong place, left out or in the wrong unit."""

PACKAGES = ["ftlab-sim --lib result"]

RESULT = "crates/sim/src/result/"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("hole-merges-exchanged", "result: switch and partial merges are exchanged", RESULT + "counts.rs",
     "        MergesPart { switch, partial, full, dead, associated_blocks }",
     "        MergesPart { switch: partial, partial: switch, full, dead, associated_blocks }"),
    ("hole-dram-left-out", "result: the total time has no accesses to DRAM", RESULT + "counts.rs",
     "total: us(timing.serial_ns(tally) + dram_ns),",
     "total: us(timing.serial_ns(tally)),"),
    ("hole-megabytes-binary", "result: MB/s are MiB/s", RESULT + "drive_part.rs",
     "mb_per_s: per_second(bytes as f64 / 1e6),",
     "mb_per_s: per_second(bytes as f64 / f64::from(1 << 20)),"),
]
