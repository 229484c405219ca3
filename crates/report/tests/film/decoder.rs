//! A second reader of films, after docs/film.md and independent of the one in pages.

use std::io::Read;
use std::vec::IntoIter;

use flate2::read::GzDecoder;
use rustc_hash::FxHashMap;
use serde_json::Value;

/// A column of numbers.
struct Column(IntoIter<u8>);

impl Column {
    fn byte(&mut self) -> u8 {
        self.0.next().expect("a column is long enough")
    }

    fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return number;
            }
            shift += 7;
        }
    }

    fn signed(&mut self) -> i64 {
        let number = self.number();
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    fn optional(&mut self) -> Option<u32> {
        self.number().checked_sub(1).map(|number| number as u32)
    }

    fn near(&mut self, expected: u32) -> u32 {
        (i64::from(expected) + self.signed()) as u32
    }

    /// An owner: `u32::MAX` for none, one less for the FTL itself.
    fn owner(&mut self, next: &mut u32) -> u32 {
        let number = self.number();
        if number < 2 {
            return u32::MAX - number as u32;
        }
        let difference = number - 2;
        let signed = (difference >> 1) as i64 ^ -((difference & 1) as i64);
        let owner = (i64::from(*next) + signed) as u32;
        *next = owner + 1;
        owner
    }

    fn real(&mut self) -> f32 {
        f32::from_le_bytes([0; 4].map(|_: u8| self.byte()))
    }
}

/// The flash and its counters at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The owner of each page.
    pub owners: Vec<u32>,
    /// Whether each page is valid.
    pub valid: Vec<bool>,
    /// Erases of each block.
    pub wear: Vec<u32>,
    /// For each block the name of its role, and what it serves.
    pub roles: Vec<(String, Option<u32>)>,
    /// Operations by kind and cause.
    pub tally: Vec<Vec<u64>>,
    /// Pages of writes that entered the scheme.
    pub entered: u64,
    /// Free blocks.
    pub free_blocks: i64,
    /// Gauges.
    pub gauges: Vec<f32>,
}

impl State {
    /// What differs from the truth first, in words.
    pub fn difference(&self, truth: &State) -> Option<String> {
        fn of<T: PartialEq + core::fmt::Debug>(
            what: &str,
            is: &[T],
            should: &[T],
        ) -> Option<String> {
            assert_eq!(is.len(), should.len(), "{what}");
            let at = is.iter().zip(should).position(|(is, should)| is != should)?;
            Some(format!("{what} {at} is {:?} and not {:?}", is[at], should[at]))
        }
        of("owner of page", &self.owners, &truth.owners)
            .or_else(|| of("validity of page", &self.valid, &truth.valid))
            .or_else(|| of("wear of block", &self.wear, &truth.wear))
            .or_else(|| of("role of block", &self.roles, &truth.roles))
            .or_else(|| of("tally of operation", &self.tally, &truth.tally))
            .or_else(|| of("pages written", &[self.entered], &[truth.entered]))
            .or_else(|| of("free blocks", &[self.free_blocks], &[truth.free_blocks]))
            .or_else(|| of("gauge", &self.gauges, &truth.gauges))
    }
}

/// A film that is played request by request.
pub struct Played {
    header: Value,
    columns: FxHashMap<String, Column>,
    per_block: usize,
    state: State,
    newest: FxHashMap<u32, usize>,
    /// Numbers from which columns count.
    frame_owner: u32,
    program_owner: u32,
    number: u64,
    source: u32,
    correction: u32,
    places: [u32; 8],
    take: usize,
    left: u64,
}

