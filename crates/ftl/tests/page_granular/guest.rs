//! Guests that call the chip at random. A chip that only counts keeps less and counts runs of pages
//! at once, and a guest must not be able to tell.

use std::sync::{Arc, Mutex};

use ftl::contract::guest::{
    Answer, Declaration, Guest, GuestChip, GuestDevice, GuestFaultKind, GuestSource, Promise,
    Status,
};
use ftl::device::Size;
use ftl::{Choice, Device, Durability, Layers, Run};
use nand::{Cause, ChipModel, Data, Lpn, Mode, Tally};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use spec::Spec;

/// What a guest has seen: the call, its status, and what was read.
type Seen = Vec<(u32, Status, Vec<u8>)>;

/// Makes guests that draw their calls.
#[derive(Debug)]
struct Restless {
    declaration: Declaration,
    seed: u64,
    seen: Arc<Mutex<Seen>>,
}

impl GuestSource for Restless {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn mount(&self, chip: &mut dyn GuestChip, _: &GuestDevice) -> Result<Box<dyn Guest>, Answer> {
        let rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut guest = RestlessGuest { rng, seen: Arc::clone(&self.seen), next: 0 };
        guest.call_often(chip);
        Ok(Box::new(guest))
    }
}

struct RestlessGuest {
    rng: Xoshiro256PlusPlus,
    seen: Arc<Mutex<Seen>>,
    /// A page that can probably be programmed next.
    next: u32,
}

impl RestlessGuest {
    fn below(&mut self, count: u32) -> u32 {
        self.rng.next_u32() % count
    }

    fn bytes(&mut self, count: u32) -> Vec<u8> {
        // Few values, so that there are zeroes at the end.
        (0..count).map(|_| (self.rng.next_u32() % 3) as u8).collect()
    }

    fn call_often(&mut self, chip: &mut dyn GuestChip) {
        for _ in 0..self.below(40) {
            self.call(chip);
        }
    }

    /// Calls the chip, mostly in a way that it allows.
    fn call(&mut self, chip: &mut dyn GuestChip) {
        let shape = *chip.shape();
        let pages = shape.blocks * shape.pages_per_block;
        let anywhere = self.below(pages + 1);
        let to = if self.below(12) == 0 { anywhere } else { self.next };
        let cause = [None, Some(Cause::Gc), Some(Cause::Gc), Some(Cause::Merge)];
        let cause = cause[self.below(4) as usize];
        let spare = (self.below(3) > 0).then(|| self.bytes(shape.spare_bytes));
        let kind = self.below(20);
        let mut read = Vec::new();
        let status = match kind {
            0..8 => {
                let data = (self.below(3) == 0).then(|| self.bytes(shape.page_bytes));
                chip.program(to, data.as_deref(), spare.as_deref(), cause)
            }
            8..15 => chip.copy(anywhere, to, spare.as_deref(), cause),
            15..18 => {
                let offset = self.below(shape.page_bytes);
                read = vec![0xAA; self.below(shape.page_bytes - offset + 2) as usize];
                let mut spare = vec![0xAA; shape.spare_bytes as usize];
                let status = chip.read(anywhere, offset, &mut read, Some(&mut spare), cause);
                read.extend(spare);
                status
            }
            18 => chip.barrier(),
            _ => {
                let block = self.below(shape.blocks + 1);
                self.next = block * shape.pages_per_block;
                chip.erase(block, cause)
            }
        };
        self.next += u32::from(kind < 15 && status == Status::Ok && to == self.next);
        self.seen.lock().unwrap().push((kind, status, read));
    }
}

impl Guest for RestlessGuest {
    fn read(&mut self, chip: &mut dyn GuestChip, _: u32, _: u32, data: &mut [u8]) -> Answer {
        self.call_often(chip);
        data.fill(0);
        Ok(Status::Ok)
    }

