//! Tiny devices by name. They are small enough to try a power cut at every operation. Some have
//! odd sizes, which catch code that only works with powers of two.

use nand::{ChipModel, Pairing, ProgramOrder, Timing};

/// The sizes of a tiny device.
#[derive(Debug)]
pub struct DeviceModel {
    /// The name that users write.
    pub name: &'static str,
    /// What is special about it, in one line.
    pub summary: &'static str,
    /// Bytes of a page.
    pub page_bytes: u32,
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
            spare_bytes: 64,
            pages_per_block: self.pages_per_block,
            order: self.order,
            pairing: self.pairing,
            timing,
            rated_cycles: 100_000,
        }
    }
}

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
        pages_per_block,
        logical_blocks,
        extra_blocks,
        order,
        pairing: Pairing::NONE,
        one_cut_in: 1,
        only_workload: None,
    }
}

impl DeviceModel {
    const fn with_pairing(self, bits: u32, distance: u32) -> DeviceModel {
        DeviceModel { pairing: Pairing { bits, distance }, ..self }
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
    fn an_unknown_device_model_is_refused_with_a_suggestion() {
        let message = DeviceModel::named("tny").unwrap_err().to_string();
        assert!(message.starts_with("unknown geometry `tny`; did you mean `tiny`?"), "{message}");
    }
}
