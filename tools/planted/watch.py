"""Films of a disk at work: `--watch`."""

PACKAGES = ["ftlab-nbd --lib device::watch", "ftlab-nbd --test server watching"]

WATCH = "crates/nbd/src/device/watch.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("watch-cut-kept-for-ever", "watch: a film of a power cut waits for its viewer for ever", WATCH,
     "cut_at.is_some_and(|at| at.elapsed() >= KEPT)", "cut_at.is_some_and(|at| at.elapsed() >= KEPT * 1000)"),
    ("watch-old-cut-shown", "watch: whoever comes late is shown an old power cut", WATCH,
     "        self.asked_at = Some(began);\n        self.forget_old_cut();\n", "        self.asked_at = Some(began);\n"),
    ("watch-old-cut-held", "watch: the memory of an old film is held while nobody watches", WATCH,
     "        self.requests += 1;\n        self.forget_old_cut();\n", "        self.requests += 1;\n"),
    ("watch-unseen-cut-filmed", "watch: a power cut is filmed although nobody watches", WATCH,
     "if is_watched && self.camera.is_none()", "if self.camera.is_none()"),
    ("watch-cut-goes-on", "watch: requests after a power cut are in the film of the cut", WATCH,
     "            camera.runs = false;\n            camera.cut_at", "            camera.cut_at"),
    ("watch-endless-film", "watch: a film has as many requests as there are", WATCH,
     "        if camera.requests == REQUESTS_MAX {\n", "        if camera.requests > usize::MAX / 2 {\n"),
    ("watch-records-for-nobody", "watch: operations are recorded after the last film", WATCH,
     "    if sink.drive.is_none() {\n        nand.attach(None);\n    }\n", ""),
    ("watch-reads-count-as-writes", "watch: pages that are read count as written", WATCH,
     "if op == HostOp::Write { pages } else { 0 };", "pages;"),
    ("watch-unseen-requests-uncounted", "watch: requests between two films have no number", WATCH,
     "        self.requests += 1;\n        self.forget_old_cut();\n",
     "        self.requests += u64::from(self.camera.is_some());\n        self.forget_old_cut();\n"),
]
