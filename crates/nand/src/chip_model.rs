//! Chips by name. Latencies are those of the named source, including the transfer over the channel.
//! Figures that a source does not give are filled in here and marked with `assumed`.

use crate::error::{Error, Result};
use crate::geometry::{Geometry, Pairing, ProgramOrder};
use crate::op::Op;
use crate::timing::Timing;
use spec::{Kind, Param, Params, Spec, Value};

/// A chip without its number of blocks, as `--chip` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipModel {
    /// The preset that it is based on.
    pub name: &'static str,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Bytes of a spare area.
    pub spare_bytes: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Program order.
    pub order: ProgramOrder,
    /// Which pages of a block share cells.
    pub pairing: Pairing,
    /// Dies: what is on different ones may end in another order than it was begun.
    pub dies: u32,
    /// Latencies.
    pub timing: Timing,
    /// Program/erase cycles for which a block is rated.
    pub rated_cycles: u32,
}

impl ChipModel {
    /// The chip that a spec such as `mlc-k9gag:page=8KiB` names.
    ///
    /// # Errors
    /// An unknown chip or key, or an impossible value.
    pub fn from_spec(spec: &Spec) -> Result<ChipModel> {
        let known: Vec<&str> = PRESETS.iter().map(|preset| preset.model.name).collect();
        let preset = PRESETS.iter().find(|preset| preset.model.name == spec.name);
        let preset = preset.ok_or_else(|| spec::unknown("chip", &spec.name, &known))?;
        let what = format!("chip {}", spec.name);
        let params = spec::resolve(&what, &spec.pairs, PARAMS)?;
        preset.model.with(&params)
    }

    /// The spec that names this chip with all its figures. It does not depend on the preset's.
    pub fn full_spec(&self) -> Spec {
        let timing = &self.timing;
        let values = [
            Value::Size(self.page_bytes.into()),
            Value::Size(self.spare_bytes.into()),
            Value::Count(self.pages_per_block.into()),
            Value::Choice(self.order.name()),
            Value::Count(self.pairing.bits.into()),
            Value::Count(self.pairing.distance.into()),
            Value::Count(self.dies.into()),
            Value::TimeNs(timing.read_ns),
            Value::TimeNs(timing.spare_read_ns),
            Value::TimeNs(timing.program_ns),
            Value::TimeNs(timing.erase_ns),
            Value::TimeNs(timing.transfer_ns),
            Value::Count(self.rated_cycles.into()),
        ];
        let pairs = PARAMS.iter().zip(values);
        let pairs = pairs.map(|(param, value)| (param.name.to_owned(), value.to_string()));
        Spec { name: self.name.to_owned(), pairs: pairs.collect() }
    }

    /// The spec that names this chip with the figures that are not those of its preset.
    pub fn spec(&self) -> Spec {
        let preset = PRESETS.iter().find(|preset| preset.model.name == self.name);
        let of_preset = preset.map_or_else(Vec::new, |preset| preset.model.full_spec().pairs);
        let mut spec = self.full_spec();
        spec.pairs.retain(|pair| !of_preset.contains(pair));
        spec
    }

    /// The geometry of a chip with this number of blocks.
    ///
    /// # Errors
    /// A geometry that cannot exist.
    pub fn geometry(&self, blocks: u32) -> Result<Geometry> {
        Geometry::new(self.page_bytes, self.spare_bytes, self.pages_per_block, blocks, self.order)?
            .with_pairing(self.pairing)?
            .with_dies(self.dies)
    }

