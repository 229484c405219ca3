//! Reports in a real browser: it draws every figure, reports no error, and shows the numbers of the
//! JSON.
//!
//! Without Chromium, or the browser that `FTLAB_CHROMIUM` names, these tests print that they are
//! skipped and pass, unless `FTLAB_REQUIRE` lists `chromium`.

mod browser;
mod films;

use std::path::Path;

use serde_json::Value;

use browser::{Place, Seen, chromium, fits_phone_and_desk};

#[test]
fn every_figure_of_a_comparison_is_drawn_in_light_and_dark() {
    let Some(browser) = chromium() else { return };
    let place = Place(tempfile::tempdir().unwrap());
    let words = "compare skew:writes=20K,reads=20%,pages=2K --capacity 16MiB --ftl page --ftl fast \
                 --ftl last --ftl dftl:cmt=4KiB --quiet --report page.html --json page.json";
    place.ftlab(&words.split_whitespace().collect::<Vec<_>>());
    let light = Seen::of(&browser, &place.path("page.html"), false);
    let dark = Seen::of(&browser, &place.path("page.html"), true);
    for seen in [&light, &dark] {
        assert_eq!(seen.console, [""; 0]);
        let drawn = seen.drawn();
        let names: Vec<&str> = drawn.iter().map(|(name, _)| *name).collect();
        let wanted = [
            "write-amplification",
            "write-amplification-along-the-trace",
            "time-against-ram",
            "time-by-cause",
            "service-write",
            "service-read",
            "wear",
            "associated-blocks",
            "free-blocks-along-the-trace",
            "gauges-of-last",
        ];
        assert_eq!(names, wanted);
        let blank: Vec<_> = drawn.iter().filter(|(_, marks)| *marks < 10).collect();
        assert!(blank.is_empty(), "{blank:?}");
    }
    assert!(light.document.contains("#1c2024") && !light.document.contains("fill=\"#e6e8ea\""));
    assert!(dark.document.contains("fill=\"#e6e8ea\""), "labels are light on dark ground");
    shows_the_numbers(&light, &place.path("page.json"));
    let text = place
        .ftlab(&words.split_whitespace().take_while(|it| *it != "--quiet").collect::<Vec<_>>());
    let headline = String::from_utf8(text).unwrap().lines().next().unwrap().to_owned();
    let shown = format!("<p class=\"headline\">{headline}</p>");
    assert!(unbroken(&light.document).contains(&shown), "{headline}");
}

/// A page without what says where its lines may break.
fn unbroken(html: &str) -> String {
    html.replace("<wbr>", "").replace("&nbsp;", " ")
}

#[test]
fn one_run_and_many_fit_a_phone_and_a_desk() {
    let Some(browser) = chromium() else { return };
    let place = Place(tempfile::tempdir().unwrap());
    let trace = "skew:writes=20K,reads=20%,pages=2K,hot=70/30";
    let ftls =
        ["page", "fast", "last", "dftl:cmt=4KiB", "superblock:blocks=4,open_victims=true", "dac"];
    for count in [1, ftls.len()] {
        let mut words = vec!["compare", trace, "--capacity", "16MiB", "--quiet"];
        words.extend(ftls[..count].iter().flat_map(|ftl| ["--ftl", ftl]));
        place.ftlab(&[&words[..], &["--report", "page.html"]].concat());
        fits_phone_and_desk(&browser, &place.path("page.html"));
    }
    let run = ["run", trace, "--capacity", "16MiB", "--quiet", "--report", "run.html"];
    place.ftlab(&run);
    fits_phone_and_desk(&browser, &place.path("run.html"));
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    let title = format!(
        "<title>{}: 6 FTLs compared on 16.00 MiB of slc-fast2010</title>",
        trace.replace('/', "&#x2f;")
    );
    assert!(page.contains(&title), "titled by the trace");
    assert_eq!(page.matches(". Seed 1.").count(), 1, "what all share stands once on top");
}

