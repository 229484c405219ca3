//! Tiny devices, by name or [drawn]. They are small enough to try a power cut at every operation.
//! Some have odd sizes, which catch code that only works with powers of two.
//!
//! ```text
//! tiny                                   the device of this name
//! tiny:cell_bits=3,pair_distance=2       the same with other figures; so drawn devices are written
//! ```

pub mod drawn;

use ftl::Result;
use nand::{BlockId, ChipModel, MediaModel, Nand, Pairing, ProgramOrder, Timing, WearChoice};
use spec::{Kind, Param, Spec, Value};

/// How the blocks of a tiny device fail. Without blocks in reserve, nothing fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TinyMedia {
    /// Blocks in reserve.
    pub reserve: u32,
    /// Blocks of a hundred that come bad from the factory.
    pub factory_bad: u32,
    /// Erases that a block can take on average; 0 if it never wears out.
    pub endurance: u32,
    /// The number of the program after each power-on that fails; 0 if none does.
    pub failing_program: u32,
    /// The same for erases.
    pub failing_erase: u32,
    /// From the program with this number on after each power-on, the first page of the host cannot
    /// be read; 0 if all can.
    pub lost_page: u32,
    /// Erases by which blocks must differ that change places, to level the wear; 0 if none do.
    pub levelling: u32,
}

impl TinyMedia {
    /// How often operations fail, if they do.
    pub fn model(&self) -> Option<MediaModel> {
        let TinyMedia { reserve, factory_bad, endurance, .. } = *self;
        let endurance = if endurance == 0 { ENDLESS } else { endurance };
        let text = format!("real:factory_bad={factory_bad}%,endurance={endurance}");
        let model = || MediaModel::parse(&text, ENDLESS).expect("it is no more than 100 %");
        if reserve == 0 { None } else { model() }
    }

    /// How wear is levelled: so that data move often, they are cold after a single round.
    pub fn wear(&self) -> WearChoice {
        let text = match self.levelling {
            0 => "none".to_owned(),
            threshold => format!("static:threshold={threshold},rounds=1"),
        };
        WearChoice::parse(&text).expect("it is in the list of policies")
    }

    /// Commands the failures that come after a power-on.
    pub fn command(&self, nand: &mut Nand) {
        let blocks = (0..nand.geometry().blocks()).map(BlockId);
        let bad = blocks.filter(|&block| nand.is_bad(block)).count() as u64;
        let Some(media) = nand.media_mut() else { return };
        if let Some(before) = self.lost_page.checked_sub(1) {
            media.lose_page_after(before.into());
        }
        let left = match media.is_raw() {
            true => u64::from(self.reserve).saturating_sub(bad),
            false => media.least_in_reserve(),
        };
        if left <= KEPT {
            return;
        }
        if let Some(before) = self.failing_program.checked_sub(1) {
            media.fail_program_after(before.into());
        }
        if let Some(before) = self.failing_erase.checked_sub(1) {
            media.fail_erase_after(before.into());
        }
    }
}

/// Nothing is commanded to fail when a die has no more blocks than these left in reserve: a check
/// may turn the power on more often than a device has blocks.
const KEPT: u64 = 2;

/// More erases than any check makes.
const ENDLESS: u32 = 100_000;

/// The sizes of a tiny device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceModel {
    /// The name in the list of the device of which this is one, perhaps with other figures.
    pub name: &'static str,
    /// What is special about it, in one line.
    pub summary: &'static str,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Bytes of a spare area.
    pub spare_bytes: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Exported capacity in blocks.
    pub logical_blocks: u32,
    /// Extra blocks. A scheme that needs more gets its minimum.
    pub extra_blocks: u32,
    /// Program order.
    pub order: ProgramOrder,
    /// Which pages share cells.
    pub pairing: Pairing,
    /// Dies, whose operations end in any order.
    pub dies: u32,
    /// How its blocks fail.
    pub media: TinyMedia,
    /// One in this number of cuts during a workload is tried.
    pub one_cut_in: u32,
    /// The only workload for which the device is meant, if it is too large for the others.
    pub only_workload: Option<&'static str>,
}

