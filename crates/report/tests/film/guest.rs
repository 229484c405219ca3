//! A guest that moves through the chip block by block, and keeps nothing.

use std::sync::Arc;

use ftl::Choice;
use ftl::contract::guest::{
    Answer, Declaration, Guest, GuestChip, GuestDevice, GuestSource, Promise, Status,
};
use nand::Cause;

#[derive(Debug)]
struct Wanderer(Declaration);

/// The choice of this guest.
pub fn wanderer() -> Choice {
    let declaration = Declaration {
        name: "wanderer".to_owned(),
        release: String::new(),
        promise: Promise::Flush,
        cuts: 0,
        host_page_bytes: 0,
        spare_bytes: 0,
        trims: true,
        handles_failures: false,
    };
    let scheme = &ftl::scheme::guest::GUEST;
    let params = spec::resolve("guest", &[("lib".to_owned(), "none".to_owned())], scheme.params);
    let guest = Some(Arc::new(Wanderer(declaration)) as Arc<dyn GuestSource>);
    Choice { scheme, params: params.unwrap(), given: Vec::new(), guest }
}

impl GuestSource for Wanderer {
    fn declaration(&self) -> &Declaration {
        &self.0
    }

    fn mount(&self, _: &mut dyn GuestChip, _: &GuestDevice) -> Result<Box<dyn Guest>, Answer> {
        Ok(Box::new(Wandering { next: 0 }))
    }
}

struct Wandering {
    /// The page that is programmed next.
    next: u32,
}

impl Wandering {
    /// Programs a page. Before a block that holds something is opened, it is erased.
    fn program(&mut self, chip: &mut dyn GuestChip, data: Option<&[u8]>, cause: Option<Cause>) {
        self.make_room(chip);
        assert_eq!(chip.program(self.next, data, None, cause), Status::Ok);
        self.next = (self.next + 1) % pages(chip);
    }

    fn make_room(&self, chip: &mut dyn GuestChip) {
        let per_block = chip.shape().pages_per_block;
        if self.next.is_multiple_of(per_block) {
            assert_eq!(chip.erase(self.next / per_block, Some(Cause::Gc)), Status::Ok);
        }
    }
}

fn pages(chip: &mut dyn GuestChip) -> u32 {
    chip.shape().blocks * chip.shape().pages_per_block
}

impl Guest for Wandering {
    fn read(&mut self, chip: &mut dyn GuestChip, first: u32, _: u32, data: &mut [u8]) -> Answer {
        let mut spare = vec![0; chip.shape().spare_bytes as usize];
        chip.read(first, 0, &mut [], Some(&mut spare), Some(Cause::Map));
        data.fill(0);
        Ok(Status::Ok)
    }

    fn write(&mut self, chip: &mut dyn GuestChip, first: u32, _: u32, data: &[u8]) -> Answer {
        let page_bytes = chip.shape().page_bytes as usize;
        for page in data.chunks(page_bytes) {
            self.program(chip, Some(page), None);
        }
        // The page behind is one of the oldest; it goes on living.
        if first.is_multiple_of(3) {
            self.make_room(chip);
            let from = (self.next + pages(chip) - 2) % pages(chip);
            if chip.copy(from, self.next, None, Some(Cause::Merge)) == Status::Ok {
                self.next = (self.next + 1) % pages(chip);
            }
        }
        Ok(Status::Ok)
    }

    fn trim(&mut self, chip: &mut dyn GuestChip, _: u32, _: u32) -> Answer {
        self.program(chip, None, Some(Cause::Wear));
        Ok(Status::Ok)
    }

    fn flush(&mut self, chip: &mut dyn GuestChip) -> Answer {
        self.program(chip, None, Some(Cause::Meta));
        Ok(Status::Ok)
    }
}
