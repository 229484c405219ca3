//! `ftlab serve`: FTLs as live NBD disks.

mod devices;
mod floor;
mod memory;
mod places;
mod watch;

#[cfg(feature = "tls")]
use std::convert::Infallible;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use drive::Profile;
use nbd::device::live::Live;
use nbd::device::pacing::{Kept, Pacing};
use nbd::device::recorder::Recorder;
use nbd::server::encryption::Encrypter;
use nbd::server::engine::{Limits, Server};
use nbd::server::pipe;
use nbd::session::Encryption;

use crate::failure::{Failure, Result};
use crate::output;
use crate::process::signals;
use devices::{DeviceArgs, ServedDevice};
use places::{HostAndPort, Place};
use watch::{WatchAddress, WatchPage};

/// Options of `ftlab serve`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: DeviceArgs,

    /// Unix socket for clients; a socket that nobody listens at is replaced
    #[arg(long, value_name = "SOCKET", help_heading = "Clients")]
    socket: Vec<PathBuf>,
    /// Host and port for clients, such as localhost:10809; with port 0 the system chooses one
    #[arg(long, value_name = "HOST:PORT", help_heading = "Clients")]
    listen: Vec<HostAndPort>,
    /// Serve one client on standard input and output, without encryption
    #[arg(
        long,
        conflicts_with_all = ["socket", "listen", "connections", "control", "pace"],
        help_heading = "Clients"
    )]
    stdin: bool,
    /// Least size of requests that clients are told to keep to; smaller ones are served, too
    #[arg(long, value_name = "1|512|4096", default_value = "1", help_heading = "Clients",
          value_parser = clap::builder::PossibleValuesParser::new(["1", "512", "4096"]))]
    block_size: String,
    /// Give the writes of each connection a stream of their own, as `--ftl streams` needs
    #[arg(long, conflicts_with_all = ["stdin", "record"], help_heading = "Clients")]
    stream_per_connection: bool,
    /// Connections at one time
    #[arg(long, value_name = "N", default_value_t = 1024, help_heading = "Clients")]
    connections: usize,

    /// Encrypt all connections, with server-cert.pem and server-key.pem in this folder
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FOLDER", conflicts_with = "stdin", help_heading = "Clients")]
    tls_certificates: Option<PathBuf>,
    /// Refuse clients without a certificate that ca-cert.pem in the folder signed
    #[cfg(feature = "tls")]
    #[arg(long, requires = "tls_certificates", conflicts_with = "stdin", help_heading = "Clients")]
    tls_verify_clients: bool,
    /// Refused: says how to have pre-shared keys all the same
    #[cfg(feature = "tls")]
    #[arg(long = "tls-psk", value_name = "FILE", value_parser = refuse_keys, hide = true)]
    _tls_psk: Option<Infallible>,

    /// Unix socket for commands while the server runs; `ftlab ctl` sends them
    #[arg(long, value_name = "SOCKET", help_heading = "Control")]
    control: Option<PathBuf>,
    /// After a cut, leave a device without power until the command `{"power":"on"}`
    #[arg(long, requires = "control", help_heading = "Control")]
    stay_down: bool,
    /// Show what the disks do: a page at this port of this machine, or at a host and a port, such
    /// as 8080 or 0.0.0.0:8080
    #[arg(long, value_name = "[HOST:]PORT", conflicts_with = "stdin", help_heading = "Control")]
    watch: Option<WatchAddress>,
    /// Let each answer leave when the drive of `--drive` would have given it
    #[arg(long, help_heading = "Control")]
    pace: bool,
    /// Drive of the pace, with its figures; see `ftlab list drives`
    #[arg(long, value_name = "SPEC", default_value = "zoned-nvme", help_heading = "Control")]
    drive: String,
    /// Record every request in a new csv file; the file with `.json` added to its name has the
    /// `ftlab run` that repeats it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    record: Option<PathBuf>,
    /// Write a new log of all durable writes, in the format of dm-log-writes
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    log_writes: Option<PathBuf>,
    /// Print nothing but failures
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