/// Asserts that the table of the page has the numbers of the JSON, the best of them marked.
fn shows_the_numbers(seen: &Seen, json: &Path) {
    let results: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let amplification = |it: &Value| it["write_amplification"].as_f64().unwrap();
    let amplifications: Vec<f64> = results.as_array().unwrap().iter().map(amplification).collect();
    let best = amplifications.iter().copied().fold(f64::INFINITY, f64::min);
    for amplification in amplifications {
        let mark = if amplification == best { " class=\"best\"" } else { "" };
        let cell = format!("<td{mark}>{amplification:.4}</td>");
        assert!(seen.document.contains(&cell), "{cell} is not shown");
    }
}

#[test]
fn every_figure_of_a_trace_is_drawn_in_light_and_dark() {
    let place = Place(tempfile::tempdir().unwrap());
    let words = "trace info tpcc:writes=20K,space=32MiB --page 2KiB --report page.html --json";
    let words: Vec<&str> = words.split_whitespace().collect();
    let json: Value = serde_json::from_slice(&place.ftlab(&words)).unwrap();
    let refused = place.command(&[&words[..], &["--brief"]].concat());
    assert_eq!(refused.status.code(), Some(2), "a brief look has nothing to draw");
    let Some(browser) = chromium() else { return };
    fits_phone_and_desk(&browser, &place.path("page.html"));
    let names = [
        "iops-over-time",
        "throughput-over-time",
        "access-pattern",
        "read-pattern",
        "update-frequency",
        "write-intervals",
        "hot-warm-and-cold-pages",
        "request-sizes",
        "updates-by-request-size",
        "sub-page-writes",
    ];
    for is_dark in [false, true] {
        let seen = Seen::of(&browser, &place.path("page.html"), is_dark);
        assert_eq!(seen.console, [""; 0]);
        let drawn = seen.drawn();
        assert_eq!(drawn.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
        assert!(drawn.iter().all(|(_, marks)| *marks >= 10), "{drawn:?}");
        assert_eq!(seen.document.contains("fill=\"#e6e8ea\""), is_dark, "labels are legible");
        let share = json["locality"]["writes_to_top_percent"]["30"].as_f64().unwrap();
        assert!(unbroken(&seen.document).contains(&format!(">{:.1} %</td>", 100.0 * share)));
    }
}

#[test]
fn every_figure_of_lives_is_drawn_and_shows_the_numbers_of_the_json() {
    let place = Place(tempfile::tempdir().unwrap());
    let words = "life oltp:requests=20K --capacity 16MiB --extra 12% --reserve 5% --media \
                 real:endurance=60,program_fail=0.001%,erase_fail=0.01% --ftl page --ftl dac \
                 --ftl fast --quiet --report page.html --json lives.json";
    place.ftlab(&words.split_whitespace().collect::<Vec<_>>());
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    let lives: Value = serde_json::from_str(&read("lives.json")).unwrap();
    let page = read("page.html");
    let panels = [
        ("write amplification (programs per host page)", "write_amplification"),
        ("blocks in reserve", "in_reserve"),
        ("blocks worn out", "worn_out"),
        ("blocks with a failed program", "program_failures"),
        ("blocks with a failed erase", "erase_failures"),
    ];
    for (panel, field) in panels {
        assert_eq!(drawn_points(&page, panel), points_of(&lives, field), "{panel}");
    }
    let Some(browser) = chromium() else { return };
    fits_phone_and_desk(&browser, &place.path("page.html"));
    for is_dark in [false, true] {
        let seen = Seen::of(&browser, &place.path("page.html"), is_dark);
        assert_eq!(seen.console, [""; 0]);
        let drawn = seen.drawn();
        assert!(drawn.iter().map(|(name, _)| *name).eq(["over-the-life"]));
        assert!(drawn.iter().all(|(_, marks)| *marks >= 10), "{drawn:?}");
        for life in lives["lives"].as_array().unwrap() {
            let cell = format!(">{:.3}</td>", life["write_amplification"].as_f64().unwrap());
            assert!(seen.document.contains(&cell), "{cell} is not shown");
        }
    }
}

#[test]
fn one_life_and_many_fit_a_phone_and_a_desk() {
    let Some(browser) = chromium() else { return };
    let place = Place(tempfile::tempdir().unwrap());
    let words = "life oltp:requests=20K --capacity 16MiB --extra 12% --reserve 5% --media \
                 real:endurance=60 --quiet --report page.html";
    let words: Vec<&str> = words.split_whitespace().collect();
    let ftls = ["page", "dac", "fast", "last", "dftl:cmt=4KiB", "page:frontiers=2"];
    for count in [1, ftls.len()] {
        let named = ftls[..count].iter().flat_map(|ftl| ["--ftl", ftl]);
        place.ftlab(&words.iter().copied().chain(named).collect::<Vec<_>>());
        fits_phone_and_desk(&browser, &place.path("page.html"));
    }
}

/// A point of a curve over a life: the FTL, the bytes that the host wrote, the value.
type LifePoint = (String, u64, f64);

/// The points of a panel of the page of lives.
fn drawn_points(page: &str, panel: &str) -> Vec<LifePoint> {
    let values = values(page, "over-the-life").into_iter();
    values
        .filter(|value| value["panel"] == panel && value["rule"].is_null())
        .map(|value| {
            let bytes = value["host_bytes"].as_u64().unwrap();
            let place = value["host"].as_f64().unwrap() * f64::from(1 << 20);
            assert_eq!(place, bytes as f64, "the place at the axis, in MiB");
            (value["ftl"].as_str().unwrap().into(), bytes, value["value"].as_f64().unwrap())
        })
        .collect()
}

/// The points of the courses of lives.
fn points_of(lives: &Value, field: &str) -> Vec<LifePoint> {
    let lives = lives["lives"].as_array().unwrap().iter();
    let of_life = |life: &Value| -> Vec<LifePoint> {
        let ftl = life["ftl"].as_str().unwrap();
        let points = life["course"].as_array().unwrap().iter();
        let point = |point: &Value| {
            let bytes = point["host_bytes"].as_u64().unwrap();
            (ftl.to_owned(), bytes, point[field].as_f64().unwrap())
        };
        points.map(point).collect()
    };
    lives.flat_map(of_life).collect()
}

/// The values of a figure in a page, as the page has them.
fn values(page: &str, figure: &str) -> Vec<Value> {
    let spec = page.split(&format!("class=\"spec\" data-figure=\"{figure}\">")).nth(1);
    let spec = spec.and_then(|spec| spec.split("</script>").next()).expect("the figure's spec");
    let mut spec: Value = serde_json::from_str(spec).unwrap();
    serde_json::from_value(spec["data"]["values"].take()).unwrap()
}

/// The numbers in a field of those values of which another field has this text.
fn numbers(values: &[Value], (key, text): (&str, &str), field: &str) -> Vec<f64> {
    let of = values.iter().filter(|value| value[key] == text);
    of.map(|value| value[field].as_f64().unwrap()).collect()
}

#[test]
fn every_figure_of_an_advice_is_drawn_and_shows_the_numbers_of_the_json() {
    let place = Place(tempfile::tempdir().unwrap());
    let trace = "oltp:requests=60K,reads=30%,interarrival=10ms";
    let options = ["--capacity", "128MiB", "--target", "3", "--depths", "1,32"];
    let outputs = ["--report", "page.html", "--json", "advice.json"];
    let text = place.ftlab(&[&["advise", trace], &options[..], &outputs[..]].concat());
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    let json: Value =
        serde_json::from_slice(&std::fs::read(place.path("advice.json")).unwrap()).unwrap();
    let advice = &json["advices"][0];
    let found = |question: &str| &advice[question]["found"];

    let curve = values(&page, "write-amplification-against-over-provisioning");
    let mut drawn = numbers(&curve, ("kind", "curve"), "amplification");
    let own = found("spare")["write_amplification"].as_f64().unwrap();
    let classes = found("endurance")["classes"].as_array().unwrap();
    assert_eq!(numbers(&curve, ("name", "this drive"), "amplification"), [own]);
    let mut wanted: Vec<f64> = found("spare")["sizing"]["curve"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|point| point["write_amplification"].as_f64())
        .collect();
    wanted.push(own);
    for class in [&classes[0], &classes[2]] {
        wanted.push(class["write_amplification"].as_f64().unwrap());
    }
    drawn.sort_by(f64::total_cmp);
    wanted.sort_by(f64::total_cmp);
    assert_eq!(drawn, wanted);

    let years = values(&page, "years");
    let of_flash = classes.iter().map(|class| class["years"].as_f64().unwrap());
    assert!(of_flash.eq(numbers(&years, ("kind", "flash worn out"), "years")));
    let slow = values(&page, "latency-against-depth");
    let depths = found("latency")["depths"].as_array().unwrap();
    let p99 = depths.iter().map(|depth| depth["read"]["p99"].as_f64().unwrap());
    assert!(p99.eq(numbers(&slow, ("series", "reads p99"), "us")));
    let iops = values(&page, "iops-against-depth");
    assert!(depths.iter().map(|it| &it["iops"]).eq(iops.iter().map(|it| &it["iops"])));
    let effects = values(&page, "effects");
    let buffer = numbers(&effects, ("what", "buffer"), "with");
    assert_eq!(buffer, [found("effects")["buffer"]["with"].as_f64().unwrap()]);

    // Each sentence of the text is on the page, and needs no script.
    let shown = unbroken(page.split("<script").next().unwrap());
    let shown = ["<code>", "<code class=\"long\">", "</code>"]
        .iter()
        .fold(shown, |shown, tag| shown.replace(tag, "`"));
    for line in String::from_utf8(text).unwrap().lines().filter(|line| line.ends_with('.')) {
        let sentence = line.get(19..).filter(|_| line.starts_with(' ')).unwrap_or(line);
        let sentence = sentence.split("  ").last().unwrap().trim().replace('>', "&gt;");
        assert!(shown.contains(&sentence), "{sentence}");
    }
    let Some(browser) = chromium() else { return };
    fits_phone_and_desk(&browser, &place.path("page.html"));
    for is_dark in [false, true] {
        let seen = Seen::of(&browser, &place.path("page.html"), is_dark);
        assert_eq!(seen.console, [""; 0]);
        let drawn = seen.drawn();
        assert_eq!(drawn.len(), 7, "{drawn:?}");
        assert!(drawn.iter().all(|(_, marks)| *marks >= 10), "{drawn:?}");
    }
}

#[test]
fn an_advice_on_several_logs_has_a_section_for_each_and_says_what_it_refuses() {
    let place = Place(tempfile::tempdir().unwrap());
    let logs = ["uniform:requests=30K,reads=100%", "sequential:requests=20K"];
    let words = [&["advise"], &logs[..], &["--depths", "1,4", "--quiet", "--report", "page.html"]];
    let output = place.command(&words.concat());
    assert_eq!(output.status.code(), Some(1), "the second log answers nothing");
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("<title>Advice on 2 logs</title>"));
    let plain = page.replace("<wbr>", "");
    let sections: Vec<&str> = plain
        .split("<h2 id=\"section-")
        .skip(1)
        .map(|it| it.split(['>', '<']).nth(1).unwrap())
        .collect();
    let refused = "sequential:requests=20K: Over-provisioning, endurance, latency, what helps, \
                   placement, how sure";
    assert_eq!(sections.last(), Some(&refused), "{sections:?}");
    assert!(plain.contains("The trace only reads, so nothing about writing follows from it."));
    assert!(plain.contains("Record with <code class=\"long\">blktrace "), "what to record instead");
    let Some(browser) = chromium() else { return };
    fits_phone_and_desk(&browser, &place.path("page.html"));
    let seen = Seen::of(&browser, &place.path("page.html"), false);
    assert_eq!(seen.console, [""; 0]);
    assert_eq!(seen.drawn().len(), 2, "IOPS and latency of the reads");
}

