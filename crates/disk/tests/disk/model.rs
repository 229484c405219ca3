//! What the sectors of a disk may hold.

use std::ops::Range;

use disk::{Disk, Result};

pub const SECTOR: usize = 512;

/// A small random number generator (Marsaglia's xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// The values of each sector since the last flush, the newest last. Value 0 stands for zeroes.
pub struct Model {
    sectors: Vec<Vec<u32>>,
    sectors_per_page: u64,
    writes: u32,
    /// Whether forced requests must survive more than a power cut of the chip.
    pub machine_may_crash: bool,
}

impl Model {
    pub fn new(disk: &Disk) -> Model {
        let sectors = disk.device().capacity_bytes() as usize / SECTOR;
        let sectors_per_page = disk.device().geometry().sectors_per_page().into();
        let sectors = vec![vec![0]; sectors];
        Model { sectors, sectors_per_page, writes: 0, machine_may_crash: true }
    }

    pub fn sectors(&self) -> u64 {
        self.sectors.len() as u64
    }

    /// A random range of sectors.
    fn range(&self, random: &mut Random) -> Range<u64> {
        let length = 1 + random.below(3 * self.sectors_per_page);
        let start = random.below(self.sectors() - length);
        start..start + length
    }

    /// Performs a random request on the disk and notes it: before, because a request that fails may
    /// have taken place in part.
    pub fn request(&mut self, disk: &mut Disk, random: &mut Random) -> Result<()> {
        let range = self.range(random);
        let (offset, bytes) = (range.start * 512, (range.end - range.start) * 512);
        match random.below(10) {
            0..6 => {
                self.writes += 1;
                let contents = self.writes.to_le_bytes().repeat(bytes as usize / 4);
                self.note(range.clone(), self.writes);
                let force = random.below(4) == 0;
                disk.write(offset, &contents, force)?;
                if force {
                    self.secure(disk)?;
                    self.forced(range);
                }
                Ok(())
            }
            6 => {
                let n = self.sectors_per_page;
                let pages = range.start.next_multiple_of(n)..range.end / n * n;
                let force = !pages.is_empty() && random.below(4) == 0;
                self.note(pages, 0);
                disk.trim(offset, bytes, force)?;
                if force {
                    self.secure(disk)?;
                    self.flushed();
                }
                Ok(())
            }
            7 | 8 => self.check(disk, range),
            _ => {
                disk.flush()?;
                self.flushed();
                Ok(())
            }
        }
    }

    fn note(&mut self, range: Range<u64>, value: u32) {
        for sector in range {
            self.sectors[sector as usize].push(value);
        }
    }

    /// Makes what was forced survive a crash of the machine, if one may come.
    fn secure(&self, disk: &mut Disk) -> Result<()> {
        if self.machine_may_crash { disk.sync() } else { Ok(()) }
    }

    /// All older values are gone.
    pub fn flushed(&mut self) {
        self.forced(0..self.sectors());
    }

    /// The older values of these sectors are gone.
    fn forced(&mut self, range: Range<u64>) {
        for values in &mut self.sectors[range.start as usize..range.end as usize] {
            values.drain(..values.len() - 1);
        }
    }

    /// Compares the extents of the whole disk with the sectors: what is unmapped is zero.
    pub fn check_extents(&self, disk: &Disk) {
        let extents = disk.extents(0, self.sectors() * 512).unwrap();
        assert!(extents.windows(2).all(|pair| pair[0].is_mapped != pair[1].is_mapped));
        let mut sector = 0;
        for extent in &extents {
            let end = sector + extent.bytes / 512;
            let zero = (sector..end).all(|sector| self.newest(sector) == 0);
            assert!(extent.is_mapped || zero, "{extent:?} at sector {sector}");
            sector = end;
        }
        assert_eq!(sector, self.sectors());
    }

    /// Compares sectors with their newest values.
    pub fn check(&self, disk: &mut Disk, range: Range<u64>) -> Result<()> {
        for (sector, found) in read(disk, range)? {
            let expected = self.sectors[sector as usize].last();
            assert_eq!(Some(&found), expected, "sector {sector}");
        }
        Ok(())
    }

    /// The newest value of a sector.
    pub fn newest(&self, sector: u64) -> u32 {
        *self.sectors[sector as usize].last().expect("a value")
    }

    /// Checks that each sector has a value that it really had, at or after the last flush. Puts
    /// these values last.
    pub fn adopt(&mut self, disk: &mut Disk) {
        for (sector, found) in read(disk, 0..self.sectors()).expect("all data can be read") {
            let values = &mut self.sectors[sector as usize];
            assert!(values.contains(&found), "sector {sector} has {found}, not one of {values:?}");
            values.push(found);
        }
    }
}

/// Reads sectors; each must hold the same value throughout.
fn read(disk: &mut Disk, range: Range<u64>) -> Result<Vec<(u64, u32)>> {
    let mut bytes = vec![0xEE; (range.end - range.start) as usize * SECTOR];
    disk.read(range.start * SECTOR as u64, &mut bytes)?;
    let values = range.zip(bytes.chunks(SECTOR)).map(|(sector, bytes)| {
        let mut words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        let first = words.next().unwrap();
        assert!(words.all(|word| word == first), "sector {sector} is mixed");
        (sector, first)
    });
    Ok(values.collect())
}
