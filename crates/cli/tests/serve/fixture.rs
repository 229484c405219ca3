//! A server in a folder of its own, and the programs that talk to it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Folders of programs for the administrator, which are not on every path.
const MORE_FOLDERS: &str = "/usr/sbin:/sbin";

/// A device that collects garbage soon: 64 MiB on pages of 4 KiB.
pub const MEMORY: &str = "--memory --ftl page --capacity 64MiB --chip slc-fast2010:page=4KiB";

fn path() -> String {
    format!("{}:{MORE_FOLDERS}", std::env::var("PATH").unwrap_or_default())
}

/// What a test needs is missing. It is skipped, unless `FTLAB_REQUIRE` lists `nbd`.
pub fn skip(what: &str) {
    let required = std::env::var("FTLAB_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|one| one.trim() == "nbd"), "there is no {what}");
    println!("skipped: there is no {what}");
}

/// Whether all these programs are here.
pub fn are_here(programs: &[&str]) -> bool {
    let path = path();
    let is_in = |folder: &str, program: &str| PathBuf::from(folder).join(program).is_file();
    let is_here = |program: &str| path.split(':').any(|folder| is_in(folder, program));
    let missing = programs.iter().find(|program| !is_here(program));
    missing.inspect(|program| skip(program)).is_none()
}

/// A Python that has the module `nbd`. The one on the path may be another than the system's.
pub fn python_with_nbd() -> Option<&'static str> {
    let has = |python: &&str| {
        let import = Command::new(python).args(["-c", "import nbd"]).stderr(Stdio::null()).status();
        import.is_ok_and(|status| status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has);
    if found.is_none() {
        skip("Python with the module nbd");
    }
    found
}

/// A server, which ends with the value.
pub struct Server {
    /// Its folder; none when somebody else has it again.
    place: Option<TempDir>,
    process: Child,
    uri: String,
}

impl Server {
    /// Starts `ftlab serve` with these options, and waits until it listens.
    #[track_caller]
    pub fn start(options: &str) -> Server {
        Server::start_in(tempfile::tempdir().unwrap(), options)
    }

    /// The same in a folder that has files for it.
    #[track_caller]
    pub fn start_in(place: TempDir, options: &str) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
        command.current_dir(&place).arg("serve").args(options.split_whitespace());
        command.arg("--socket").arg(place.path().join("s")).args(["--control", "c"]);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("serving \""), "{options}: {line:?}");
        let uri = line.trim_end().split(" at ").last().unwrap().to_owned();
        Server { place: Some(place), process, uri }
    }

    /// The address of the first export.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    fn folder(&self) -> &Path {
        self.place.as_ref().expect("a server has a folder until it ends").path()
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// A program that is started beside the server. `URI` stands for the address.
    pub fn command(&self, line: &str) -> Command {
        let mut words = line.split_whitespace().map(|word| word.replace("URI", &self.uri));
        let mut command = Command::new(words.next().expect("a program"));
        command.current_dir(self.folder()).env("PATH", path()).args(words).stdin(Stdio::null());
        command
    }

    pub fn ran(&self, line: &str) -> Output {
        self.command(line).output().unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Runs a program that must succeed. Returns what it prints.
    #[track_caller]
    pub fn ok(&self, line: &str) -> String {
        let output = self.ran(line);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {}: {text}{said}", output.status);
        text
    }

    /// A file of pseudorandom bytes, the same in every run.
    pub fn random_file(&self, name: &str, bytes: usize) {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let words = (0..bytes / 8).flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        fs::write(self.at(name), words.collect::<Vec<u8>>()).unwrap();
    }

    #[track_caller]
    pub fn same_files(&self, one: &str, other: &str) {
        let [one_bytes, other_bytes] = [one, other].map(|name| fs::read(self.at(name)).unwrap());
        assert!(one_bytes == other_bytes, "{one} and {other} differ");
    }

    /// The numbers of the processes that the server has started.
    pub fn children(&self) -> Vec<String> {
        let tasks = format!("/proc/{}/task", self.process.id());
        let of_task =
            |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap();
        let tasks = fs::read_dir(tasks).unwrap().map(Result::unwrap);
        tasks
            .flat_map(|task| {
                of_task(task).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Ends the server in order. Returns its folder.
    #[track_caller]
    pub fn end(mut self) -> TempDir {
        let killed = Command::new("kill").arg(self.process.id().to_string()).status().unwrap();
        assert!(killed.success());
        let started = Instant::now();
        while self.process.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < Duration::from_secs(20), "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
        assert!(!self.at("s").exists(), "the socket is left");
        self.place.take().unwrap()
    }

    /// Kills the server. Returns its folder.
    pub fn kill(mut self) -> TempDir {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.place.take().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