#[test]
fn the_pages_of_a_bound_and_a_sizing_show_the_numbers_of_the_json() {
    let place = Place(tempfile::tempdir().unwrap());
    let words = "bound oltp:requests=20K --capacity 32MiB --open 1,4,16 --ftl page --ftl dac \
                 --quiet --report bound.html --json bound.json";
    place.ftlab(&words.split_whitespace().collect::<Vec<_>>());
    let words = "size oltp:requests=20K --capacity 32MiB --chip slc-fast2010 --waf 2 --quiet \
                 --resolution 2% --ftl page --ftl dac --report size.html --json size.json";
    place.ftlab(&words.split_whitespace().collect::<Vec<_>>());
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    let json = |name: &str| -> Value { serde_json::from_str(&read(name)).unwrap() };
    let bound = json("bound.json");
    let copies = values(&read("bound.html"), "copies-against-open-blocks");
    for kind in ["oracle", "schemes"] {
        let runs = bound[kind].as_array().unwrap().iter();
        let wanted = runs.map(|run| run["copies_per_host_page"].as_f64().unwrap());
        let drawn = numbers(&copies, ("kind", kind.trim_end_matches('s')), "copies");
        assert!(wanted.eq(drawn), "{kind}");
    }
    let figure = "write-amplification-against-over-provisioning";
    let curve = values(&read("size.html"), figure);
    for sizing in json("size.json")["sizings"].as_array().unwrap() {
        let points = sizing["curve"].as_array().unwrap().iter();
        let wanted: Vec<f64> =
            points.filter_map(|point| point["write_amplification"].as_f64()).collect();
        let ftl = sizing["ftl"].as_str().unwrap();
        let of_curve: Vec<Value> =
            curve.iter().filter(|value| value["kind"] == "curve").cloned().collect();
        assert_eq!(numbers(&of_curve, ("ftl", ftl), "amplification"), wanted, "{ftl}");
    }
    let Some(browser) = chromium() else { return };
    for page in ["bound.html", "size.html"] {
        fits_phone_and_desk(&browser, &place.path(page));
        let seen = Seen::of(&browser, &place.path(page), true);
        assert_eq!(seen.console, [""; 0], "{page}");
        assert!(seen.drawn().iter().all(|(_, marks)| *marks >= 10), "{page}");
    }
}