impl DeviceModel {
    /// The device model called `name`.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn named(name: &str) -> spec::Result<&'static DeviceModel> {
        let known: Vec<&str> = DEVICE_MODELS.iter().map(|model| model.name).collect();
        let found = DEVICE_MODELS.iter().find(|model| model.name == name);
        found.ok_or_else(|| spec::unknown("geometry", name, &known))
    }

    /// The device that a spec such as `tiny:cell_bits=2` names.
    ///
    /// # Errors
    /// An unknown name or key, or a chip that cannot exist.
    pub fn from_spec(text: &str) -> Result<DeviceModel> {
        let spec = Spec::parse(text)?;
        let base = DeviceModel::named(&spec.name)?;
        let what = format!("geometry {}", spec.name);
        let params = spec::resolve(&what, &spec.pairs, PARAMS)?;
        if spec.pairs.is_empty() {
            return Ok(*base);
        }
        let number = |name: &str, default: u32| match params.get(name) {
            Some(&(Value::Size(n) | Value::Count(n))) => u32::try_from(n).map_err(|_| {
                nand::Error::ImpossibleChip(format!("{name} of {n} is more than any chip has"))
            }),
            _ => Ok(default),
        };
        let order = params.opt_choice("program_order").and_then(|name| name.parse().ok());
        let model = DeviceModel {
            page_bytes: number("page", base.page_bytes)?,
            spare_bytes: number("spare", base.spare_bytes)?,
            pages_per_block: number("pages_per_block", base.pages_per_block)?,
            order: order.unwrap_or(base.order),
            pairing: Pairing {
                bits: number("cell_bits", base.pairing.bits)?,
                distance: number("pair_distance", base.pairing.distance)?,
            },
            dies: number("dies", base.dies)?,
            logical_blocks: number("logical", base.logical_blocks)?,
            extra_blocks: number("extra", base.extra_blocks)?,
            media: TinyMedia {
                reserve: number("reserve", base.media.reserve)?,
                factory_bad: number("factory_bad", base.media.factory_bad)?.min(100),
                endurance: number("endurance", base.media.endurance)?,
                failing_program: number("failing_program", base.media.failing_program)?,
                failing_erase: number("failing_erase", base.media.failing_erase)?,
                lost_page: number("lost_page", base.media.lost_page)?,
                levelling: number("levelling", base.media.levelling)?,
            },
            ..*base
        };
        model.chip().geometry(model.logical_blocks)?;
        Ok(model)
    }

    /// The spec that names this device.
    pub fn spec(&self) -> String {
        let of_base = DeviceModel::named(self.name).map_or([0; 16], DeviceModel::figures);
        let mut spec = Spec::plain(self.name);
        let figures = PARAMS.iter().zip(self.figures()).zip(of_base);
        spec.pairs.extend(figures.filter(|((_, own), of_base)| own != of_base).map(
            |((param, figure), _)| match param.kind {
                Kind::Choice(_) => (param.name.to_owned(), self.order.name().to_owned()),
                _ => (param.name.to_owned(), figure.to_string()),
            },
        ));
        spec.to_string()
    }

    /// The figures that [`PARAMS`] name, in their order.
    fn figures(&self) -> [u32; 16] {
        [
            self.page_bytes,
            self.spare_bytes,
            self.pages_per_block,
            self.order as u32,
            self.pairing.bits,
            self.pairing.distance,
            self.dies,
            self.logical_blocks,
            self.extra_blocks,
            self.media.reserve,
            self.media.factory_bad,
            self.media.endurance,
            self.media.failing_program,
            self.media.failing_erase,
            self.media.lost_page,
            self.media.levelling,
        ]
    }

    /// Whether a campaign tries this workload on the device.
    pub fn suits(&self, workload: &str) -> bool {
        self.only_workload.is_none_or(|only| only == workload)
    }

    /// Pages of the exported capacity.
    pub fn logical_pages(&self) -> u32 {
        self.logical_blocks * self.pages_per_block
    }

    /// The chip inside the device. No check looks at time, so all latencies are 1 ns.
    pub fn chip(&self) -> ChipModel {
        let timing =
            Timing { read_ns: 1, spare_read_ns: 1, program_ns: 1, erase_ns: 1, ..Timing::ZERO };
        ChipModel {
            name: self.name,
            page_bytes: self.page_bytes,
            spare_bytes: self.spare_bytes,
            pages_per_block: self.pages_per_block,
            order: self.order,
            pairing: self.pairing,
            dies: self.dies,
            timing,
            rated_cycles: 100_000,
        }
    }
}

/// The keys of a spec; each changes one figure of the named device.
pub static PARAMS: &[Param] = &[
    Param::key("page", Kind::Size, "", "page size"),
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
    Param::key("logical", Kind::Count, "blocks", "exported capacity"),
    Param::key("extra", Kind::Count, "blocks", "extra blocks; at least those that the FTL needs"),
    Param::key("reserve", Kind::Count, "blocks", "blocks in reserve: with any, blocks can fail"),
    Param::key("factory_bad", Kind::Count, "in 100 blocks", "blocks that come bad"),
    Param::key("endurance", Kind::Count, "erases", "erases that a block can take; 0: any number"),
    Param::key("failing_program", Kind::Count, "", "the n-th program after a power-on fails"),
    Param::key("failing_erase", Kind::Count, "", "the n-th erase after a power-on fails"),
    Param::key("lost_page", Kind::Count, "", "the n-th program after a power-on loses its page"),
    Param::key("levelling", Kind::Count, "erases", "difference at which blocks change places"),
];

