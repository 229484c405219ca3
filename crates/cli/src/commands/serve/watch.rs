//! `--watch`: a page on which the disks can be watched at work, over HTTP.
//!
//! ```text
//! GET /        the page of the first disk; /2 that of the second, …
//! GET /2/film  a film of what is done to the second disk from now on; empty if nothing was done
//! ```
//! Browsers open connections before they need them, so each connection has a thread. Only one of
//! them films at a time.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use film::Film;
use nbd::server::viewer::Viewer;
use report::pages;

use crate::failure::{Failure, Result};
use crate::output::made_by;

/// The most bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// The most headers of a request.
const HEADERS_MAX: usize = 64;
/// The most connections at one time.
const CONNECTIONS_MAX: usize = 32;
/// How long nobody is let in after the system has refused a connection.
const RETRY: Duration = Duration::from_millis(100);
/// How long a browser may take to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the page is: a port of this machine, or a host and a port.
#[derive(Clone, Debug)]
pub struct WatchAddress {
    host: String,
    port: u16,
}

impl FromStr for WatchAddress {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<WatchAddress, String> {
        let (host, port) = text.rsplit_once(':').unwrap_or(("127.0.0.1", text));
        let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
        match port.parse() {
            Ok(port) if !host.is_empty() => Ok(WatchAddress { host: host.to_owned(), port }),
            _ => {
                Err("give a port, such as 8080, or a host and a port, such as 0.0.0.0:8080; with \
                      port 0 the system chooses one"
                    .to_owned())
            }
        }
    }
}

/// Where the page of disks is served.
pub struct WatchPage {
    listener: TcpListener,
    host: String,
}

/// An answer.
struct Answer {
    status: &'static str,
    kind: &'static str,
    body: Vec<u8>,
}

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const FILM: &str = "application/octet-stream";

impl Answer {
    fn refusal(status: &'static str, why: impl Into<String>) -> Answer {
        Answer { status, kind: TEXT, body: why.into().into_bytes() }
    }
}

impl WatchPage {
    /// Opens the port.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(at: &WatchAddress) -> Result<WatchPage> {
        let WatchAddress { host, port } = at;
        let failed = |error: io::Error| {
            Failure::failed(format!("cannot serve the page of `--watch` at {host}:{port}: {error}"))
        };
        let addresses: Vec<_> = (&**host, *port).to_socket_addrs().map_err(failed)?.collect();
        let listener = TcpListener::bind(&*addresses).map_err(failed)?;
        Ok(WatchPage { listener, host: host.clone() })
    }

    /// The address of the page of a disk, by its number from 1.
    pub fn address(&self, disk: usize) -> String {
        let Ok(address) = self.listener.local_addr() else { return String::new() };
        let path = if disk == 1 { String::new() } else { disk.to_string() };
        format!("http://{address}/{path}")
    }

    /// Whether others than this machine can reach it.
    pub fn is_open_to_others(&self) -> bool {
        self.listener.local_addr().is_ok_and(|address| !address.ip().is_loopback())
    }

    /// Serves the page until the process ends.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn serve(self, viewer: Viewer, disks: usize) -> Result<()> {
        let desk = Arc::new(Desk { viewer: Mutex::new(viewer), disks, host: self.host });
        let serve = move || {
            for stream in self.listener.incoming() {
                // Each connection holds the desk.
                let is_full = Arc::strong_count(&desk) > CONNECTIONS_MAX;
                let Some(stream) = stream.ok().filter(|_| !is_full) else {
                    thread::sleep(RETRY);
                    continue;
                };
                let (desk, name) = (Arc::clone(&desk), "viewer".to_owned());
                // Whoever hangs up needs no answer, and without a thread there is none.
                let answer = move || desk.serve(stream);
                let _ = thread::Builder::new().name(name).spawn(answer);
            }
        };
        let started = thread::Builder::new().name("watch".to_owned()).spawn(serve);
        let why = "cannot serve the page of `--watch`";
        started.map(drop).map_err(|error| Failure::failed(format!("{why}: {error}")))
    }
}

/// Answers browsers.
struct Desk {
    viewer: Mutex<Viewer>,
    disks: usize,
    host: String,
}

impl Desk {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(PATIENCE))?;
        let Some(head) = read_head(&mut stream)? else { return Ok(()) };
        let Answer { status, kind, body } = self.answer(&head);
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&body)
    }

    fn answer(&self, head: &[u8]) -> Answer {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let (Ok(_), Some(method), Some(path)) = (request.parse(head), request.method, request.path)
        else {
            return Answer::refusal("400 Bad Request", "this is no request of a browser");
        };
        if method != "GET" {
            return Answer::refusal("405 Method Not Allowed", "the page can only be looked at");
        }
        // Another site must not reach a disk through the browser under a name of its own.
        let named = request.headers.iter().find(|it| it.name.eq_ignore_ascii_case("host"));
        let named = named.and_then(|it| std::str::from_utf8(it.value).ok()).unwrap_or_default();
        if !self.is_own_name(named) {
            let why = format!("this server is not called `{named}`; use its address");
            return Answer::refusal("403 Forbidden", why);
        }
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let (disk, wants_film) = match path.strip_suffix("/film") {
            Some(disk) => (disk, true),
            None => (path, false),
        };
        let number = match disk.trim_start_matches('/') {
            "" => Some(1),
            number => number.parse().ok().filter(|number| (1..=self.disks).contains(number)),
        };
        match number {
            Some(number) if wants_film => self.film(number),
            Some(number) => self.page(number),
            None => Answer::refusal("404 Not Found", format!("there is nothing at {path}")),
        }
    }

    /// Whether a name in a browser means this server: an address, or the name that it was given.
    fn is_own_name(&self, named: &str) -> bool {
        let host = match named.rsplit_once(':') {
            Some((host, port)) if port.parse::<u16>().is_ok() => host,
            _ => named,
        };
        let host = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
        host.parse::<IpAddr>().is_ok() || host == "localhost" || host == self.host
    }

    fn filmed(&self, disk: usize) -> std::result::Result<(Film, bool), String> {
        // A film that failed leaves nothing behind that the next one needs.
        let mut viewer = self.viewer.lock().unwrap_or_else(PoisonError::into_inner);
        viewer.encoded(disk - 1)
    }

    fn page(&self, disk: usize) -> Answer {
        match self.filmed(disk) {
            Ok((film, _)) => {
                let html = pages::film::live_html(film, &made_by("serve"), &format!("/{disk}"));
                Answer { status: "200 OK", kind: HTML, body: html.into_bytes() }
            }
            Err(why) => Answer::refusal("503 Service Unavailable", why),
        }
    }

    fn film(&self, disk: usize) -> Answer {
        match self.filmed(disk) {
            Ok((film, has_requests)) => {
                let body = if has_requests { film.bytes } else { Vec::new() };
                Answer { status: "200 OK", kind: FILM, body }
            }
            Err(why) => Answer::refusal("503 Service Unavailable", why),
        }
    }
}

/// The head of a request; none if the browser hangs up, takes too long or sends too much.
fn read_head(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let (began, mut head) = (Instant::now(), Vec::new());
    let mut part = [0; 2048];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let Some(left) = PATIENCE.checked_sub(began.elapsed()).filter(|left| !left.is_zero())
        else {
            return Ok(None);
        };
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Ok(None),
            bytes => head.extend(&part[..bytes]),
        }
        if head.len() > HEAD_BYTES_MAX {
            return Ok(None);
        }
    }
    Ok(Some(head))
}