const PLAN: &str = r#"
title = "Extra space <b>against</b> victims"
[base]
trace = "skew:writes=20K,pages=2K"
capacity = "16MiB"
[[grid]]
ftl = ["page", "page:victim=fifo", "page:victim=random"]
extra = ["7%", "15%", "28%"]
[[claim]]
id = "A"
says = "greedy <costs> less & less"
source = "nobody"
figure = "write_amplification"
within = "5%"
rows = [
    { ftl = "page", extra = "7%", expected = 3 },
    { ftl = "page", extra = "15%", between = [1.5, 3.5] },
    { ftl = "page", extra = "28%", at_most = 2 },
]
[[claim]]
id = "B"
says = "random is the worst"
figure = "time_us.total"
rising = [{ ftl = "page", extra = "7%" }, { ftl = "page:victim=random", extra = "7%" }]
"#;

#[test]
fn every_figure_of_a_sweep_is_drawn_with_published_values() {
    let Some(browser) = chromium() else { return };
    let place = Place(tempfile::tempdir().unwrap());
    std::fs::write(place.path("plan.toml"), PLAN).unwrap();
    place.ftlab(&["sweep", "plan.toml", "--out", "rows.csv", "--report", "page.html", "--quiet"]);
    let seen = Seen::of(&browser, &place.path("page.html"), false);
    assert_eq!(seen.console, [""; 0]);
    let drawn = seen.drawn();
    let names: Vec<&str> = drawn.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["a", "all-write-amplification", "all-time-us-total"]);
    fits_phone_and_desk(&browser, &place.path("page.html"));
    assert!(drawn.iter().all(|(_, marks)| *marks >= 10), "{drawn:?}");
    assert!(seen.document.contains("A: greedy &lt;costs&gt; less &amp; less"));
    assert!(seen.document.contains(">1.5 to 3.5</td>"));
    assert!(seen.document.contains("<p>B: random is the worst. "), "a single cell is a sentence");
    // The published values are a number, a range, and a range with one end.
    let figure = seen.document.split("id=\"a\"").nth(1).expect("the figure of claim A");
    let figure = figure.split("</figure>").next().expect("its end");
    let diamonds = figure.matches("aria-roledescription=\"point\"").count();
    assert_eq!(diamonds, 3 + 4, "the points of the curve and of the published values");
}