/// A request as the film has it: its number, what it asks for, and the scenes in it.
pub struct PlayedRequest {
    /// Its number in the pass.
    pub number: u64,
    /// Its scenes.
    pub scenes: Vec<PlayedScene>,
    /// Its operations; a copy is one.
    pub steps: Vec<PlayedStep>,
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct PlayedStep {
    /// 0 read, 1 read of a spare area, 2 program, 3 erase, 4 copy.
    pub kind: usize,
    /// The number of its cause.
    pub cause: usize,
    /// The block of its place.
    pub block: u32,
    /// The owner of the page.
    pub owner: u32,
    /// Of a copy: the block of its source.
    pub from: Option<u32>,
}

/// What the film says of a scene.
#[derive(Clone, Debug)]
pub struct PlayedScene {
    /// The name of its kind.
    pub name: String,
    /// Its first operation, and their number.
    pub first: u64,
    pub steps: u64,
    /// Reads, programs, copies, erases and source blocks.
    pub counts: [u64; 5],
    /// The logical block; the block that takes pages; the first block that is emptied or erased.
    pub lbn: Option<u32>,
    pub target: Option<u32>,
    pub victim: Option<u32>,
}

impl Played {
    /// The film in these bytes.
    pub fn open(bytes: &[u8]) -> Played {
        let mut all = Vec::new();
        GzDecoder::new(bytes).read_to_end(&mut all).expect("a film is compressed by gzip");
        let rest = all.strip_prefix(b"ftlfilm1").expect("a film begins with its name");
        let (length, rest) = rest.split_first_chunk().expect("a length");
        let (header, mut rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        let header: Value = serde_json::from_slice(header).expect("the header is JSON");
        let mut columns = FxHashMap::default();
        for column in header["columns"].as_array().expect("columns") {
            let (name, length) = (column[0].as_str().unwrap(), column[1].as_u64().unwrap());
            let (bytes, behind) = rest.split_at(length as usize);
            let bytes: Vec<u8> = bytes.into();
            columns.insert(name.to_owned(), Column(bytes.into_iter()));
            rest = behind;
        }
        assert!(rest.is_empty(), "{} bytes behind the last column", rest.len());
        let blocks = header["blocks"].as_u64().unwrap() as usize;
        let per_block = header["pages_per_block"].as_u64().unwrap() as usize;
        let state = State {
            owners: vec![u32::MAX; blocks * per_block],
            valid: vec![false; blocks * per_block],
            wear: vec![0; blocks],
            roles: vec![(header["roles"][0].as_str().unwrap().to_owned(), None); blocks],
            ..State::default()
        };
        Played {
            header,
            columns,
            per_block,
            state,
            newest: FxHashMap::default(),
            frame_owner: 0,
            program_owner: 0,
            number: 0,
            source: 0,
            correction: 0,
            places: [0; 8],
            take: 0,
            left: 0,
        }
    }

    /// The state now.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Pages in each block.
    pub fn pages_per_block(&self) -> u32 {
        self.per_block as u32
    }

    /// Plays the next request.
    pub fn next(&mut self) -> Option<PlayedRequest> {
        while self.left == 0 {
            let take = self.header["takes"].get(self.take)?.clone();
            self.begin_take(&take);
        }
        self.left -= 1;
        let mut count = |name: &str| self.columns.get_mut(name).unwrap().number();
        let number = count("request_number");
        let [bulks, scenes, corrections, roles] = ["bulks", "scenes", "corrections", "roles"]
            .map(|name| count(&format!("request_{name}")));
        self.number += number;
        self.state.entered =
            self.state.entered.wrapping_add_signed(self.column("request_entered").signed());
        self.state.free_blocks += self.column("request_free").signed();
        for gauge in 0..self.state.gauges.len() {
            self.state.gauges[gauge] = self.column(&format!("gauge_{gauge}")).real();
        }
        let steps = (0..bulks).flat_map(|_| self.bulk()).collect();
        let scenes = (0..scenes).map(|_| self.scene()).collect();
        (0..corrections).for_each(|_| self.correct());
        (0..roles).for_each(|_| self.role());
        Some(PlayedRequest { number: self.number, scenes, steps })
    }

    fn column(&mut self, name: &str) -> &mut Column {
        self.columns.get_mut(name).unwrap_or_else(|| panic!("no column {name}"))
    }

    fn begin_take(&mut self, take: &Value) {
        (self.take, self.left) = (self.take + 1, take["requests"].as_u64().unwrap());
        let counts =
            |op: &Value| op.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        self.state.tally = take["tally"].as_array().unwrap().iter().map(counts).collect();
        self.state.entered = take["entered"].as_u64().unwrap();
        self.state.free_blocks = take["free_blocks"].as_i64().unwrap();
        let gauges = take["gauges"].as_array().unwrap().iter();
        self.state.gauges = gauges.map(|value| value.as_f64().unwrap() as f32).collect();
        let mut next = 0;
        for _ in 0..self.column("frame_blocks").number() {
            let block = next + self.column("frame_blocks").number() as usize;
            next = block + 1;
            self.frame(block);
        }
        // Which version is the newest follows from the pages that are valid.
        let pages = self.state.owners.iter().zip(&self.state.valid).enumerate();
        let valid = pages.filter(|(_, (owner, valid))| **valid && **owner < u32::MAX - 1);
        self.newest = valid.map(|(ppn, (&owner, _))| (owner, ppn)).collect();
    }

    fn frame(&mut self, block: usize) {
        self.state.wear[block] = self.column("frame_blocks").number() as u32;
        let name = self.column("frame_blocks").byte();
        let of = self.column("frame_blocks").optional();
        self.state.roles[block] = (self.role_name(name), of);
        for ppn in block * self.per_block..(block + 1) * self.per_block {
            let mut next = self.frame_owner;
            let owner = self.column("frame_owner").owner(&mut next);
            self.frame_owner = next;
            self.state.owners[ppn] = owner;
            self.state.valid[ppn] = false;
            if owner != u32::MAX {
                self.state.valid[ppn] = self.column("frame_state").byte() & 3 == 1;
            }
        }
    }

    fn role_name(&self, number: u8) -> String {
        self.header["roles"][usize::from(number)].as_str().unwrap().to_owned()
    }

    fn bulk(&mut self) -> Vec<PlayedStep> {
        let code = self.column("bulk_code").byte();
        let count = self.column("bulk_count").number();
        let (kind, cause) = (usize::from(code >> 4), usize::from(code & 15));
        let expected = self.places[kind];
        let first = self.column("bulk_place").near(expected);
        self.places[kind] = first + count as u32;
        let mut steps = Vec::new();
        for place in first..first + count as u32 {
            let (mut owner, mut from) = (u32::MAX - 1, None);
            match kind {
                2 => {
                    let mut next = self.program_owner;
                    owner = self.column("program_owner").owner(&mut next);
                    self.program_owner = next;
                    self.program(place as usize, owner, cause);
                }
                3 => self.erase(place as usize, cause),
                5 => self.state.tally[2][cause] += 1,
                6 => self.state.tally[3][cause] += 1,
                7 => {
                    let expected = self.source;
                    self.source = self.column("copy_from").near(expected) + 1;
                    from = Some(self.block_of(self.source - 1));
                    self.state.tally[0][cause] += 1;
                    self.state.tally[2][cause] += 1;
                }
                4 => {
                    let expected = self.source;
                    let source = self.column("copy_from").near(expected);
                    self.source = source + 1;
                    self.state.tally[0][cause] += 1;
                    owner = self.state.owners[source as usize];
                    from = Some(self.block_of(source));
                    self.program(place as usize, owner, cause);
                }
                read => self.state.tally[read][cause] += 1,
            }
            let block = if kind % 3 == 0 && kind > 0 { place } else { self.block_of(place) };
            let kind = if kind > 4 { kind - 3 } else { kind };
            steps.push(PlayedStep { kind, cause, block, owner, from });
        }
        steps
    }

    fn block_of(&self, ppn: u32) -> u32 {
        ppn / self.per_block as u32
    }

    fn program(&mut self, ppn: usize, owner: u32, cause: usize) {
        self.state.tally[2][cause] += 1;
        assert_eq!(self.state.owners[ppn], u32::MAX, "page {ppn} is programmed twice");
        self.state.owners[ppn] = owner;
        self.state.valid[ppn] = true;
        if owner < u32::MAX - 1 {
            self.point(owner, Some(ppn));
        }
    }

    fn erase(&mut self, block: usize, cause: usize) {
        self.state.tally[3][cause] += 1;
        self.state.wear[block] += 1;
        self.state.roles[block] = (self.role_name(0), None);
        for ppn in block * self.per_block..(block + 1) * self.per_block {
            let owner = core::mem::replace(&mut self.state.owners[ppn], u32::MAX);
            self.state.valid[ppn] = false;
            if self.newest.get(&owner) == Some(&ppn) {
                self.newest.remove(&owner);
            }
        }
    }

    fn point(&mut self, owner: u32, place: Option<usize>) {
        if let Some(old) = self.newest.remove(&owner).filter(|old| Some(*old) != place) {
            self.state.valid[old] = false;
        }
        if let Some(ppn) = place {
            self.state.valid[ppn] = true;
            self.newest.insert(owner, ppn);
        }
    }

    fn scene(&mut self) -> PlayedScene {
        let column = self.column("scene");
        let [kind, first, steps] = [0; 3].map(|_: u64| column.number());
        let counts = [0; 5].map(|_: u64| column.number());
        let [lbn, target, victim] = [None; 3].map(|_: Option<u32>| column.optional());
        let name = self.header["scenes"][kind as usize]["name"].as_str().unwrap().to_owned();
        PlayedScene { name, first, steps, counts, lbn, target, victim }
    }

    fn correct(&mut self) {
        let expected = self.correction;
        let column = self.column("correction");
        let owner = column.near(expected);
        let place = column.optional().map(|place| place as usize);
        self.correction = owner + 1;
        self.point(owner, place);
    }

    fn role(&mut self) {
        let column = self.column("role");
        let block = column.number() as usize;
        let (name, of) = (column.byte(), column.optional());
        self.state.roles[block] = (self.role_name(name), of);
    }
}