/// Runs the subcommand. The devices may take `limit_bytes` of memory.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    let handed = places::handed_over()?;
    if handed.is_empty() && args.socket.is_empty() && args.listen.is_empty() && !args.stdin {
        return Err(Failure::usage(places::NOWHERE.to_owned()));
    }
    if args.stdin && !handed.is_empty() {
        let why = "`--stdin` serves one client, not those of the sockets in LISTEN_FDS";
        return Err(Failure::usage(why.to_owned()));
    }
    let profile = args.pace.then(|| args.drive.parse::<Profile>()).transpose()?;
    let devices = args.devices.open(args.stdin, profile.as_ref(), limit_bytes)?;
    if !args.quiet && devices.iter().any(|device| device.exceeds_memory) {
        say(memory::EXCEEDED);
    }
    let floor = if args.pace { floor::of_round_trip() } else { Duration::ZERO };
    let writes_down = args.record.is_some() || args.log_writes.is_some();
    if writes_down && devices.len() > 1 {
        let why = "`--record` and `--log-writes` are for one device; start a server for each";
        return Err(Failure::usage(why.to_owned()));
    }
    let lives = devices.into_iter().map(|device| live(args, device, profile.as_ref(), floor));
    let mut lives: Vec<Live> = lives.collect::<Result<_>>()?;
    if args.stdin {
        return serve_pipe(lives.remove(0));
    }
    let lives = serve_sockets(args, lives, handed)?;
    close(args, lives)
}

fn live(
    args: &Args,
    device: ServedDevice,
    profile: Option<&Profile>,
    floor: Duration,
) -> Result<Live> {
    let ServedDevice { disk, export, .. } = device;
    let recorder = recorder(args, &disk).map_err(Failure::failed)?;
    let pace = profile.map(|profile| {
        let device = disk.device();
        let profile = profile.for_pages(device.chip.page_bytes)?;
        Ok(Pacing::new(&profile, device.geometry(), device.chip.timing, floor))
    });
    let pace = pace.transpose().map_err(|error: spec::Error| Failure::failed(error.to_string()))?;
    let least_bytes = args.block_size.parse().expect("clap knows the sizes");
    let export = nbd::export::Export { least_bytes, ..export };
    let mut live = Live::new(disk, export, pace, recorder);
    if args.stream_per_connection {
        live.give_streams();
    }
    Ok(live)
}

/// Who writes down what is done to the only device.
fn recorder(args: &Args, disk: &disk::Disk) -> std::result::Result<Recorder, String> {
    let mut recorder = Recorder::idle();
    if let Some(path) = &args.record {
        recorder.begin_record(path.clone(), disk)?;
    }
    if let Some(path) = &args.log_writes {
        recorder.begin_log(path.clone())?;
    }
    Ok(recorder)
}

fn serve_pipe(mut live: Live) -> Result<()> {
    let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    let served = pipe::serve(&mut live, &mut stdin, &mut stdout);
    live.close().map_err(Failure::failed)?;
    served.map_err(|error| Failure::failed(format!("standard input or output: {error}")))
}

/// Serves until a signal comes. Returns the devices.
fn serve_sockets(args: &Args, lives: Vec<Live>, handed: Vec<Place>) -> Result<Vec<Live>> {
    let names: Vec<String> = lives.iter().map(|live| live.export().name.clone()).collect();
    let limits = Limits { connections: args.connections, ..Limits::default() };
    let is_quiet = args.quiet;
    let notice = move |sentence: &str| {
        if !is_quiet {
            say(sentence);
        }
    };
    let refused = |error: std::io::Error| Failure::failed(format!("cannot serve: {error}"));
    let encrypter = encrypter(args)?;
    let is_encrypted = encrypter.policy() == Encryption::Required;
    let mut server = Server::new(lives, limits, encrypter, Box::new(notice)).map_err(refused)?;
    if args.stay_down {
        server.stay_down();
    }
    let page = args.watch.as_ref().map(WatchPage::open).transpose()?;
    // Before the first socket: whoever finds one may ask the server to end.
    let stopper = server.stopper();
    signals::stop_by(move || stopper.stop());
    if let Some(path) = &args.control {
        server.take_commands(path).map_err(places::failed(&path.display()))?;
    }
    for (listener, address) in handed.into_iter().chain(places::opened(&args.socket, &args.listen)?)
    {
        server.accept_from(listener).map_err(places::failed(&address))?;
        if !args.quiet && !is_encrypted && address.is_open_to_others() {
            say(&format!("anyone who can reach {address} can read and change the disks"));
        }
        for name in names.iter().filter(|_| !args.quiet) {
            output::print(&format!("serving \"{name}\" at {}\n", address.uri(name, is_encrypted)))?;
        }
    }
    if let Some(page) = page {
        watch(page, &mut server, &names, args.quiet)?;
    }
    let (lives, ended) = server.run();
    if let Err(error) = ended {
        // The devices are closed all the same.
        say(&format!("cannot serve any more: {error}"));
    }
    Ok(lives)
}