    fn write(&mut self, chip: &mut dyn GuestChip, _: u32, _: u32, data: &[u8]) -> Answer {
        self.call_often(chip);
        // The host's data are in the host's buffer.
        let spare_bytes = chip.shape().spare_bytes;
        let (spare, page) = (self.bytes(spare_bytes), &data[..chip.shape().page_bytes as usize]);
        let status = chip.program(self.next, Some(page), Some(&spare), None);
        self.seen.lock().unwrap().push((100, status, Vec::new()));
        self.next += u32::from(status == Status::Ok);
        Ok(Status::Ok)
    }

    fn trim(&mut self, chip: &mut dyn GuestChip, _: u32, _: u32) -> Answer {
        self.call_often(chip);
        chip.fault(GuestFaultKind::Broken, "has had enough");
        Ok(Status::Ok)
    }

    fn flush(&mut self, chip: &mut dyn GuestChip) -> Answer {
        self.call_often(chip);
        Ok(Status::Ok)
    }
}

/// What a guest saw on a chip of this mode, the errors of its requests, and the chip's counts.
fn seen_on(mode: Mode, chip: &str, spare_bytes: u32, seed: u64) -> (Seen, Vec<String>, Tally) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let declaration = Declaration {
        name: "restless".to_owned(),
        release: String::new(),
        promise: Promise::Flush,
        cuts: 0,
        host_page_bytes: 0,
        spare_bytes,
        trims: true,
        handles_failures: false,
    };
    let source = Restless { declaration, seed, seen: Arc::clone(&seen) };
    let scheme = &ftl::scheme::guest::GUEST;
    let settings = [("lib".to_owned(), "none".to_owned())];
    let params = spec::resolve("guest", &settings, scheme.params).unwrap();
    let choice = Choice { scheme, params, given: Vec::new(), guest: Some(Arc::new(source)) };
    let chip = ChipModel::from_spec(&Spec::parse(chip).unwrap()).unwrap();
    let size = Size { logical_blocks: 4, extra_blocks: 3 };
    let durability = Durability::Paper;
    let device = Device::new(chip, choice, Layers::default(), size, durability, 1).unwrap();
    let mut nand = device.new_chip(mode);
    let mut errors = Vec::new();
    let mut ftl = device.mount(&mut nand);
    if let Err(error) = &ftl {
        errors.push(error.to_string());
    }
    let page_bytes = device.geometry().page_bytes();
    for request in 0..60 {
        let Ok(ftl) = &mut ftl else { break };
        let run = Run::whole(Lpn(request % 8), 1 + request % 3, page_bytes, Data::None);
        let done = match request % 7 {
            6 => ftl.flush(&mut nand, None),
            5 => ftl.trim(&mut nand, Lpn(0), 2),
            4 => ftl.read(&mut nand, &run, &mut nand::Sink::None),
            _ => ftl.write_run(&mut nand, &run),
        };
        errors.extend(done.err().map(|error| error.to_string()));
    }
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, errors, nand.tally().clone())
}

#[test]
fn a_guest_cannot_tell_whether_its_chip_keeps_pages() {
    let (mut done, mut refused) = (0, 0);
    for seed in 0..2000_u64 {
        let order = ["sequential", "ascending", "any"][(seed % 3) as usize];
        let (pages, spare) =
            ([2, 4, 7, 16][(seed / 3 % 4) as usize], [0, 1, 20][(seed % 5 % 3) as usize]);
        let chip = format!(
            "slc-fast2010:page=1KiB,spare=64,pages_per_block={pages},program_order={order}"
        );
        let counted = seen_on(Mode::Count, &chip, spare, seed);
        let kept = seen_on(Mode::Bytes, &chip, spare, seed);
        assert_eq!(counted.0.len(), kept.0.len(), "seed {seed}");
        for (at, (counted, kept)) in counted.0.iter().zip(&kept.0).enumerate() {
            assert_eq!(counted, kept, "seed {seed}, call {at}");
        }
        assert_eq!(counted.1, kept.1, "seed {seed}");
        assert_eq!(counted.2, kept.2, "seed {seed}");
        done += kept.0.iter().filter(|(_, status, _)| *status == Status::Ok).count();
        refused += kept.0.iter().filter(|(_, status, _)| *status == Status::Illegal).count();
    }
    assert!(done > 10_000 && refused > 1_000, "{done} done, {refused} refused");
}