    fn with(&self, params: &Params) -> Result<ChipModel> {
        let number = |name: &str, default: u32| match params.get(name) {
            Some(Value::Size(n) | Value::Count(n)) => u32::try_from(*n).map_err(|_| {
                Error::ImpossibleChip(format!("{name} of {n} is more than any chip has"))
            }),
            _ => Ok(default),
        };
        let time = |name: &str, default: u64| params.opt_time_ns(name).unwrap_or(default);
        let page_bytes = number("page", self.page_bytes)?;
        // A spare area grows with its page: 64 B for 2 KiB.
        let spare_bytes = match page_bytes == self.page_bytes {
            true => self.spare_bytes,
            false => (page_bytes / 32).max(crate::spare::HEADER_BYTES as u32),
        };
        let spare_bytes = number("spare", spare_bytes)?;
        let transfer_ns = time("transfer", self.timing.transfer_ns);
        let order = params.opt_choice("program_order").and_then(|name| name.parse().ok());
        let chip = ChipModel {
            name: self.name,
            page_bytes,
            spare_bytes,
            pages_per_block: number("pages_per_block", self.pages_per_block)?,
            order: order.unwrap_or(self.order),
            pairing: Pairing {
                bits: number("cell_bits", self.pairing.bits)?,
                distance: number("pair_distance", self.pairing.distance)?,
            },
            dies: number("dies", self.dies)?,
            timing: Timing {
                read_ns: time("read", self.timing.read_ns),
                spare_read_ns: time("spare_read", self.timing.spare_read_ns),
                program_ns: time("program", self.timing.program_ns),
                erase_ns: time("erase", self.timing.erase_ns),
                transfer_ns,
                spare_transfer_ns: share_of_spare(transfer_ns, page_bytes, spare_bytes),
            },
            rated_cycles: number("cycles", self.rated_cycles)?,
        };
        chip.geometry(1)?;
        chip.check_transfer()?;
        Ok(chip)
    }

    /// A transfer is a part of each latency that contains it.
    fn check_transfer(&self) -> Result<()> {
        match Op::ALL.into_iter().find(|&op| self.timing.transfer_ns(op) > self.timing.of(op)) {
            Some(op) => Err(Error::ImpossibleChip(format!(
                "a transfer of {} ns is longer than the {} ns of a {}",
                self.timing.transfer_ns(op),
                self.timing.of(op),
                op.name()
            ))),
            None => Ok(()),
        }
    }
}

/// The time in which the spare area of a page crosses the channel, if the whole page takes
/// `transfer_ns`.
fn share_of_spare(transfer_ns: u64, page_bytes: u32, spare_bytes: u32) -> u64 {
    let (page, spare) = (u128::from(page_bytes), u128::from(spare_bytes));
    (u128::from(transfer_ns) * spare / (page + spare).max(1)) as u64
}

/// The keys of a chip spec; each changes one figure of the preset.
pub static PARAMS: &[Param] = &[
    Param::key("page", Kind::Size, "", "page size; the spare area grows with it unless given"),
    Param::key("spare", Kind::Size, "", "spare area of a page"),
    Param::key("pages_per_block", Kind::Count, "pages", "pages per block"),
    Param::key(
        "program_order",
        Kind::Choice(ProgramOrder::NAMES),
        "",
        "order of programs in a block",
    ),
    Param::key("cell_bits", Kind::Count, "bits", "bits of a cell: pages that share cells"),
    Param::key("pair_distance", Kind::Count, "pages", "pages between two pages that share cells"),
    Param::key("dies", Kind::Count, "dies", "dies whose operations end in any order"),
    Param::key("read", Kind::Time, "", "latency of a page read"),
    Param::key("spare_read", Kind::Time, "", "latency of a spare-area read"),
    Param::key("program", Kind::Time, "", "latency of a page program"),
    Param::key("erase", Kind::Time, "", "latency of a block erase"),
    Param::key("transfer", Kind::Time, "", "transfer over the channel, part of read and program"),
    Param::key("cycles", Kind::Count, "erases", "rated program/erase cycles of a block"),
];

/// A named chip and the source of its figures.
#[derive(Debug)]
pub struct Preset {
    /// The chip.
    pub model: ChipModel,
    /// One line about the chip.
    pub summary: &'static str,
    /// The source of the figures, and those that are assumed.
    pub source: &'static str,
}

