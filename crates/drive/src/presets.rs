//! Drives by name, each figure with its source. A figure that no source gives is marked `assumed`.

/// A named drive.
#[derive(Debug)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// One line about the drive.
    pub summary: &'static str,
    /// The source of the drive as a whole. Each figure has its own.
    pub source: &'static str,
    /// Every figure, in the order of the keys.
    pub figures: &'static [Figure],
}

/// A figure of a drive.
#[derive(Debug)]
pub struct Figure {
    /// The key in a spec.
    pub key: &'static str,
    /// The value, as a user would write it.
    pub value: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

const fn figure(key: &'static str, value: &'static str, source: &'static str) -> Figure {
    Figure { key, value, source }
}

const BY_DEFINITION: &str = "by definition";
const NVMEVIRT: &str = "NVMeVirt, ssd_config.h, fit of a WD ZN540";
const FITTED: &str = "fitted to the read curve, docs/drives.md";
const MIXES: &str = "fitted to reads beside appends, docs/drives.md";
const ASSUMED: &str = "assumed";

/// All drives that `--drive` knows.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "ideal",
        summary: "one die, no overhead: serial time, with a queue",
        source: "the serial clock of the papers",
        figures: &[
            figure("channels", "1", BY_DEFINITION),
            figure("ways", "1", BY_DEFINITION),
            figure("dies", "1", BY_DEFINITION),
            figure("planes", "1", BY_DEFINITION),
            figure("order", "CWDP", BY_DEFINITION),
            figure("stripe", "all", BY_DEFINITION),
            figure("pages_at_once", "1", BY_DEFINITION),
            figure("transfer", "none", BY_DEFINITION),
            figure("command", "0ns", BY_DEFINITION),
            figure("firmware", "0ns", BY_DEFINITION),
            figure("dispatch", "0ns", BY_DEFINITION),
            figure("link", "none", BY_DEFINITION),
            figure("read", "chip", BY_DEFINITION),
            figure("program", "chip", BY_DEFINITION),
            figure("erase", "chip", BY_DEFINITION),
            figure("hold", "true", BY_DEFINITION),
            figure("suspend", "none", BY_DEFINITION),
            figure("suspend_cost", "0ns", BY_DEFINITION),
            figure("suspend_progress", "0ns", BY_DEFINITION),
            figure("suspend_step", "0ns", BY_DEFINITION),
            figure("suspend_reads", "all", BY_DEFINITION),
            figure("reads_first", "false", BY_DEFINITION),
            figure("copyback", "false", BY_DEFINITION),
            figure("buffer", "none", BY_DEFINITION),
            figure("acknowledge", "program", BY_DEFINITION),
            figure("protected", "false", BY_DEFINITION),
            figure("trim", "0ns", BY_DEFINITION),
        ],
    },
    Preset {
        name: "zoned-nvme",
        summary: "zoned NVMe drive with TLC, 32 dies",
        source: "ConfZNS++ (SYSTOR) measured it; NVMeVirt published a fit of a WD ZN540",
        figures: &[
            figure("channels", "8", NVMEVIRT),
            figure("ways", "4", NVMEVIRT),
            figure("dies", "1", NVMEVIRT),
            figure("planes", "2", "96 KiB per program command: 2 planes, 16 KiB, 3 page types"),
            figure("order", "PCWD", ASSUMED),
            figure("stripe", "all", ASSUMED),
            figure(
                "pages_at_once",
                "6",
                "96 KiB per program command (NVMeVirt), in pages of 8 KiB",
            ),
            figure("transfer", "450MB/s", NVMEVIRT),
            figure("command", "0ns", ASSUMED),
            figure("firmware", "18us", FITTED),
            figure("dispatch", "3350ns", FITTED),
            figure("link", "3050MB/s", NVMEVIRT),
            figure("read", "42us+48500ns+61500ns", FITTED),
            figure("program", "2300us", "fitted to 1.23 GB/s of writes, docs/drives.md"),
            figure("erase", "5ms", ASSUMED),
            figure("hold", "true", FITTED),
            figure("suspend", "both", MIXES),
            figure("suspend_cost", "25us", MIXES),
            figure("suspend_progress", "0ns", "one step, see suspend_step"),
            figure("suspend_step", "100us", MIXES),
            figure("suspend_reads", "1", MIXES),
            figure("reads_first", "true", MIXES),
            figure("copyback", "false", ASSUMED),
            figure("buffer", "32MiB", ASSUMED),
            figure("acknowledge", "buffer", "appends end after 17 µs, far below a program"),
            figure("protected", "true", ASSUMED),
            figure("trim", "10us", ASSUMED),
        ],
    },
];
