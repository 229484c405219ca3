//! A record of what a live disk did, replayed by `run`, counts the same operations of the flash.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use disk::{Disk, recipe};
use ftl::device::Size;
use ftl::{Choice, Device, Durability, LAYERS, Layers, SCHEMES};
use nand::{Cause, ChipModel, Nand, Op as FlashOp};
use sim::result::counts::Causes;
use sim::{Experiment, RunOptions, RunResult, Setup};
use spec::Spec;
use trace::writer::{OutputFormat, TraceWriter};
use trace::{Flags, Op, Request};

const SECTOR: u64 = 512;
const LOGICAL_BLOCKS: u32 = 12;
const REQUESTS: usize = 1500;

/// The counts of a chip: each kind of operation by cause, and the copies.
type Counts = Vec<(&'static str, Vec<u64>)>;

#[test]
fn a_replayed_record_counts_what_the_live_disk_counted() {
    let mut tried = 0;
    for (number, device) in devices().into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("record.csv");
        let live = serve_at_random(&device, &record, number as u64);
        let words = recipe::run_command(&device, &record);
        let replayed = counts_of_result(&replay(&words));
        assert_eq!(live, replayed, "{}", words.join(" "));
        tried += 1;
    }
    let schemes = SCHEMES.iter().filter(|scheme| !scheme.needs_future).count();
    assert!(tried >= 3 * schemes, "only {tried} devices");
}

/// The command itself accepts the words, and reports the options of the device.
#[test]
fn the_command_of_a_record_runs() {
    let device = devices().pop().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record.csv");
    serve_at_random(&device, &record, 1);
    let words = recipe::run_command(&device, &record);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ftlab"));
    let output = command.args(&words[1..]).args(["--quiet", "--json", "-"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["run"]["durability"], "full");
    assert_eq!(result["device"]["logical_blocks"], LOGICAL_BLOCKS);
}

// ---- Live --------------------------------------------------------------------------------------

/// Performs random requests on a disk in memory and records them. Returns its counts since the
/// mount.
fn serve_at_random(device: &Device, record: &Path, seed: u64) -> Counts {
    let mut disk = Disk::in_memory(device.clone()).unwrap();
    let before = counts_of_chip(disk.nand().unwrap());
    let out = BufWriter::new(File::create(record).unwrap());
    let mut writer = TraceWriter::new(out, OutputFormat::Csv).unwrap();
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    for time_ns in 0..REQUESTS as u64 {
        let request = Request { time_ns, ..random.request(device) };
        perform(&mut disk, &request);
        writer.write(&request).unwrap();
    }
    writer.finish().unwrap();
    since(counts_of_chip(disk.nand().unwrap()), &before)
}

fn perform(disk: &mut Disk, request: &Request) {
    let mut bytes = vec![7; request.bytes as usize];
    let done = match request.op {
        Op::Read => disk.read(request.offset, &mut bytes),
        Op::Write => disk.write(request.offset, &bytes, request.flags.contains(Flags::FUA)),
        Op::Trim => disk.trim(request.offset, request.bytes, false),
        Op::Flush => disk.flush(),
    };
    done.unwrap_or_else(|error| panic!("{request:?}: {error}"));
}

/// A small random number generator (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    /// A request of whole sectors. Half of them are in a sixteenth of the device.
    fn request(&mut self, device: &Device) -> Request {
        let sectors = device.capacity_bytes() / SECTOR;
        let per_page = u64::from(device.geometry().sectors_per_page());
        let span = if self.below(2) == 0 { sectors } else { sectors / 16 };
        let length = 1 + self.below(3 * per_page);
        let first = self.below(span.min(sectors - length));
        let (op, flags) = match self.below(12) {
            0..5 => (Op::Write, Flags::empty()),
            5..7 => (Op::Write, Flags::FUA),
            7..9 => (Op::Read, Flags::empty()),
            9..11 => (Op::Trim, Flags::empty()),
            _ => (Op::Flush, Flags::PREFLUSH),
        };
        let (offset, bytes) =
            if op == Op::Flush { (0, 0) } else { (first * SECTOR, length * SECTOR) };
        Request { time_ns: 0, offset, bytes, device: 0, op, flags, stream: 0 }
    }
}

// ---- Replayed ----------------------------------------------------------------------------------

/// Runs `ftlab run …` inside this process.
fn replay(words: &[String]) -> RunResult {
    assert_eq!(words[..2], ["ftlab", "run"]);
    let mut experiment = Experiment { trace: Some(words[2].clone()), ..Experiment::default() };
    for option in words[3..].chunks(2) {
        let name = option[0].trim_start_matches("--").replace('-', "_");
        experiment = experiment.with(&name, &option[1]).unwrap();
    }
    sim::run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap()
}

fn counts_of_result(result: &RunResult) -> Counts {
    let of = |causes: &Causes| causes.iter().map(|(_, count)| count).collect();
    vec![
        ("reads", of(&result.reads)),
        ("spare reads", of(&result.spare_reads)),
        ("programs", of(&result.programs)),
        ("erases", of(&result.erases)),
        ("copies", of(&result.copies)),
    ]
}

fn counts_of_chip(nand: &Nand) -> Counts {
    let tally = nand.tally();
    let of = |op| Cause::ALL.map(|cause| tally.count(op, cause)).to_vec();
    vec![
        ("reads", of(FlashOp::Read)),
        ("spare reads", of(FlashOp::SpareRead)),
        ("programs", of(FlashOp::Program)),
        ("erases", of(FlashOp::Erase)),
        ("copies", Cause::ALL.map(|cause| tally.copies(cause)).to_vec()),
    ]
}

fn since(now: Counts, before: &Counts) -> Counts {
    let differences = now.into_iter().zip(before).map(|((name, now), (_, before))| {
        (name, now.into_iter().zip(before).map(|(now, before)| now - before).collect())
    });
    differences.collect()
}

// ---- Devices -----------------------------------------------------------------------------------

/// Every scheme alone and under each layer, on chips of both program orders.
fn devices() -> Vec<Device> {
    let corners = LAYERS.iter().flat_map(|layer| layer.corners);
    let layers = corners.map(|corner| Layers::from_texts(corner).unwrap());
    let layers: Vec<Layers> = std::iter::once(Layers::default()).chain(layers).collect();
    let chips = ["slc-fast2010:pages_per_block=8", "mlc-k9gag:pages_per_block=8"];
    let schemes = SCHEMES.iter().filter(|scheme| !scheme.needs_future);
    let forms = schemes.flat_map(|scheme| layers.iter().map(move |layers| (scheme, layers)));
    let on_chips = forms.flat_map(|form| chips.map(|chip| (form, chip)));
    on_chips.filter_map(|((scheme, layers), chip)| device(scheme.name, layers, chip)).collect()
}

/// The device of a scheme and layers; none if they refuse such a device.
fn device(scheme: &str, layers: &Layers, chip: &str) -> Option<Device> {
    let chip = ChipModel::from_spec(&Spec::parse(chip).unwrap()).unwrap();
    let choice = Choice::from_spec(&Spec::plain(scheme)).unwrap();
    layers.check(choice.scheme, &choice.given, &chip).ok()?;
    let least = (choice.scheme.least_extra)(&choice.params, &chip, LOGICAL_BLOCKS);
    let of_layers = layers.blocks(&chip);
    let extra = least.max(4) + of_layers.blocks - of_layers.added;
    let size = Size { logical_blocks: LOGICAL_BLOCKS.into(), extra_blocks: extra.into() };
    Device::new(chip, choice, layers.clone(), size, Durability::Full, 7).ok()
}