/// Serves the page on which the disks can be watched.
fn watch(page: WatchPage, server: &mut Server, names: &[String], is_quiet: bool) -> Result<()> {
    if !is_quiet && page.is_open_to_others() {
        say(&format!("anyone who can reach {} can watch the disks", page.address(1)));
    }
    for (disk, name) in (1..).zip(names).filter(|_| !is_quiet) {
        output::print(&format!("watch \"{name}\" at {}\n", page.address(disk)))?;
    }
    page.serve(server.viewer(), names.len())
}

/// Prints a sentence on standard error. If nobody reads it, the server goes on.
fn say(sentence: &str) {
    let _ = writeln!(std::io::stderr().lock(), "ftlab: {sentence}");
}

#[cfg(feature = "tls")]
fn encrypter(args: &Args) -> Result<Encrypter> {
    use nbd::server::tls::Certificates;

    let Some(folder) = &args.tls_certificates else { return Ok(Encrypter::default()) };
    let certificates = Certificates::in_folder(folder, args.tls_verify_clients);
    Ok(Encrypter::required(certificates.map_err(Failure::failed)?))
}

/// nbdkit knows this option, so people try it here.
#[cfg(feature = "tls")]
fn refuse_keys(file: &str) -> std::result::Result<Infallible, String> {
    Err(format!(
        "pre-shared keys are not supported; use `--tls-certificates`, or serve a Unix socket and \
         put nbdkit in front of it: `nbdkit --tls=require --tls-psk={file} nbd socket=SOCKET`"
    ))
}

#[cfg(not(feature = "tls"))]
fn encrypter(_args: &Args) -> Result<Encrypter> {
    Ok(Encrypter::default())
}

/// Closes all devices, also if one of them fails.
fn close(args: &Args, lives: Vec<Live>) -> Result<()> {
    let mut closed = Ok(());
    let mut printed = Ok(());
    for live in lives {
        let name = live.export().name.clone();
        if let Some(kept) = live.gate.pace().map(Pacing::kept).filter(|_| !args.quiet) {
            printed = printed.and(output::print(&report(&name, &kept)));
        }
        if let Err(error) = live.close() {
            closed = Err(Failure::failed(format!("\"{name}\" could not be closed: {error}")));
        }
    }
    closed.and(printed)
}

/// How well a pace was kept, in sentences.
fn report(name: &str, kept: &Kept) -> String {
    let micros = |time: Duration| format!("{:.1}", time.as_nanos() as f64 / 1e3);
    let Kept { answers, late, responses, seen, .. } = *kept;
    let mut report = format!(
        "\"{name}\": {answers} answers; the drive would have given half of them within {} us and \
         99 % within {} us; half left at most {} us late, 99 % at most {} us\n",
        micros(responses.p50),
        micros(responses.p99),
        micros(late.p50),
        micros(late.p99)
    );
    if kept.is_vouched() {
        return report;
    }
    if kept.is_in_time() {
        report += &format!(
            "\"{name}\": {:.1} % of the answers were due before a round trip over the socket is \
             over, which takes {} us here; no pace can be vouched for below that\n",
            100.0 * kept.below_floor,
            micros(kept.floor)
        );
    } else {
        report += &format!(
            "\"{name}\": clients see a mean of {} us instead of {}, a median of {} us instead of \
             {}, and 99 % within {} us instead of {}; the pace is not vouched for, as on a machine \
             that is busy with other work\n",
            micros(seen.mean),
            micros(responses.mean),
            micros(seen.p50),
            micros(responses.p50),
            micros(seen.p99),
            micros(responses.p99)
        );
    }
    report
}
