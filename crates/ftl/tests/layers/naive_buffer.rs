//! A naive model of the write buffer: a list of pages. It must pass the same calls to the FTL
//! below.

use nand::{SectorMask, Stamp};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{PAGES, Real};
use crate::recorder::{Call, SECTORS, WHOLE};

struct Page {
    lpn: u32,
    held: SectorMask,
    written: SectorMask,
    request_bytes: u64,
}

/// Pages, the least recently used first.
struct NaiveBuffer {
    pages: Vec<Page>,
    capacity: usize,
    reads: bool,
    runs: bool,
    calls: Vec<Call>,
    /// Newest write of each sector; 0 if it reads zero.
    newest: Vec<u32>,
}

impl NaiveBuffer {
    fn position(&self, lpn: u32) -> Option<usize> {
        self.pages.iter().position(|page| page.lpn == lpn)
    }

    fn is_waiting(&self, lpn: u32) -> bool {
        self.pages.iter().any(|page| page.lpn == lpn && page.written != 0)
    }

    fn is_whole(&self, lpn: u32) -> bool {
        self.pages.iter().any(|page| page.lpn == lpn && page.written == WHOLE)
    }

    /// Makes the page the most recent one, and returns it.
    fn recent(&mut self, lpn: u32) -> &mut Page {
        let page = match self.position(lpn) {
            Some(at) => self.pages.remove(at),
            None => Page { lpn, held: 0, written: 0, request_bytes: 0 },
        };
        self.pages.push(page);
        self.pages.last_mut().unwrap()
    }

    fn make_room(&mut self) {
        while self.pages.len() > self.capacity {
            let Page { lpn, written, .. } = self.pages[0];
            match written {
                0 => drop(self.pages.remove(0)),
                _ => self.send_down(lpn),
            }
        }
    }

    fn send_down(&mut self, lpn: u32) {
        let mut run = vec![lpn];
        if self.runs {
            // First downwards, then upwards. A partial page ends the run, unless it is alone.
            while run[0] % 4 > 0
                && (run.len() == 1 || self.is_whole(run[0]))
                && self.is_waiting(run[0] - 1)
            {
                run.insert(0, run[0] - 1);
            }
            loop {
                let last = *run.last().unwrap();
                let may = run.len() == 1 || self.is_whole(last);
                if !may || last % 4 == 3 || !self.is_waiting(last + 1) {
                    break;
                }
                run.push(last + 1);
            }
        }
        let first = run[0];
        let gone: Vec<Page> = run
            .into_iter()
            .map(|lpn| {
                let at = self.position(lpn).unwrap();
                self.pages.remove(at)
            })
            .collect();
        let masks: Vec<SectorMask> = gone.iter().map(|page| page.written).collect();
        let sectors: u32 = masks.iter().map(|mask| mask.count_ones()).sum();
        let own = if self.runs { 512 * u64::from(sectors) } else { 0 };
        let largest = gone.iter().map(|page| page.request_bytes).max().unwrap();
        self.calls.push(Call::Write { first, masks, request_bytes: largest.max(own) });
    }

    fn write(&mut self, lpn: u32, mask: SectorMask, request_bytes: u64, number: u32) {
        let page = self.recent(lpn);
        page.held |= mask;
        page.written |= mask;
        page.request_bytes = request_bytes;
        for sector in (0..SECTORS).filter(|sector| mask >> sector & 1 == 1) {
            self.newest[(lpn * SECTORS + sector) as usize] = number;
        }
        self.make_room();
    }

    fn read(&mut self, lpn: u32, wanted: SectorMask) {
        let held = self.position(lpn).map_or(0, |at| self.pages[at].held);
        if held & wanted != 0 {
            self.recent(lpn);
        }
        let missing = wanted & !held;
        if missing != 0 {
            self.calls.push(Call::Read { lpn, mask: missing });
            if self.reads {
                self.recent(lpn).held |= missing;
                self.make_room();
            }
        }
    }

    fn trim(&mut self, first: u32, pages: u32) {
        self.pages.retain(|page| page.lpn < first || page.lpn >= first + pages);
        self.newest[(first * SECTORS) as usize..((first + pages) * SECTORS) as usize].fill(0);
        self.calls.push(Call::Trim { first, pages });
    }