const TRACES: &str = r#"
title = "Traces"
runs = "base.toml"
[[drawing]]
id = "One"
says = "every trace that exists"
draws = "access pattern"
[[drawing]]
id = "None"
says = "a trace that does not exist"
draws = "request sizes"
where = { trace = "gone.trace" }
[[drawing]]
id = "Curves"
says = "two traces"
draws = "update frequency"
rows = [{ trace = "skew:writes=20K,pages=2K" }, { trace = "zipf:writes=20K" }]
"#;

const BASE: &str = r#"
[base]
capacity = "16MiB"
[[grid]]
trace = ["skew:writes=20K,pages=2K", "zipf:writes=20K", "gone.trace"]
ftl = ["page", "fast"]
"#;

#[test]
fn a_sweep_draws_traces_without_running_their_rows_and_names_missing_ones() {
    let place = Place(tempfile::tempdir().unwrap());
    std::fs::write(place.path("plan.toml"), TRACES).unwrap();
    std::fs::write(place.path("base.toml"), BASE).unwrap();
    place.ftlab(&["sweep", "plan.toml", "--out", "rows.csv", "--report", "page.html", "--quiet"]);
    let rows = std::fs::read_to_string(place.path("rows.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1, "a heading and no row");
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("A trace is not drawn: ") && page.contains("gone.trace"));
    let Some(browser) = chromium() else { return };
    let seen = Seen::of(&browser, &place.path("page.html"), false);
    assert_eq!(seen.console, [""; 0]);
    let drawn = seen.drawn();
    assert_eq!(drawn.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["one", "curves"]);
    assert!(drawn.iter().all(|(_, marks)| *marks >= 10), "{drawn:?}");
}

#[test]
fn papers_draws_every_figure_and_runs_only_missing_rows() {
    let place = Place(tempfile::tempdir().unwrap());
    let rows = place.path("out/rows/T.quick.jsonl");
    place.ftlab(&["papers", "T", "--scale", "quick", "--out", "out", "--quiet"]);
    let first = std::fs::read(&rows).unwrap();
    let journal = place.path("out/rows/T.quick.journal");
    let kept = std::fs::read(&journal).unwrap();
    place.ftlab(&["papers", "t", "--out", "out", "--quiet"]);
    assert_eq!(std::fs::read(&rows).unwrap(), first);
    assert_eq!(std::fs::read(&journal).unwrap(), kept, "nothing is run");
    // A journal of another version is replaced.
    std::fs::write(&journal, "ftlab sweep journal 1, plan 0123, 4 rows\n").unwrap();
    place.ftlab(&["papers", "T", "--out", "out", "--quiet"]);
    assert_eq!(std::fs::read(&rows).unwrap(), first);
    let Some(browser) = chromium() else { return };
    for page in ["out/index.html", "out/T.html"] {
        let seen = Seen::of(&browser, &place.path(page), false);
        assert_eq!(seen.console, [""; 0], "{page}");
        let blank: Vec<_> = seen.drawn().into_iter().filter(|(_, marks)| *marks < 10).collect();
        assert!(blank.is_empty(), "{page}: {blank:?}");
        assert!(seen.document.contains(">T1<") && seen.document.contains("holds"));
    }
}