const KIB: u32 = 1024;

const fn us(tenths: u64) -> u64 {
    tenths * 100
}

/// An SLC or MLC chip of a paper; times are in tenths of a microsecond.
const fn chip(
    name: &'static str,
    page_bytes: u32,
    pages_per_block: u32,
    order: ProgramOrder,
    [read, spare_read, program, erase]: [u64; 4],
    rated_cycles: u32,
) -> ChipModel {
    let timing = Timing {
        read_ns: us(read),
        spare_read_ns: us(spare_read),
        program_ns: us(program),
        erase_ns: us(erase),
        ..Timing::ZERO
    };
    ChipModel {
        name,
        page_bytes,
        spare_bytes: page_bytes / 32,
        pages_per_block,
        order,
        pairing: Pairing::NONE,
        dies: 1,
        timing,
        rated_cycles,
    }
}

const fn paired(model: ChipModel, bits: u32, distance: u32) -> ChipModel {
    ChipModel { pairing: Pairing { bits, distance }, ..model }
}

/// All chips that `--chip` knows.
pub static PRESETS: &[Preset] = &[
    Preset {
        model: chip(
            "slc-fast2010",
            2 * KIB,
            64,
            ProgramOrder::Ascending,
            [250, 250, 2000, 15000],
            100_000,
        ),
        summary: "large-block SLC of the FASTer paper",
        source: "FSTR §V.A; spare read as a page read and 100,000 cycles assumed",
    },
    Preset {
        model: chip(
            "slc-last",
            2 * KIB,
            64,
            ProgramOrder::Ascending,
            [250, 250, 2000, 20000],
            100_000,
        ),
        summary: "large-block SLC of the LAST paper (Samsung K9WBG08U1M)",
        source: "LAST §4.1; spare read as a page read and 100,000 cycles assumed",
    },
    Preset {
        model: chip(
            "slc-k9wag",
            2 * KIB,
            64,
            ProgramOrder::Ascending,
            [728, 728, 2528, 15000],
            100_000,
        ),
        summary: "large-block SLC of the adaptive-partitioning paper (Samsung K9WAG08U1M)",
        source: "AP Table I; spare read as a page read and 100,000 cycles assumed",
    },
    Preset {
        model: paired(
            chip(
                "mlc-k9gag",
                4 * KIB,
                128,
                ProgramOrder::Sequential,
                [1656, 1656, 9056, 15000],
                5_000,
            ),
            2,
            4,
        ),
        summary: "MLC of the adaptive-partitioning and sector-log papers (Samsung K9GAG08UXM)",
        source: "AP Table I (SL Table 1 has 905.8 µs per program); \
                 spare read, 5,000 cycles and paired pages four pages apart assumed",
    },
    Preset {
        model: chip(
            "slc-lsb",
            2 * KIB,
            64,
            ProgramOrder::Sequential,
            [880, 280, 2630, 20000],
            100_000,
        ),
        summary: "large-block SLC of the large-superblock paper (Samsung K9K4G08U0M)",
        source: "LSB Table I; 100,000 cycles assumed",
    },
    Preset {
        model: ChipModel {
            name: "tlc-3d",
            page_bytes: 16 * KIB,
            spare_bytes: 2 * KIB,
            pages_per_block: 768,
            order: ProgramOrder::Sequential,
            pairing: Pairing { bits: 3, distance: 1 },
            dies: 1,
            timing: Timing {
                read_ns: us(400),
                spare_read_ns: us(400),
                program_ns: us(3560),
                erase_ns: us(35000),
                ..Timing::ZERO
            },
            rated_cycles: 3_000,
        },
        summary: "3D TLC of the 176-layer generation",
        source: "after 512 Gb 3b/cell 7th-generation V-NAND, ISSCC 2021 30.3: read 40 µs, \
                 184 MB/s over four 16 KiB planes = 356 µs per page; spare 2 KiB, \
                 768 pages per block, erase 3.5 ms, 3,000 cycles and the three pages of a cell \
                 next to each other assumed; \
                 not checked against the paper",
    },
    Preset {
        model: ChipModel {
            name: "qlc-3d",
            page_bytes: 16 * KIB,
            spare_bytes: 2 * KIB,
            pages_per_block: 2304,
            order: ProgramOrder::Sequential,
            pairing: Pairing { bits: 4, distance: 1 },
            dies: 1,
            timing: Timing {
                read_ns: us(850),
                spare_read_ns: us(850),
                program_ns: us(16380),
                erase_ns: us(100000),
                ..Timing::ZERO
            },
            rated_cycles: 1_500,
        },
        summary: "3D QLC of the 144-layer generation",
        source: "after 1 Tb 4b/cell 144-tier floating-gate NAND, ISSCC 2021 30.1: read 85 µs, \
                 40 MB/s over four 16 KiB planes = 1638 µs per page; spare 2 KiB, \
                 2304 pages per block, erase 10 ms, 1,500 cycles and the four pages of a cell \
                 next to each other assumed; \
                 not checked against the paper",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Result<ChipModel> {
        ChipModel::from_spec(&Spec::parse(text).unwrap())
    }

    #[test]
    fn every_preset_is_a_possible_chip() {
        for preset in PRESETS {
            let chip = named(preset.model.name).unwrap();
            assert_eq!(chip, preset.model);
            chip.geometry(100).unwrap();
            assert!(!preset.source.is_empty());
        }
    }

    #[test]
    fn keys_change_what_they_name() {
        let chip = named("mlc-k9gag:page=8KiB,program_order=ascending,erase=2ms").unwrap();
        assert_eq!((chip.page_bytes, chip.spare_bytes), (8192, 256));
        assert_eq!(chip.order, ProgramOrder::Ascending);
        assert_eq!(chip.timing.erase_ns, 2_000_000);
        assert_eq!(chip.timing.program_ns, 905_600);
    }

    #[test]
    fn a_chip_is_named_by_what_its_preset_does_not_say() {
        for text in ["slc-lsb", "mlc-k9gag:page=8KiB,spare=256,erase=2ms", "slc-lsb:cell_bits=2"] {
            let chip = named(text).unwrap();
            assert_eq!(named(&chip.spec().to_string()), Ok(chip.clone()));
            assert_eq!(named(&chip.full_spec().to_string()), Ok(chip.clone()));
            assert_eq!(chip.spec().to_string(), text);
        }
    }

    #[test]
    fn a_transfer_splits_latencies_and_changes_none() {
        let (plain, split) = (named("slc-lsb").unwrap(), named("slc-lsb:transfer=63us").unwrap());
        for op in Op::ALL {
            assert_eq!(plain.timing.transfer_ns(op), 0);
            assert_eq!(plain.timing.of(op), split.timing.of(op));
        }
        let array = Op::ALL.map(|op| split.timing.array_ns(op));
        assert_eq!(array, [25_000, 28_000 - 63_000 * 64 / 2112, 200_000, 2_000_000]);
    }

    #[test]
    fn nonsense_is_refused_with_a_hint() {
        assert!(named("slc-fast").unwrap_err().to_string().contains("slc-fast2010"));
        assert!(named("slc-lsb:pages=7").unwrap_err().to_string().contains("pages_per_block"));
        assert!(named("slc-lsb:page=1000").unwrap_err().to_string().contains("512"));
        assert!(
            named("slc-lsb:page=8TiB").unwrap_err().to_string().contains("more than any chip has")
        );
        let long = named("slc-lsb:transfer=89us").unwrap_err().to_string();
        assert_eq!(
            long,
            "impossible chip: a transfer of 89000 ns is longer than the 88000 ns of a read"
        );
    }
}
