//! The process of a guest whose chip is in another process.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process;
use std::thread;
use std::time::Duration;

use ftl::contract::guest::{Answer, ChipShape, Guest, GuestDevice, GuestSource, Status};
use rustix::process::getppid;
use rustix::stdio::dup2_stdin;

use crate::c_guest::SharedObject;
use crate::remote::{DistantChip, declaration_bytes};
use crate::supervisor::print_to_stderr;
use crate::wire::{Kind, Message, packed, unpacked};

/// Serves a guest to the program that started this process, until that program is gone. The socket
/// to it is standard input.
///
/// # Errors
/// Standard input is no socket.
pub fn serve(lib: &str) -> io::Result<()> {
    end_with_parent()?;
    leave_signals_to_parent();
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    socket.peer_addr()?;
    // The guest finds nothing to read there.
    dup2_stdin(File::open("/dev/null")?)?;
    print_to_stderr()?;
    let source = match SharedObject::open(PathBuf::from(lib)) {
        Ok(source) => source,
        Err(why) => {
            let refusal = Message::new(Kind::Hello, [1, 0, 0, 0]).with(why.into_bytes());
            return refusal.send(&mut &socket);
        }
    };
    let hello = declaration_bytes(source.declaration());
    Message::new(Kind::Hello, [0; 4]).with(hello).send(&mut &socket)?;
    let mut mounted: Option<Mounted> = None;
    loop {
        let Ok(call) = Message::receive(&mut &socket) else { return Ok(()) };
        if call.is(Kind::Mount) {
            let (answer, guest) = mount(&source, &socket, &call);
            mounted = guest;
            answered(answer, Vec::new()).send(&mut &socket)?;
            continue;
        }
        let answer = match &mut mounted {
            Some(mounted) => mounted.answer(&socket, &call),
            None => answered(Ok(Status::Invalid), Vec::new()),
        };
        answer.send(&mut &socket)?;
    }
}

/// Ignores what ends a program from its terminal: it still needs its guest to end in order, and
/// this process ends with it.
fn leave_signals_to_parent() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: ignoring a signal calls no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Ends this process soon after the program that started it, even if the guest hangs. The signal
/// that Linux has for this comes when a thread of the program ends.
fn end_with_parent() -> io::Result<()> {
    let parent = getppid();
    let watch = move || {
        while getppid() == parent {
            thread::sleep(Duration::from_millis(500));
        }
        std::process::exit(1);
    };
    thread::Builder::new().spawn(watch).map(drop)
}

/// A mounted guest, and what its chip looks like.
struct Mounted {
    guest: Box<dyn Guest>,
    shape: ChipShape,
}

fn answered(answer: Answer, bytes: Vec<u8>) -> Message {
    let number = answer.map_or_else(|number| number, |status| status as u32);
    Message::new(Kind::Answer, [number, 0, 0, 0]).with(bytes)
}

fn mount(source: &SharedObject, socket: &UnixStream, call: &Message) -> (Answer, Option<Mounted>) {
    let texts = unpacked(&call.bytes);
    let numbers: Option<Vec<u32>> = texts.iter().take(13).map(|text| text.parse().ok()).collect();
    let Some(numbers) = numbers.filter(|numbers| numbers.len() == 13) else {
        return (Ok(Status::Invalid), None);
    };
    let shape = ChipShape {
        blocks: numbers[0],
        pages_per_block: numbers[1],
        page_bytes: numbers[2],
        spare_bytes: numbers[3],
        dies: numbers[4],
        bits_per_cell: numbers[5],
        pair_distance: numbers[6],
        program_order: numbers[7],
    };
    let pairs = texts.get(13..).unwrap_or_default().chunks_exact(2);
    let device = GuestDevice {
        is_new: numbers[8] == 1,
        logical_pages: numbers[9],
        host_page_bytes: numbers[10],
        seed: u64::from(numbers[12]) << 32 | u64::from(numbers[11]),
        parameters: pairs.map(|pair| (pair[0].clone(), pair[1].clone())).collect(),
    };
    match source
        .mount(&mut DistantChip { socket, process: process::id(), shape, host: 0..0 }, &device)
    {
        Ok(guest) => (Ok(Status::Ok), Some(Mounted { guest, shape })),
        Err(answer) => (answer, None),
    }
}

impl Mounted {
    /// Makes a call of the guest. Returns the message with its answer.
    fn answer(&mut self, socket: &UnixStream, call: &Message) -> Message {
        let Mounted { guest, shape } = self;
        let [first, pages, bytes, _] = call.numbers;
        let mut data = vec![0; if call.is(Kind::Read) { bytes as usize } else { 0 }];
        let host =
            if call.is(Kind::Read) { data.as_ptr_range() } else { call.bytes.as_ptr_range() };
        let host = host.start as usize..host.end as usize;
        let chip = &mut DistantChip { socket, process: process::id(), shape: *shape, host };
        if call.is(Kind::Read) {
            let answer = guest.read(chip, first, pages, &mut data);
            answered(answer, data)
        } else if call.is(Kind::Write) {
            answered(guest.write(chip, first, pages, &call.bytes), Vec::new())
        } else if call.is(Kind::Trim) {
            answered(guest.trim(chip, first, pages), Vec::new())
        } else if call.is(Kind::Flush) {
            answered(guest.flush(chip), Vec::new())
        } else {
            answered(Ok(Status::Ok), facts(&**guest))
        }
    }
}

/// What a guest says about itself, as texts: capacity, RAM, audit, and its figures by name.
fn facts(guest: &dyn Guest) -> Vec<u8> {
    let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let mut texts = vec![
        number(guest.capacity().map(u64::from)),
        number(guest.ram()),
        guest.audit().unwrap_or_default(),
    ];
    for (name, value) in guest.figures() {
        texts.extend([name.to_owned(), value.to_string()]);
    }
    packed(texts.iter().map(String::as_str))
}
