//! `--watch`: a page on which a disk can be watched at work.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::fixture::are_here;

const DISK: &str = "serve --memory --ftl fast --capacity 8MiB --chip slc-fast2010:page=4KiB \
                    --socket s --control c --watch 0";

/// A server with a page.
struct Watched {
    process: Child,
    folder: tempfile::TempDir,
    /// `127.0.0.1:PORT`.
    at: String,
}

impl Watched {
    fn start() -> Watched {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
        command.current_dir(&folder).args(DISK.split_whitespace());
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = lines.map(Result::unwrap).find(|line| line.starts_with("watch "));
        let line = line.expect("the server says where its page is");
        let at = line.split("http://").nth(1).unwrap().trim_end_matches('/').to_owned();
        assert!(at.starts_with("127.0.0.1:"), "only this machine can reach it: {line}");
        Watched { process, folder, at }
    }

    /// The status and the body of an answer to this request.
    fn answer(&self, method: &str, path: &str, host: &str) -> (u32, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|it| it == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let length = head.split("Content-Length: ").nth(1).unwrap();
        let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
        let body = answer[end + 4..].to_vec();
        assert_eq!(body.len(), length);
        (head[9..12].parse().unwrap(), body)
    }

    fn get(&self, path: &str) -> (u32, Vec<u8>) {
        self.answer("GET", path, &self.at)
    }

    fn refused(&self, method: &str, path: &str, host: &str) -> (u32, String) {
        let (status, body) = self.answer(method, path, host);
        (status, String::from_utf8(body).unwrap())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_page_and_its_films_are_served_and_nothing_else() {
    let server = Watched::start();
    let (status, page) = server.get("/");
    let page = String::from_utf8(page).unwrap();
    assert_eq!(status, 200);
    assert!(page.contains("data-live=\"&#x2f;1\"") && page.contains("id=\"follow\""), "{status}");
    assert_eq!(server.get("/1/film"), (200, Vec::new()), "nothing was done");
    for (method, path, host, status, why) in [
        ("POST", "/", &*server.at, 405, "the page can only be looked at"),
        ("GET", "/2", &server.at, 404, "there is nothing at /2"),
        ("GET", "/x/film", &server.at, 404, "there is nothing at /x/film"),
        (
            "GET",
            "/",
            "evil.example",
            403,
            "this server is not called `evil.example`; use its address",
        ),
    ] {
        assert_eq!(server.refused(method, path, host), (status, why.to_owned()));
    }
    assert_eq!(server.answer("GET", "/1/film", "localhost:1").0, 200);
    // Whoever says nothing, or hangs up, holds nobody up for long.
    drop(TcpStream::connect(&server.at).unwrap());
    assert_eq!(server.get("/1").0, 200);
}

#[test]
fn a_film_is_of_what_the_disk_does_meanwhile() {
    if !are_here(&["qemu-io"]) {
        return;
    }
    let server = Watched::start();
    let (films, written) = while_writing(&server, |server| {
        (0..6).map(|_| server.get("/1/film").1).collect::<Vec<_>>()
    });
    assert!(written, "the disk serves its client while it is watched");
    let shown: Vec<_> = films.iter().filter(|film| !film.is_empty()).collect();
    assert!(!shown.is_empty(), "requests were seen");
    assert!(shown.iter().all(|film| film.starts_with(&[0x1F, 0x8B])), "films are compressed");
}

/// Watches while a client writes. Returns also whether all writes succeeded.
fn while_writing<T>(server: &Watched, watch: impl FnOnce(&Watched) -> T) -> (T, bool) {
    let has_seen = AtomicBool::new(false);
    let uri = format!("nbd+unix:///?socket={}", server.folder.path().join("s").display());
    let write = || {
        let mut client = Command::new("qemu-io");
        client.args(["-f", "raw", &uri]).stdin(Stdio::null()).stdout(Stdio::null());
        for page in 0..40 {
            client.args(["-c", &format!("write {}k 4k", 4 * page * 13), "-c", "sleep 5"]);
        }
        client.status().unwrap().success()
    };
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut all = true;
            while !has_seen.load(Ordering::Relaxed) {
                all &= write();
            }
            all
        });
        let seen = watch(server);
        has_seen.store(true, Ordering::Relaxed);
        (seen, writer.join().unwrap())
    })
}

/// A browser shows several pictures, stops for a reader who takes the controls, and says when the
/// server is gone. See `page.js`.
#[test]
fn a_browser_shows_picture_after_picture() {
    let Some(browser) = crate::browser::chromium().filter(|_| are_here(&["qemu-io"])) else {
        return;
    };
    let server = Watched::start();
    let page = server.folder.path().join("page.html");
    std::fs::write(&page, server.get("/").1).unwrap();
    crate::browser::fits_phone_and_desk(&browser, &page);
    let (document, written) = while_writing(&server, |server| shown(&browser, server));
    assert!(written);
    let pictures = document.split("data-pictures=\"").nth(1).expect("pictures were shown");
    let pictures: u32 = pictures.split('"').next().unwrap().parse().unwrap();
    assert!(pictures >= 2, "{pictures} pictures");
    assert!(document.contains(">live</span>"), "it says that it is live");
    assert!(!document.contains("data-failed"));
}

fn shown(browser: &Path, server: &Watched) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--virtual-time-budget=4000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("http://{}/", server.at))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}
