//! A device that is filmed, and what is true of it at each moment.

use film::{About, Footage, HostOp, Moment, Plan, Recorder, Request};
use ftl::contract::{BlockRole, Run};
use ftl::{Choice, Device, Ftl, Span};
use nand::{BlockId, Cause, Data, Lpn, Nand, Op, OpRecord, Ppn, RecordedBulk, Sink};
use rustc_hash::FxHashMap;
use sim::run::foresight;
use sim::{Experiment, Setup};

use crate::decoder::State;

/// A request for the device.
pub type Asked = (HostOp, Span);

/// A filmed device.
pub struct Filmed {
    device: Device,
    nand: Nand,
    ftl: Box<dyn Ftl>,
    /// Pages that the host wrote.
    written: u64,
    /// The newest version that the scheme has of each page, beside a newer one in a sector log.
    below: FxHashMap<u32, u32>,
}

/// The device of an experiment. None if it cannot exist, or its FTL refuses it.
pub fn device_of(experiment: &Experiment) -> Option<Device> {
    Setup::new(experiment).and_then(|setup| sim::device::of(&setup, 0)).ok()
}

/// The device of an experiment, with this guest in place of its FTL.
pub fn device_of_guest(experiment: &Experiment, guest: Choice) -> Device {
    let setup = Setup::new(experiment).unwrap();
    sim::device::of(&Setup { ftl: guest, ..setup }, 0).unwrap()
}

impl Filmed {
    /// A device with a blank chip, on which these requests will be served.
    pub fn new(experiment: &Experiment, device: Device, requests: &[Asked]) -> Filmed {
        let setup = Setup::new(experiment).unwrap();
        let device = match device.choice.scheme.needs_future {
            true => {
                let future = foresight::of_run(&setup, &device, |see| {
                    requests.iter().try_for_each(|(op, span)| see(trace_op(*op), span))
                });
                device.foreseen_by(future.unwrap())
            }
            false => device,
        };
        let mut nand = device.new_chip(sim::device::chip_mode(&device, experiment));
        let ftl = device.mount(&mut nand).unwrap();
        nand.reset_tally();
        nand.attach(Some(Box::new(OpRecord::default())));
        Filmed { device, nand, ftl, written: 0, below: FxHashMap::default() }
    }

    /// Films these requests. Returns the footage and the truth after each request; `is_even` as in
    /// the plan.
    pub fn footage(self, requests: &[Asked], is_even: bool) -> (Footage, Vec<State>) {
        self.footage_with_cut(requests, is_even, usize::MAX)
    }

    /// The same; before the request at this place the power fails, and the device is mounted again.
    /// The cut and the mount have numbers like requests, but no truth.
    pub fn footage_with_cut(
        mut self,
        requests: &[Asked],
        is_even: bool,
        cut_at: usize,
    ) -> (Footage, Vec<State>) {
        let scheme = self.device.choice.scheme;
        let about = About {
            scheme: scheme.name,
            logical_pages: self.device.logical_pages(),
            is_guest: self.is_guest(),
            ..About::default()
        };
        let plan = Plan { about, acts: scheme.acts, is_even };
        let mut recorder = Recorder::begin(plan, &self.moment());
        let mut truths = Vec::new();
        for (at, asked) in requests.iter().enumerate() {
            if at == cut_at {
                self = self.cut_and_mounted(&mut recorder, truths.len() as u64);
                truths.extend([State::default(), State::default()]);
            }
            truths.push(self.filmed(asked, truths.len() as u64 + 1, &mut recorder));
        }
        (recorder.finish(), truths)
    }

    /// Serves a request, films it, and returns the truth after it.
    fn filmed(&mut self, (op, span): &Asked, number: u64, recorder: &mut Recorder) -> State {
        self.serve(*op, span);
        let operations = self.operations();
        let request = Request { number, op: *op, spans: &[*span] };
        recorder.request(&request, &operations, &self.moment());
        self.note_programs(&operations);
        self.truth()
    }

    fn operations(&mut self) -> OpRecord {
        core::mem::take(self.nand.sink_mut::<OpRecord>().unwrap())
    }

    fn cut_and_mounted(self, recorder: &mut Recorder, number: u64) -> Filmed {
        let Filmed { device, mut nand, .. } = self;
        nand.power().cycle();
        let flash = nand.into_array();
        recorder.cut(&flash, number + 1).unwrap();
        let mut nand = Nand::power_up(flash);
        nand.attach(Some(Box::new(OpRecord::default())));
        let ftl = device.mount(&mut nand).unwrap();
        let mut mounted = Filmed { device, nand, ftl, written: 0, below: FxHashMap::default() };
        let operations = mounted.operations();
        let request = Request { number: number + 2, op: HostOp::Mount, spans: &[] };
        recorder.request(&request, &operations, &mounted.moment());
        mounted.note_mounted();
        mounted
    }

