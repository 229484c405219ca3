//! What drives write in their journals, against the order that flash demands.

use std::collections::{BTreeMap, HashMap};

use drive::journal::{EndedOperation, Entry, Transfer};
use drive::{Drive, HostRequest, Issued, Profile};
use nand::{Cause, Geometry, Op, ProgramOrder, Timing};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const PAGES_PER_BLOCK: u32 = 48;
const BLOCKS: u32 = 12;

/// An FTL that programs blocks one after the other, and moves pages before it erases.
struct Writer {
    draws: Xoshiro256PlusPlus,
    block: u32,
    next: u32,
    /// Blocks without data.
    free: Vec<u32>,
    full: Vec<u32>,
    /// One in this number of programs and erases comes after all before it; none with 0.
    one_barrier_in: u32,
}

impl Writer {
    fn below(&mut self, limit: u32) -> u32 {
        (self.draws.next_u64() % u64::from(limit)) as u32
    }

    fn program(&mut self, cause: Cause, ends_copy: bool) -> Issued {
        if self.next == PAGES_PER_BLOCK {
            self.full.push(self.block);
            self.block = self.free.pop().expect("a free block");
            self.next = 0;
        }
        self.next += 1;
        let place = self.block * PAGES_PER_BLOCK + self.next - 1;
        let after_all = self.is_after_all();
        Issued { ends_copy, after_all, ..Issued::new(Op::Program, cause, place) }
    }

    fn is_after_all(&mut self) -> bool {
        self.one_barrier_in > 0 && self.below(self.one_barrier_in) == 0
    }

    /// A program, after copies out of a block and its erase if blocks are short.
    fn write(&mut self) -> Vec<Issued> {
        let mut issued = Vec::new();
        if self.free.len() < 2 {
            let nth = self.below(self.full.len() as u32) as usize;
            let victim = self.full.remove(nth);
            let step = 1 + self.below(PAGES_PER_BLOCK / 2);
            for page in (0..PAGES_PER_BLOCK).step_by(step as usize) {
                let place = victim * PAGES_PER_BLOCK + page;
                issued.push(Issued::new(Op::Read, Cause::Gc, place));
                issued.push(self.program(Cause::Gc, true));
            }
            let after_all = self.is_after_all();
            issued.push(Issued { after_all, ..Issued::new(Op::Erase, Cause::Gc, victim) });
            self.free.insert(0, victim);
        }
        issued.push(self.program(Cause::Host, false));
        issued
    }

    /// A read of a page that was written, often of one of the last pages.
    fn read(&mut self) -> Vec<Issued> {
        let back = 1 + self.below(self.next.min(20));
        let nth = self.below(self.full.len() as u32) as usize;
        let full = self.full[nth];
        let place = match self.below(2) {
            0 => self.block * PAGES_PER_BLOCK + self.next - back,
            _ => full * PAGES_PER_BLOCK + back,
        };
        vec![Issued::new(Op::Read, Cause::Host, place)]
    }
}

/// Runs a mix of reads and writes, and returns what was issued, by request, and the journal.
fn journal_of(profile: &str, depth: u32, one_barrier_in: u32) -> (Vec<Vec<Issued>>, Vec<Entry>) {
    let profile: Profile = profile.parse().unwrap();
    let geometry =
        Geometry::new(2048, 64, PAGES_PER_BLOCK, BLOCKS, ProgramOrder::Ascending).unwrap();
    let mut drive = Drive::new(&profile, &geometry, Timing::ZERO);
    drive.keep_journal();
    let draws = Xoshiro256PlusPlus::seed_from_u64(3);
    let free = (1..BLOCKS).collect();
    let mut writer = Writer { draws, block: 0, next: 0, free, full: Vec::new(), one_barrier_in };
    let (mut requests, mut journal) = (Vec::new(), Vec::new());
    for number in 0..20_000 {
        let (op, issued) = match number < 60 || writer.below(3) > 0 {
            true => (trace::Op::Write, writer.write()),
            false => (trace::Op::Read, writer.read()),
        };
        let at_ns = match number < depth {
            true => drive.now_ns(),
            false => drive.next_answer(u64::MAX).map_or(drive.now_ns(), |last| last.answered_ns),
        };
        let force = writer.below(50) == 0;
        let request = HostRequest { op, bytes: 2048, force, memory_ns: 0, load: 0 };
        drive.submit(at_ns, request, &issued);
        requests.push(issued);
        drive.drain_journal(&mut journal);
    }
    drive.finish();
    drive.usage().check_laws().unwrap();
    drive.drain_journal(&mut journal);
    let usage = drive.usage();
    let (dies, channels) = sums(&journal, usage.dies.len(), usage.channels.len());
    assert_eq!(dies, usage.dies.iter().map(|die| die.occupied_ns).collect::<Vec<_>>());
    assert_eq!(channels, usage.channels.iter().map(|line| line.busy_ns).collect::<Vec<_>>());
    check_requests(&journal);
    (requests, journal)
}