const fn model(
    name: &'static str,
    summary: &'static str,
    page_bytes: u32,
    pages_per_block: u32,
    [logical_blocks, extra_blocks]: [u32; 2],
    order: ProgramOrder,
) -> DeviceModel {
    DeviceModel {
        name,
        summary,
        page_bytes,
        spare_bytes: 64,
        pages_per_block,
        logical_blocks,
        extra_blocks,
        order,
        pairing: Pairing::NONE,
        dies: 1,
        media: TinyMedia {
            reserve: 0,
            factory_bad: 0,
            endurance: 0,
            failing_program: 0,
            failing_erase: 0,
            lost_page: 0,
            levelling: 0,
        },
        one_cut_in: 1,
        only_workload: None,
    }
}

impl DeviceModel {
    const fn with_pairing(self, bits: u32, distance: u32) -> DeviceModel {
        DeviceModel { pairing: Pairing { bits, distance }, ..self }
    }

    const fn with_dies(self, dies: u32) -> DeviceModel {
        DeviceModel { dies, ..self }
    }

    const fn for_workload(self, only: &'static str, one_cut_in: u32) -> DeviceModel {
        DeviceModel { only_workload: Some(only), one_cut_in, ..self }
    }
}

use ProgramOrder::{Any, Ascending, Sequential};

/// All device models that `--geometry` accepts.
pub static DEVICE_MODELS: &[DeviceModel] = &[
    model("least", "two pages per block, four logical pages", 1024, 2, [2, 2], Sequential),
    model("tiny", "four pages per block, programmed in sequence", 1024, 4, [6, 3], Sequential),
    model("tiny-ascending", "the same, but pages may be skipped", 1024, 4, [6, 3], Ascending),
    model("tiny-any", "the same, but pages in any order", 1024, 4, [6, 3], Any),
    model("tiny-mlc", "as tiny, with two bits per cell", 1024, 4, [6, 3], Sequential)
        .with_pairing(2, 2),
    model("tiny-dies", "as tiny, on two dies", 1024, 4, [6, 3], Sequential).with_dies(2),
    model("tiny-mlc-dies", "as tiny-mlc, on three dies", 1024, 4, [6, 4], Sequential)
        .with_pairing(2, 1)
        .with_dies(3),
    model("sector", "a page of one sector", 512, 4, [6, 3], Ascending),
    model("odd", "six pages of three sectors per block", 1536, 6, [5, 3], Sequential),
    model("odd-any", "three pages per block, in any order", 2048, 3, [7, 4], Any),
    model("small", "sixteen blocks of sixteen pages", 2048, 16, [12, 4], Sequential),
    model("small-ascending", "the same, but pages may be skipped", 2048, 16, [12, 4], Ascending),
    model(
        "small-tlc",
        "eighteen pages per block, three bits per cell",
        2048,
        18,
        [6, 4],
        Sequential,
    )
    .with_pairing(3, 2),
    model("windows", "checkpoints of trims have three pages", 512, 24, [350, 6], Sequential)
        .for_workload("windows", 4),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_model_is_possible_and_found_by_its_name() {
        for model in DEVICE_MODELS {
            model.chip().geometry(model.logical_blocks + model.extra_blocks).unwrap();
            assert!(std::ptr::eq(DeviceModel::named(model.name).unwrap(), model));
        }
    }

    #[test]
    fn a_spec_changes_figures_of_a_device() {
        let spec = "tiny:spare=72,program_order=any,cell_bits=2,pair_distance=2,extra=2";
        let model = DeviceModel::from_spec(spec).unwrap();
        assert_eq!((model.spare_bytes, model.extra_blocks, model.logical_blocks), (72, 2, 6));
        assert_eq!(model.spec(), spec);
        assert_eq!(DeviceModel::from_spec("odd").unwrap().spec(), "odd");
        let why = |spec| DeviceModel::from_spec(spec).unwrap_err().to_string();
        assert!(why("tiny:cell_bits=5").ends_with("cells have 1 to 4 bits"));
        assert!(why("tiny:cell_bit=5").contains("cell_bits"));
        assert!(why("tiny:logical=0").ends_with("it has no blocks"));
    }

    #[test]
    fn an_unknown_device_model_is_refused_with_a_suggestion() {
        let message = DeviceModel::named("tny").unwrap_err().to_string();
        assert!(message.starts_with("unknown geometry `tny`; did you mean `tiny`?"), "{message}");
    }

    #[test]
    fn a_device_for_one_workload_suits_no_other() {
        let [tiny, windows] = ["tiny", "windows"].map(|of| {
            let suits = |model: &&DeviceModel| model.only_workload.is_some() == (of == "windows");
            DEVICE_MODELS.iter().find(suits).unwrap()
        });
        assert!(tiny.suits("hot") && tiny.suits("windows"));
        assert!(windows.suits("windows") && !windows.suits("hot"));
        let model = DeviceModel::named("tiny").unwrap();
        assert_eq!(model.logical_pages(), model.logical_blocks * model.pages_per_block);
    }

    #[test]
    fn wear_is_levelled_at_the_difference_that_a_device_has() {
        let wear = |levelling| TinyMedia { levelling, ..TinyMedia::default() }.wear().to_string();
        assert_eq!([wear(0), wear(3)], ["none", "static:threshold=3,rounds=1"]);
    }
}
