//! A real browser that opens pages, and the place where a test writes them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Names under which the browser is installed.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The virtual time that a page gets: when it is idle, the browser advances its clock.
const BUDGET_MS: &str = "--virtual-time-budget=30000";

pub fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("FTLAB_CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = all.into_iter().find(|path| path.is_file());
    if found.is_none() {
        let required = std::env::var("FTLAB_REQUIRE").unwrap_or_default();
        let needed = required.split(',').any(|what| what.trim() == "chromium");
        assert!(!needed, "no Chromium on the path");
        println!("skipped: no Chromium on the path");
    }
    found
}

/// A page in a browser: its document, and the messages on the console.
pub struct Seen {
    pub document: String,
    pub console: Vec<String>,
}

impl Seen {
    pub fn of(browser: &Path, page: &Path, is_dark: bool) -> Seen {
        let profile = tempfile::tempdir().unwrap();
        let url = format!("file://{}", page.display());
        let scheme = if is_dark { 0 } else { 1 };
        let output = Command::new(browser)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", BUDGET_MS])
            .arg("--enable-blink-features=ComputedAccessibilityInfo")
            .args(["--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .arg(format!("--blink-settings=preferredColorScheme={scheme}"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(url)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        let said = log.lines().filter(|line| line.contains("CONSOLE"));
        Seen {
            document: String::from_utf8(output.stdout).unwrap(),
            console: said.map(str::to_owned).collect(),
        }
    }

    /// The number of marks of each figure, by its name.
    pub fn drawn(&self) -> Vec<(&str, u32)> {
        let charts = self.document.split("<div class=\"chart ").skip(1);
        let attribute = |chart: &'_ str, name: &str| -> Option<(usize, usize)> {
            let start = chart.find(&format!("{name}=\""))? + name.len() + 2;
            Some((start, start + chart[start..].find('"')?))
        };
        charts
            .map(|chart| {
                let (from, to) = attribute(chart, "data-figure").expect("a chart has a name");
                let marks = attribute(chart, "data-drawn")
                    .map_or(0, |(from, to)| chart[from..to].parse().expect("a number of marks"));
                (&chart[from..to], marks)
            })
            .collect()
    }
}

/// What of a page does not fit a screen of each of these widths: text that is cut, clipped or drawn
/// over other text, and figures that are wider than the page.
fn layout_faults(browser: &Path, page: &Path, widths: &[u32]) -> Vec<String> {
    let html = std::fs::read_to_string(page).unwrap();
    let probe = format!("<script>{}</script>", include_str!("layout.js"));
    let probed = page.with_extension("probed.html");
    std::fs::write(&probed, html + &probe).unwrap();
    // The window of a browser cannot be as narrow as a phone, but a frame can.
    let frame = |width: &u32| {
        format!(
            "<iframe name='{width}' src='file://{}' style='width: {width}px; height: 2000px; \
             border: 0'></iframe>",
            probed.display()
        )
    };
    let frames: String = widths.iter().map(frame).collect();
    let listen = "<script>onmessage = ({ data, source }) => {
        const frames = [...document.querySelectorAll('iframe')];
        const { name } = frames.find((frame) => frame.contentWindow === source);
        document.body.dataset['faults' + name] = data;
    };</script>";
    let outer = page.with_extension("frame.html");
    std::fs::write(&outer, frames + listen).unwrap();
    let seen = Seen::of(browser, &outer, false);
    let faults_at = |width: &u32| -> Vec<String> {
        let found = seen.document.split(&format!("data-faults{width}=\"")).nth(1);
        let found = found.expect("the page was looked at").split('"').next().unwrap();
        found.split("; ").skip(1).map(|fault| format!("{fault} at {width} pixels")).collect()
    };
    widths.iter().flat_map(faults_at).collect()
}

pub fn fits_phone_and_desk(browser: &Path, page: &Path) {
    assert_eq!(layout_faults(browser, page, &[390, 1400]), [""; 0], "{}", page.display());
}

pub struct Place(pub TempDir);

impl Place {
    pub fn command(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
        command.current_dir(&self.0).args(words).output().unwrap()
    }

    /// Runs a command that must succeed. Returns what it prints.
    pub fn ftlab(&self, words: &[&str]) -> Vec<u8> {
        let output = self.command(words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