/// Checks that every request was issued and answered once, in order, and that the buffer is empty
/// at the end.
fn check_requests(journal: &[Entry]) {
    let (mut issues, mut in_drive, mut in_buffer) = (Vec::new(), BTreeMap::new(), 0);
    for entry in journal {
        match *entry {
            Entry::Issue { number, at_ns } => {
                issues.push(number);
                in_drive.insert(number, at_ns);
            }
            Entry::Request { number, answer, .. } => {
                assert_eq!(in_drive.remove(&number), Some(answer.issued_ns), "{answer:?}");
            }
            Entry::Buffer { pages, .. } => in_buffer = pages,
            _ => {}
        }
    }
    assert!(issues.iter().copied().eq(0..20_000));
    assert!(in_drive.is_empty() && in_buffer == 0, "{in_drive:?} {in_buffer}");
}

/// The time that each die and each channel was occupied.
fn sums(journal: &[Entry], dies: usize, channels: usize) -> (Vec<u64>, Vec<u64>) {
    let (mut dies, mut channels) = (vec![0; dies], vec![0; channels]);
    for entry in journal {
        match *entry {
            Entry::Die(work) => dies[work.die as usize] += work.until_ns - work.from_ns,
            Entry::Channel(Transfer { channel, from_ns, until_ns, .. }) => {
                channels[channel as usize] += until_ns - from_ns;
            }
            _ => {}
        }
    }
    (dies, channels)
}

/// The operations of the journal in the order of issue, each with its block. Those of an erase
/// follow each other.
fn in_order_of_issue(
    requests: &[Vec<Issued>],
    journal: &[Entry],
) -> Vec<(u32, Issued, EndedOperation)> {
    let mut ended: HashMap<(u64, usize, u32), Vec<EndedOperation>> = HashMap::new();
    for entry in journal {
        if let Entry::Operation(own) = entry {
            ended.entry((own.request, own.op as usize, own.place)).or_default().push(*own);
        }
    }
    let mut all = Vec::new();
    for (request, issued) in (0..).zip(requests) {
        for operation in issued {
            let found = ended.get_mut(&(request, operation.op as usize, operation.place));
            let found = found.expect("every operation has ended");
            let block = match operation.op {
                Op::Erase => operation.place,
                _ => operation.place / PAGES_PER_BLOCK,
            };
            let count = if operation.op == Op::Erase { found.len() } else { 1 };
            all.extend(found.drain(..count).map(|own| (block, *operation, own)));
        }
    }
    assert!(ended.values().all(Vec::is_empty), "operations ended that were not issued");
    all
}

/// Checks the order on every block, and returns how many pairs were compared.
fn check_order(requests: &[Vec<Issued>], journal: &[Entry]) -> u64 {
    let mut compared = 0;
    let mut on_block: HashMap<u32, Vec<(Issued, EndedOperation)>> = HashMap::new();
    let mut copies: HashMap<u32, Vec<EndedOperation>> = HashMap::new();
    let mut source = None;
    for (block, issued, own) in in_order_of_issue(requests, journal) {
        assert!(own.ready_ns <= own.started_ns && own.started_ns <= own.ended_ns, "{own:?}");
        if issued.ends_copy {
            let (from, read): (u32, EndedOperation) = source.expect("a copy has a source");
            assert!(own.started_ns >= read.ended_ns, "a copy before its read: {read:?} {own:?}");
            copies.entry(from).or_default().push(own);
        }
        source = (own.op == Op::Read).then_some((block, own));
        let earlier = on_block.entry(block).or_default();
        if own.is_from_buffer {
            continue;
        }
        for (before, first) in earlier.iter().filter(|(_, first)| first.die == own.die) {
            let is_free = match (before.op, own.op) {
                (Op::Read, Op::Read) | (Op::Read, Op::Program) => true,
                (Op::Program, Op::Read) => before.place != own.place,
                _ => false,
            };
            // Programs of one command begin together.
            let limit_ns = match (before.op, own.op) {
                (Op::Program, Op::Program) | (Op::Read, Op::Erase) => first.started_ns,
                _ => first.ended_ns,
            };
            assert!(is_free || own.started_ns >= limit_ns, "overtaken: {first:?} by {own:?}");
            compared += u64::from(!is_free);
        }
        if own.op == Op::Erase {
            for copy in copies.get(&block).into_iter().flatten() {
                assert!(own.started_ns >= copy.ended_ns, "an erase before {copy:?}: {own:?}");
            }
            // Other dies erase the same block.
            earlier.retain(|(_, first)| first.die != own.die);
        }
        earlier.push((issued, own));
    }
    compared
}

