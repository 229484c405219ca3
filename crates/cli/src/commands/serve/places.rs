//! The places where clients find the server: sockets that it opens, and sockets that were open when
//! it was started.

use std::fmt::Display;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use listenfd::ListenFd;
use nbd::server::address::{Address, Listener};

use crate::failure::{Failure, Result};

/// A listener, and where it is.
pub type Place = (Listener, Address);

/// Why a server that nobody could find does not start.
pub const NOWHERE: &str = "nobody could find this server; give it a place: `--socket SOCKET`, \
                           `--listen HOST:PORT` or `--stdin`, or start it with open sockets \
                           (LISTEN_FDS and LISTEN_PID), as service managers do";

/// Sockets that a server takes over from whoever starts it.
const HANDED_MAX: usize = 32;

/// A host, by name or address, and a port.
#[derive(Clone, Debug)]
pub struct HostAndPort(String);

impl FromStr for HostAndPort {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<HostAndPort, String> {
        let parts = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        let is_address = text.parse::<SocketAddr>().is_ok();
        let is_named = parts.is_some_and(|(host, port)| {
            !host.contains([':', '[', ']']) && port.parse::<u16>().is_ok()
        });
        match is_address || is_named {
            true => Ok(HostAndPort(text.to_owned())),
            false => Err("give a host and a port, such as localhost:10809, 127.0.0.1:10809 or \
                          [::1]:10809"
                .to_owned()),
        }
    }
}

/// What went wrong when a place was opened.
pub fn failed(place: &dyn Display) -> impl Fn(io::Error) -> Failure {
    let place = place.to_string();
    move |error| Failure::failed(format!("cannot listen at {place}: {error}"))
}

/// Opens Unix sockets, and ports at every address of each host.
///
/// # Errors
/// A place cannot be opened.
pub fn opened(sockets: &[PathBuf], hosts: &[HostAndPort]) -> Result<Vec<Place>> {
    let mut places = Vec::new();
    for path in sockets {
        let address = Address::Unix(path.clone());
        places.push(Listener::bind(&address).map_err(failed(&address))?);
    }
    for HostAndPort(host) in hosts {
        places.extend(of_host(host)?);
    }
    Ok(places)
}

/// The ports at the addresses of a host. A name may have addresses that this machine lacks, such as
/// `localhost` without IPv6. One address is enough, unless another program listens there.
fn of_host(host: &str) -> Result<Vec<Place>> {
    let addresses = host.to_socket_addrs().map_err(failed(&host))?;
    let mut places = Vec::new();
    let mut lacking = None;
    for address in addresses.map(Address::Tcp) {
        match Listener::bind(&address) {
            Ok(place) => places.push(place),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                return Err(failed(&address)(error));
            }
            Err(error) => lacking = Some(failed(&address)(error)),
        }
    }
    match (places.is_empty(), lacking) {
        (false, _) => Ok(places),
        (true, Some(failure)) => Err(failure),
        (true, None) => Err(Failure::failed(format!("{host} has no address"))),
    }
}

/// The sockets that were handed over with the environment variables LISTEN_FDS and LISTEN_PID.
/// Those for another process are none.
///
/// # Errors
/// One of them is not a socket to listen at.
pub fn handed_over() -> Result<Vec<Place>> {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let sockets = variable("LISTEN_FDS");
    if variable("LISTEN_PID") != std::process::id().to_string() {
        return Ok(Vec::new());
    }
    if sockets.parse().is_ok_and(|sockets: usize| sockets > HANDED_MAX) {
        let why = format!("LISTEN_FDS is {sockets}; a server takes {HANDED_MAX} sockets at most");
        return Err(Failure::usage(why));
    }
    let mut handed = ListenFd::from_env();
    (0..handed.len()).map(|number| taken_over(&mut handed, number)).collect()
}

fn taken_over(handed: &mut ListenFd, number: usize) -> Result<Place> {
    let refused = |error: io::Error| {
        let why = format!("socket {number} of LISTEN_FDS is not one to listen at: {error}");
        Failure::failed(why)
    };
    let place = match handed.take_unix_listener(number) {
        Ok(socket) => socket.map(Listener::of_unix),
        Err(_) => handed.take_tcp_listener(number).map_err(refused)?.map(Listener::of_tcp),
    };
    place.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into())).map_err(refused)
}