    fn flush(&mut self) {
        while let Some(page) = self.pages.iter().find(|page| page.written != 0) {
            self.send_down(page.lpn);
        }
        self.calls.push(Call::Flush);
    }

    fn flush_run(&mut self, first: u32, pages: u32) {
        for lpn in first..first + pages {
            if self.is_waiting(lpn) {
                self.send_down(lpn);
            }
        }
        self.calls.push(Call::Flush);
    }
}

struct Twins {
    real: Real,
    naive: NaiveBuffer,
    rng: Xoshiro256PlusPlus,
}

impl Twins {
    fn below(&mut self, bound: u32) -> u32 {
        self.rng.next_u32() % bound
    }

    fn mask(&mut self) -> SectorMask {
        match self.below(3) {
            0 => WHOLE,
            _ => u64::from(1 + self.below(15)),
        }
    }

    fn step(&mut self) {
        // Half of the steps go to an eighth of the space.
        let first = match self.below(2) {
            0 => self.below(PAGES / 8),
            _ => self.below(PAGES),
        };
        let pages = (1 + self.below(3)).min(PAGES - first);
        let (head, tail) = (self.mask(), self.mask());
        let tail = if pages == 1 { head } else { tail };
        let mask = |index| match index {
            0 => head,
            _ if index + 1 == pages => tail,
            _ => WHOLE,
        };
        match self.below(32) {
            0 => {
                self.real.trim(first, pages);
                self.naive.trim(first, pages);
            }
            1 => {
                self.real.flush();
                self.naive.flush();
            }
            2..10 => {
                let found = self.real.read_run(first, pages, head, tail);
                (0..pages).for_each(|index| self.naive.read(first + index, mask(index)));
                self.compare(first, &found, mask);
            }
            what => {
                let bytes = u64::from(1 + self.below(40)) * 512;
                self.real.write_as_part_of(bytes, first, pages, head, tail);
                let number = self.real.writes;
                for index in 0..pages {
                    self.naive.write(first + index, mask(index), bytes, number);
                }
                if what == 10 {
                    self.real.flush_run(first, pages);
                    self.naive.flush_run(first, pages);
                }
            }
        }
    }

    /// Checks that the wanted sectors are the newest, and that no others were returned.
    fn compare(&self, first: u32, found: &[Stamp], mask: impl Fn(u32) -> SectorMask) {
        for (at, stamp) in (0..).zip(found) {
            let (page, sector) = (at / SECTORS, at % SECTORS);
            let wanted = mask(page) >> sector & 1 == 1;
            let newest = self.naive.newest[(first * SECTORS + at) as usize];
            assert_eq!(stamp.write(), if wanted { newest } else { 0 }, "sector {sector}");
        }
    }
}

#[test]
fn the_buffer_passes_on_what_the_naive_model_passes_on() {
    for (capacity, settings) in [
        (1, ""),
        (5, ""),
        (12, ""),
        (6, ",evict=run"),
        (12, ",evict=run"),
        (1, ",reads=true"),
        (7, ",reads=true"),
        (9, ",reads=true,evict=run"),
    ] {
        let (real, calls) = Real::recorded(capacity, settings);
        let naive = NaiveBuffer {
            pages: Vec::new(),
            capacity: capacity as usize,
            reads: settings.contains("reads"),
            runs: settings.contains("run"),
            calls: Vec::new(),
            newest: vec![0; (PAGES * SECTORS) as usize],
        };
        let rng = Xoshiro256PlusPlus::seed_from_u64(20);
        let mut twins = Twins { real, naive, rng };
        for round in 0..4000 {
            twins.step();
            let (real, naive) = (calls.read().unwrap(), &twins.naive.calls);
            assert_eq!(real[..], naive[..], "{capacity} pages{settings}, step {round}");
            drop(real);
            calls.write().unwrap().clear();
            twins.naive.calls.clear();
        }
        let kept = |name| twins.real.figure(name);
        assert!(kept("write_hits") > 500.0 || capacity == 1);
        assert!(kept("drained") > 50.0 && kept("subpages") > 500.0 && kept("dropped") > 5.0);
        let sum = kept("evicted") + kept("drained") + kept("dropped") + kept("waiting");
        assert_eq!(kept("soiled"), sum, "{capacity} pages{settings}");
    }
}
