"""Figures and numbers of reports: bars, sums, axes, units and rounding."""

PACKAGES = ["ftlab-report --lib"]

REPORT = "crates/report/src/"
RUNS = REPORT + "runs/"
AXIS = REPORT + "charts/axis.rs"
POINT = REPORT + "charts/point.rs"
LABELS = REPORT + "axis_labels.rs"
NUMBERS = REPORT + "number_format.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("hole-causes-overlap", "time by cause: all parts of a bar begin at zero", RUNS + "times.rs",
     "            from += part;\n",
     "            let _ = &mut from;\n"),
    ("hole-mark-beside-part", "time by cause: the letter stands at the end of its part", RUNS + "times.rs",
     '"middle": from + part / 2.0,',
     '"middle": from + part,'),
    ("hole-parts-overlap", "parts of responses: all parts begin at zero", RUNS + "drive.rs",
     "            share_from = share_to;\n",
     "            share_from = 0.0 * share_to;\n"),
    ("hole-slowest-unweighted", "parts of responses: a class counts once, whatever its requests", RUNS + "drive.rs",
     "*sum += part * *of_class as f64;",
     "*sum += part;"),
    ("hole-lines-cover-dies", "utilisation: bars of channels lie over those of dies", RUNS + "drive.rs",
     "            first += shares.len() as f64 + 1.0;\n",
     "            first += 0.0 * shares.len() as f64;\n"),
    ("hole-heat-map-shifted", "heat map: a slice stands one place too far to the right", RUNS + "drive.rs",
     '"since": since, "until": since + seconds,',
     '"since": since + seconds, "until": since + 2.0 * seconds,'),
    ("hole-merges-overlap", "data blocks per merge: bars are wider than their places", RUNS + "blocks.rs",
     '"from": na - 0.4, "to": na + 0.4})',
     '"from": na - 0.8, "to": na + 0.8})'),
    ("hole-merges-mean", "data blocks per merge: the mean counts blocks from one", RUNS + "blocks.rs",
     "(0..).zip(&counts).map(|(na, &n)|",
     "(1..).zip(&counts).map(|(na, &n)|"),
    ("hole-victims-not-summed", "victims: the distribution is not cumulative", RUNS + "blocks.rs",
     "            seen += count;\n",
     "            seen = count;\n"),
    ("hole-wear-of-last-cell", "wear: a last cell of fewer blocks looks less worn", RUNS + "blocks.rs",
     "let blocks = step.min(all - first);",
     "let blocks = step.min(all);"),
    ("hole-throughput-inverted", "throughput: it is the time of a million requests", RUNS + "series.rs",
     "|mean_service_us| 1e6 / mean_service_us,",
     "|mean_service_us| mean_service_us,"),
    ("hole-curve-lower-bound", "distributions: the slowest request is left out of a curve", RUNS + "times.rs",
     "if us > 0.0 && (shows || seen == total) {",
     "if us > 0.0 && shows && seen < total {"),
    ("hole-published-unscaled", "charts: published values keep the unit of the plan", REPORT + "charts/point.rs",
     "let published = self.published.map(|end| end.map(times));",
     "let published = self.published;"),
    ("axis-fraction-as-it-is", "charts: a share that is written as a fraction is drawn as it is", POINT,
     "is_of_share && text.parse::<f64>().is_ok()", "is_of_share && text.is_empty()"),
    ("axis-blocks-as-shares", "charts: numbers of blocks stand on an axis of shares", AXIS,
     ".and_then(if self.is_share { per_cent } else { quantity })",
     ".and_then(|text| per_cent(text).filter(|_| self.is_share).or_else(|| quantity(text)))"),
    ("hole-ticks-of-some", "charts: sizes in KiB have no unit on the axis", AXIS,
     'axis["labelExpr"] = BINARY.into();',
     'axis["labelExpr"] = "datum.value".into();'),
    ("hole-axis-decades", "charts: an axis of several magnitudes is linear", AXIS,
     "const LOGARITHMIC_FROM: f64 = 30.0;",
     "const LOGARITHMIC_FROM: f64 = 30_000.0;"),
    ("hole-seconds-as-microseconds", "labels: seconds are called microseconds", LABELS,
     'label.replace("(µs)", "(s)"))',
     'label.to_owned())'),
    ("hole-relative-with-unit", "labels: a ratio of two runs has a unit", LABELS,
     'format!("{}, relative to the other run", without_unit(label))',
     'format!("{label}, relative to the other run")'),
    ("hole-terabytes-binary", "numbers: a terabyte has 1024 GiB", NUMBERS,
     "let terabytes = bytes / 1e12;",
     "let terabytes = bytes / f64::powi(1024.0, 4);"),
]
