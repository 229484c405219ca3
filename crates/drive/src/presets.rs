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
const FITTED: &str = "fitted to the read curve; see the documentation of drives";
const MIXES: &str = "fitted to reads beside appends; see the documentation of drives";
const ASSUMED: &str = "assumed";
const S3700: &str = "Tom's Hardware, SSD DC S3700, inside the 200 GB model";
const L74A: &str = "Micron L74A data sheet, 64 Gbit MLC of the same 25 nm generation";
const EVO_NAND: &str = "AnandTech, 850 EVO, NAND configurations: 4 packages of 8 dies in 500 GB";
const EVO_DIE: &str = "a 128 Gb 3b/cell V-NAND flash memory with 1 Gb/s I/O rate, JSSC 2015";
const SATA: &str = "SATA 6 Gbit/s carries 600 MB/s, about 550 MB/s after its protocol";
const NOT_PUBLISHED: &str = "assumed; not published";

/// All drives that `--drive` knows.
pub static PRESETS: &[Preset] = &[
    Preset {
        name: "ideal",
        summary: "one die with the latencies of `--chip`, no overhead: serial time at depth 1",
        source: "the serial clock of the papers",
        figures: &[
            figure("page", "any", BY_DEFINITION),
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
            figure("page", "8KiB", "the pages of the fits"),
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
            figure("program", "2300us", "fitted to 1.23 GB/s of writes"),
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
    Preset {
        name: "sata-mlc",
        summary: "SATA drive for servers with 25 nm MLC, 32 dies (Intel DC S3700, 200 GB)",
        source: "Intel, SSD DC S3700 product specification (328171)",
        figures: &[
            figure("page", "4KiB", "the pages of `planes` and `pages_at_once`"),
            figure("channels", "8", S3700),
            figure("ways", "2", S3700),
            figure("dies", "2", S3700),
            figure("planes", "2", L74A),
            figure("order", "PCWD", ASSUMED),
            figure("stripe", "all", ASSUMED),
            figure("pages_at_once", "2", "pages of 8 KiB (Micron L74A), in pages of 4 KiB"),
            figure("transfer", "200MB/s", L74A),
            figure("command", "0ns", "assumed; ONFI takes below 1 us"),
            figure("firmware", "44us", "65 us for a write at depth 1, without dispatch and link"),
            figure("dispatch", "13300ns", "75,000 random reads per second at depth 32"),
            figure("link", "550MB/s", SATA),
            figure("read", "57us+75us", "75 us at most (L74A); mean from 6,600 reads/s at depth 1"),
            figure("program", "1300us", L74A),
            figure("erase", "3800us", L74A),
            figure("hold", "true", ASSUMED),
            figure("suspend", "none", NOT_PUBLISHED),
            figure("suspend_cost", "0ns", "no suspension"),
            figure("suspend_progress", "0ns", "no suspension"),
            figure("suspend_step", "0ns", "no suspension"),
            figure("suspend_reads", "all", "no suspension"),
            figure("reads_first", "true", NOT_PUBLISHED),
            figure("copyback", "false", "assumed; data must pass the error correction"),
            figure("buffer", "4MiB", NOT_PUBLISHED),
            figure("acknowledge", "buffer", "a write takes 65 us at depth 1, a program 1,300 us"),
            figure("protected", "true", "enhanced power-loss data protection"),
            figure("trim", "10us", ASSUMED),
        ],
    },
    Preset {
        name: "sata-tlc",
        summary: "SATA drive for desktops with 3D TLC, 32 dies (Samsung 850 EVO, 500 GB)",
        source: "Samsung, SSD 850 EVO data sheet",
        figures: &[
            figure("page", "4KiB", "the pages of `planes` and `pages_at_once`"),
            figure("channels", "8", NOT_PUBLISHED),
            figure("ways", "1", EVO_NAND),
            figure("dies", "4", EVO_NAND),
            figure("planes", "2", NOT_PUBLISHED),
            figure("order", "PCWD", ASSUMED),
            figure("stripe", "all", ASSUMED),
            figure(
                "pages_at_once",
                "12",
                "three pages of 16 KiB by one command (assumed), in pages of 4 KiB",
            ),
            figure("transfer", "400MB/s", "assumed: Toggle 2.0; the die could do 1 Gbit/s a pin"),
            figure("command", "0ns", "assumed; it takes below 1 us"),
            figure("firmware", "7400ns", "40,000 writes/s at depth 1, without dispatch and link"),
            figure("dispatch", "10200ns", "98,000 random reads per second at depth 32"),
            figure("link", "550MB/s", SATA),
            figure(
                "read",
                "55us+65us+75us",
                "mean from 10,000 reads/s at depth 1, with error correction; steps assumed",
            ),
            figure("program", "700us", EVO_DIE),
            figure("erase", "4ms", NOT_PUBLISHED),
            figure("hold", "true", ASSUMED),
            figure("suspend", "none", NOT_PUBLISHED),
            figure("suspend_cost", "0ns", "no suspension"),
            figure("suspend_progress", "0ns", "no suspension"),
            figure("suspend_step", "0ns", "no suspension"),
            figure("suspend_reads", "all", "no suspension"),
            figure("reads_first", "true", NOT_PUBLISHED),
            figure("copyback", "false", "assumed; data must pass the error correction"),
            figure("buffer", "16MiB", "assumed: a part of its 512 MiB of DRAM"),
            figure("acknowledge", "buffer", "a write takes 25 us at depth 1, a program 700 us"),
            figure("protected", "false", "no capacitors"),
            figure("trim", "10us", ASSUMED),
        ],
    },
];