    /// A mount may know of a page that was trimmed or superseded before.
    fn note_mounted(&mut self) {
        let (ftl, nand) = (&self.ftl, &self.nand);
        let blocks = (0..nand.geometry().blocks()).map(BlockId);
        let owners = blocks.flat_map(|block| nand.array().owners(block));
        let placed = (0..).zip(owners).filter(|&(ppn, &owner)| {
            Lpn(owner).is_host() && ftl.place(nand, Lpn(owner)) == Some(Ppn(ppn))
        });
        self.below = placed.map(|(ppn, &owner)| (owner, ppn)).collect();
    }

    fn moment(&mut self) -> Moment<'_> {
        let entered = self.ftl.layer_totals().map(|totals| totals.entered.written);
        let entered = entered.unwrap_or(self.written);
        let has_places = !self.is_guest();
        Moment { nand: &self.nand, ftl: Some(&*self.ftl), entered, has_places }
    }

    fn is_guest(&self) -> bool {
        self.device.choice.guest.is_some()
    }

    fn serve(&mut self, op: HostOp, span: &Span) {
        let page_bytes = self.device.geometry().page_bytes();
        let nand = &mut self.nand;
        let run = span.run(u64::from(span.pages) * u64::from(page_bytes), Data::None);
        match op {
            HostOp::Read => self.ftl.read(nand, &run, &mut Sink::None).unwrap(),
            HostOp::Write => {
                self.written += u64::from(span.pages);
                let data = match nand.array().keeps_pages() {
                    true => Data::Stamp(1),
                    false => Data::None,
                };
                self.ftl.write_run(nand, &Run { data, ..run }).unwrap();
            }
            HostOp::Trim => self.ftl.trim(nand, Lpn(span.first), span.pages).unwrap(),
            _ => self.ftl.flush(nand, None).unwrap(),
        }
        self.ftl.end_request(nand).unwrap();
    }

    /// Follows the versions that the scheme has of pages. Of a page with a newer version in a
    /// sector log, the FTL does not say where they are: the last one was programmed last.
    fn note_programs(&mut self, operations: &OpRecord) {
        for bulk in operations.bulks() {
            let (first, owners) = match bulk {
                RecordedBulk::Run { op: Op::Program, first, owners, .. } => (first, owners),
                RecordedBulk::Copies { to, owners, .. } => (to, owners),
                RecordedBulk::Run { .. } => continue,
            };
            let placed = owners.iter().copied().zip(first..);
            self.below.extend(placed.filter(|(owner, _)| Lpn(*owner).is_host()));
        }
        let (ftl, nand) = (&self.ftl, &self.nand);
        let geometry = nand.array().geometry();
        let owner_of = |Ppn(ppn): Ppn| {
            let (block, offset) =
                (ppn / geometry.pages_per_block(), ppn % geometry.pages_per_block());
            nand.array().owners(BlockId(block))[offset as usize]
        };
        self.below.retain(|&owner, ppn| match ftl.place(nand, Lpn(owner)) {
            None => false,
            Some(place) if owner_of(place) == owner => {
                *ppn = place.0;
                true
            }
            Some(_) => owner_of(Ppn(*ppn)) == owner,
        });
    }

    /// What chip and FTL say.
    fn truth(&self) -> State {
        let array = self.nand.array();
        let blocks = self.nand.geometry().blocks();
        let owners: Vec<u32> =
            (0..blocks).flat_map(|block| array.owners(BlockId(block)).to_vec()).collect();
        let is_valid = |(ppn, &owner): (u32, &u32)| match Lpn(owner) {
            Lpn::NONE => false,
            Lpn::SYSTEM => true,
            _ => self.below.get(&owner) == Some(&ppn),
        };
        let valid = (0..).zip(&owners).map(is_valid).collect();
        let report = self.ftl.report();
        State {
            valid,
            owners,
            wear: array.wear().to_vec(),
            roles: self.roles(),
            tally: Op::ALL.map(|op| counts(&self.nand, op)).to_vec(),
            entered: report.entered().map_or(self.written, |pages| pages.written),
            free_blocks: report.free_blocks.into(),
            gauges: report.gauges.iter().map(|(_, value)| *value as f32).collect(),
        }
    }

    fn roles(&self) -> Vec<(String, Option<u32>)> {
        let array = self.nand.array();
        let plain = if self.is_guest() { "of the guest" } else { "data" };
        let plain = (plain.to_owned(), None);
        let mut roles = vec![plain.clone(); self.nand.geometry().blocks() as usize];
        let mut named: Vec<BlockRole> = Vec::new();
        self.ftl.roles(&self.nand, &mut named);
        for role in named.iter().filter(|role| array.filled(role.block) > 0) {
            roles[role.block.0 as usize] = (role.name.to_owned(), role.of);
        }
        roles
    }
}

fn counts(nand: &Nand, op: Op) -> Vec<u64> {
    Cause::ALL.iter().map(|&cause| nand.tally().count(op, cause)).collect()
}

fn trace_op(op: HostOp) -> trace::Op {
    match op {
        HostOp::Read => trace::Op::Read,
        HostOp::Write => trace::Op::Write,
        HostOp::Trim => trace::Op::Trim,
        _ => trace::Op::Flush,
    }
}