/// Checks that no program or erase behind a barrier began before all earlier ones had ended.
/// Returns how many waited.
fn check_barriers(requests: &[Vec<Issued>], journal: &[Entry]) -> u64 {
    let (mut ended_ns, mut limit_ns, mut waited) = (0, 0, 0);
    let mut erase = None;
    for (block, issued, own) in in_order_of_issue(requests, journal) {
        if own.op != Op::Program && own.op != Op::Erase {
            continue;
        }
        // Other dies do their parts of an erase at the same time.
        let is_part = own.op == Op::Erase && erase == Some((own.request, block));
        erase = (own.op == Op::Erase).then_some((own.request, block));
        if issued.after_all && !is_part {
            limit_ns = ended_ns;
        }
        assert!(own.started_ns >= limit_ns, "{own:?} began before {limit_ns} ns");
        waited += u64::from(own.ready_ns == limit_ns);
        ended_ns = ended_ns.max(own.ended_ns);
    }
    waited
}

const SHARED: &str = "ideal:channels=2,ways=2,transfer=100MB/s,read=60us,program=300us,erase=2ms";

#[test]
fn writes_behind_a_barrier_wait_in_every_drive_that_can_lose_them() {
    for (more, one_barrier_in) in [
        ("", 4),
        (",stripe=1", 40),
        (",reads_first=true,suspend=both,suspend_cost=5us,suspend_progress=20us", 10),
        (",planes=2,pages_at_once=3,buffer=64KiB,acknowledge=buffer", 3),
        (",buffer=8KiB,acknowledge=buffer,suspend=both,reads_first=true,stripe=2", 20),
    ] {
        let (requests, journal) = journal_of(&format!("{SHARED}{more}"), 32, one_barrier_in);
        let waited = check_barriers(&requests, &journal);
        assert!(waited > 100, "{more}: only {waited} operations waited");
        check_order(&requests, &journal);
    }
}

/// A row is not filled up with pages behind a barrier: they would wait for it, and it for them.
#[test]
fn a_barrier_lets_the_rows_before_it_go() {
    let profile = "ideal:planes=2,pages_at_once=3,program=200us,buffer=32KiB,acknowledge=buffer";
    let geometry = Geometry::new(2048, 64, 64, 64, ProgramOrder::Ascending).unwrap();
    let mut drive = Drive::new(&profile.parse().unwrap(), &geometry, Timing::ZERO);
    drive.keep_journal();
    for (at_ns, place, after_all) in [(0, 0, false), (1_000_000, 1, true)] {
        let issued = Issued { after_all, ..Issued::new(Op::Program, Cause::Host, place) };
        let (op, bytes) = (trace::Op::Write, 2048);
        let request = HostRequest { op, bytes, force: false, memory_ns: 0, load: 0 };
        drive.submit(at_ns, request, &[issued]);
    }
    while drive.next_answer(10_000_000).is_some() {}
    let mut journal = Vec::new();
    drive.drain_journal(&mut journal);
    let ended = journal.iter().filter_map(|entry| match entry {
        Entry::Operation(own) => Some((own.place, own.started_ns)),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), [(0, 1_000_000)]);
    drive.finish();
}

#[test]
fn operations_on_a_block_keep_their_order_in_every_drive() {
    for (more, depth) in [
        ("", 1),
        ("", 32),
        (",stripe=1", 32),
        (",reads_first=true,suspend=both,suspend_cost=5us,suspend_progress=20us", 32),
        (",planes=2,hold=false,copyback=true", 16),
        (",planes=2,pages_at_once=3,buffer=64KiB,acknowledge=buffer", 32),
        (",planes=2,pages_at_once=3,buffer=64KiB,acknowledge=buffer,protected=true,stripe=1", 32),
        (",buffer=8KiB,acknowledge=buffer,suspend=both,reads_first=true,stripe=2", 64),
    ] {
        let (requests, journal) = journal_of(&format!("{SHARED}{more}"), depth, 0);
        let compared = check_order(&requests, &journal);
        assert!(compared > 10_000, "{more}: only {compared} pairs were compared");
    }
}
