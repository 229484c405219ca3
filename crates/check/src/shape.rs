//! Tiny chips by name: small enough to cut everywhere, odd enough to break what only works at
//! powers of two.

use nand::{ChipModel, ProgramOrder, Timing};

/// A tiny device.
#[derive(Debug)]
pub struct Shape {
    /// The name that users write.
    pub name: &'static str,
    /// What it is there for, in one line.
    pub summary: &'static str,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages a block.
    pub pages_per_block: u32,
    /// Exported capacity in blocks.
    pub logical_blocks: u32,
    /// Extra blocks; a scheme that needs more gets what it needs.
    pub extra_blocks: u32,
    /// Program order.
    pub order: ProgramOrder,
}

impl Shape {
    /// The shape of that name.
    ///
    /// # Errors
    /// No such shape.
    pub fn named(name: &str) -> spec::Result<&'static Shape> {
        let known: Vec<&str> = SHAPES.iter().map(|shape| shape.name).collect();
        let found = SHAPES.iter().find(|shape| shape.name == name);
        found.ok_or_else(|| spec::unknown("geometry", name, &known))
    }

    /// Pages of the exported capacity.
    pub fn logical_pages(&self) -> u32 {
        self.logical_blocks * self.pages_per_block
    }

    /// The chip that it is made of. No check looks at time, so the latencies are all alike.
    pub fn chip(&self) -> ChipModel {
        let timing = Timing { read_ns: 1, spare_read_ns: 1, program_ns: 1, erase_ns: 1 };
        ChipModel {
            name: self.name,
            page_bytes: self.page_bytes,
            spare_bytes: 64,
            pages_per_block: self.pages_per_block,
            order: self.order,
            timing,
            rated_cycles: 100_000,
        }
    }
}

const fn shape(
    name: &'static str,
    summary: &'static str,
    page_bytes: u32,
    pages_per_block: u32,
    [logical_blocks, extra_blocks]: [u32; 2],
    order: ProgramOrder,
) -> Shape {
    Shape { name, summary, page_bytes, pages_per_block, logical_blocks, extra_blocks, order }
}

use ProgramOrder::{Any, Ascending, Sequential};

/// All shapes that `--geometry` knows.
pub static SHAPES: &[Shape] = &[
    shape("least", "two pages a block, four logical pages", 1024, 2, [2, 2], Sequential),
    shape("tiny", "four pages a block, programmed in sequence", 1024, 4, [6, 3], Sequential),
    shape("tiny-ascending", "the same, pages may be skipped", 1024, 4, [6, 3], Ascending),
    shape("tiny-any", "the same, pages in any order", 1024, 4, [6, 3], Any),
    shape("sector", "a page of one sector", 512, 4, [6, 3], Ascending),
    shape("odd", "six pages of three sectors a block", 1536, 6, [5, 3], Sequential),
    shape("odd-any", "three pages a block, in any order", 2048, 3, [7, 4], Any),
    shape("small", "sixteen blocks of sixteen pages", 2048, 16, [12, 4], Sequential),
    shape("small-ascending", "the same, pages may be skipped", 2048, 16, [12, 4], Ascending),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_a_possible_chip_under_its_own_name() {
        for shape in SHAPES {
            shape.chip().geometry(shape.logical_blocks + shape.extra_blocks).unwrap();
            assert!(std::ptr::eq(Shape::named(shape.name).unwrap(), shape));
        }
    }

    #[test]
    fn an_unknown_shape_is_refused_with_the_nearest() {
        let message = Shape::named("tny").unwrap_err().to_string();
        assert!(message.starts_with("unknown geometry `tny`; did you mean `tiny`?"), "{message}");
    }
}
