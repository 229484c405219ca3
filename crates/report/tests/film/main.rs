//! Films tell the truth: every figure, every page and every role at a hundred moments of every
//! scheme, read by a second reader and by the one of the page.

mod decoder;
mod device;

use std::io::Read;

use decoder::{Played, State};
use device::{Asked, Filmed};
use film::{Footage, HostOp};
use flate2::read::GzDecoder;
use ftl::Span;
use nand::Cause;
use report::pages::film::MODEL;
use rquickjs::{CatchResultExt, Context, Function, Runtime};
use sim::Experiment;
use sim::config::choices::Precondition;

const REQUESTS: usize = 1500;
const MOMENTS: usize = 100;
const PAGES: u32 = 512;
const FULL: u64 = 0b1111;
const WHOLE: usize = usize::MAX;

/// Numbers below `end` that look random, always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(end)) as u32
    }
}

/// Writes of hot and of any pages, sequential writes, reads, trims and flushes.
fn requests() -> Vec<Asked> {
    let mut numbers = Numbers(7);
    let all = Span { first: 0, pages: PAGES, head: FULL, tail: FULL, stream: 0 };
    let mut requests = vec![(HostOp::Write, all)];
    let mut next = 0;
    while requests.len() < REQUESTS {
        let kind = numbers.below(100);
        let first = match kind {
            0..50 => numbers.below(PAGES / 8),
            50..70 => next,
            _ => numbers.below(PAGES),
        };
        let pages =
            (1 + numbers.below(if kind.is_multiple_of(3) { 9 } else { 1 })).min(PAGES - first);
        if (50..70).contains(&kind) {
            next = (first + pages) % PAGES;
        }
        let op = match kind {
            0..80 => HostOp::Write,
            80..94 => HostOp::Read,
            94..99 => HostOp::Trim,
            _ => HostOp::Flush,
        };
        let stream = if op == HostOp::Write { (kind % 4) as u8 } else { 0 };
        requests.push((op, Span { first, pages, stream, ..all }));
    }
    requests
}

fn experiment(ftl: &str) -> Experiment {
    Experiment {
        ftl: ftl.to_owned(),
        chip: "slc-lsb:page=2KiB,pages_per_block=16,dies=1".to_owned(),
        capacity_bytes: Some(1 << 20),
        precondition: Precondition::None,
        warmup: 0,
        extra: Some("12blocks".parse().unwrap()),
        ..Experiment::default()
    }
}

/// The moments that are compared: the numbers of their requests.
fn moments() -> impl Iterator<Item = usize> {
    (1..=MOMENTS).map(|at| at * REQUESTS / MOMENTS)
}

fn filmed(experiment: &Experiment, bytes_max: usize) -> (film::Film, Vec<State>) {
    let requests = requests();
    let (footage, truths) = Filmed::new(experiment, &requests).footage(&requests, false);
    (film::films(vec![footage], bytes_max).remove(0), truths)
}

/// Plays a film with the second reader and compares it with the truth after each of its requests.
/// Returns the number of requests, and the names of all scenes.
fn compare(name: &str, film: &film::Film, truths: &[State]) -> (usize, Vec<String>) {
    let (mut played, mut names, mut count) = (Played::open(&film.bytes), Vec::new(), 0);
    while let Some(request) = played.next() {
        let truth = &truths[request.number as usize - 1];
        assert!(played.state() == truth, "{name}, request {}: not what happened", request.number);
        let of_scenes: u64 = request.scenes.iter().map(|(_, steps)| steps).sum();
        assert!(of_scenes <= request.steps, "{name}: scenes overlap");
        names.extend(request.scenes.into_iter().map(|(name, _)| name));
        count += 1;
    }
    names.sort();
    names.dedup();
    (count, names)
}

/// The page's own reader.
struct Page {
    context: Context,
    _runtime: Runtime,
}

/// What the page shows at the end of a request, in the order of [`shown`].
const SHOW: &str = "
    var film, player;
    function open(bytes) {
      film = filmFormat.read(new Uint8Array(bytes));
      player = new filmPlayer.Player([film]);
    }
    function shown(number) {
      player.seek(player.ticks[player.requestOf(number) + 1] - 1);
      const flash = player.flashes[0];
      const add = (of) => (sum, value, at) => (sum * 31 + of(value, at)) % 1000003;
      const sum = (list, of) => list.reduce(add(of), 0);
      const valid = (owner, ppn) => owner !== 0xffffffff && flash.state[ppn] === 1 ? 1 : 0;
      const { reads, spareReads, programs, erases, entered, free } = flash.figures();
      return [reads, spareReads, programs, erases, entered, free,
        sum(flash.owner, (owner) => owner % 1000003), sum(flash.owner, valid),
        sum(flash.wear, (wear) => wear), sum(flash.tally, (count) => count % 1000003),
        ...flash.gauges];
    }
";

/// What a page must show in this state.
fn shown(truth: &State) -> Vec<f64> {
    let total = |op: usize| truth.tally[op].iter().sum::<u64>();
    let sum = |values: &mut dyn Iterator<Item = u64>| {
        values.fold(0, |sum, value| (sum * 31 + value % 1_000_003) % 1_000_003)
    };
    let sums = [
        sum(&mut truth.owners.iter().map(|&owner| owner.into())),
        sum(&mut truth.valid.iter().map(|&valid| valid.into())),
        sum(&mut truth.wear.iter().map(|&wear| wear.into())),
        sum(&mut truth.tally.iter().flatten().copied()),
    ];
    let figures = [total(0), total(1), total(2), total(3), truth.entered, truth.free_blocks as u64];
    let numbers = figures.into_iter().chain(sums).map(|number| number as f64);
    numbers.chain(truth.gauges.iter().map(|&gauge| gauge.into())).collect()
}

impl Page {
    fn open(film: &film::Film) -> Page {
        let runtime = Runtime::new().unwrap();
        let context = Context::full(&runtime).unwrap();
        let mut bytes = Vec::new();
        GzDecoder::new(&*film.bytes).read_to_end(&mut bytes).unwrap();
        context.with(|engine| {
            // Scripts of a page share their constants; here each is a text of its own.
            let scripts = MODEL.map(|script| script.replace("\nconst film", "\nvar film"));
            for script in scripts.iter().map(String::as_str).chain([SHOW]) {
                engine.eval::<(), _>(script).catch(&engine).unwrap();
            }
            let open: Function = engine.globals().get("open").unwrap();
            let bytes = rquickjs::ArrayBuffer::new(engine.clone(), bytes).unwrap();
            open.call::<_, ()>((bytes,)).catch(&engine).unwrap();
        });
        Page { context, _runtime: runtime }
    }

    fn shown(&self, number: usize) -> Vec<f64> {
        self.context.with(|engine| {
            let shown: Function = engine.globals().get("shown").unwrap();
            shown.call((number,)).catch(&engine).unwrap()
        })
    }
}

#[test]
fn a_film_of_every_scheme_shows_what_happened() {
    for scheme in ftl::SCHEMES {
        let (film, truths) = filmed(&experiment(scheme.name), WHOLE);
        let (count, _) = compare(scheme.name, &film, &truths);
        assert_eq!(count, REQUESTS, "{}: a short film shows everything", scheme.name);
        assert_eq!(film.left_out, "");
        let page = Page::open(&film);
        // Back and forth, so that checkpoints are used.
        let moments: Vec<usize> = moments().collect();
        for (&early, &late) in moments.iter().zip(moments.iter().rev()) {
            for number in [late, early] {
                let (is, should) = (page.shown(number), shown(&truths[number - 1]));
                assert_eq!(is, should, "{}: the page at request {number}", scheme.name);
            }
        }
    }
}

#[test]
fn what_a_short_film_still_shows_is_exact() {
    let (film, truths) = filmed(&experiment("faster"), 12_000);
    let (count, _) = compare("faster", &film, &truths);
    assert!((2 * 64..REQUESTS / 2).contains(&count), "{count} requests");
    assert!(film.bytes.len() <= 12_000, "{} bytes", film.bytes.len());
    let says = format!("The film shows {count} of {REQUESTS} requests");
    assert!(film.left_out.starts_with(&says), "{}", film.left_out);
    let page = Page::open(&film);
    let (is, should) = (page.shown(REQUESTS), shown(&truths[REQUESTS - 1]));
    assert_eq!(is, should, "the film ends where the pass ended");
}

#[test]
fn scenes_have_the_names_that_the_schemes_give_them() {
    let wanted: [(&str, &[&str]); 8] = [
        ("page", &["garbage collection"]),
        ("dftl:cmt=32", &["garbage collection", "translation page"]),
        ("bast", &["full merge", "switch merge"]),
        ("fast", &["erase of a dead log block", "full merge", "partial merge"]),
        (
            "faster:as=table2,isolation_blocks=3",
            &["isolation", "progressive merge", "second chance"],
        ),
        ("last", &["cold merge", "sequential merge"]),
        ("lsb", &["collection in a superblock", "mapping chain"]),
        ("block", &["rewrite of a block"]),
    ];
    for (ftl, wanted) in wanted {
        let (film, truths) = filmed(&experiment(ftl), WHOLE);
        let (_, names) = compare(ftl, &film, &truths);
        let missing: Vec<_> =
            wanted.iter().filter(|name| !names.contains(&name.to_string())).collect();
        assert!(missing.is_empty(), "{ftl} has no {missing:?} among {names:?}");
    }
}

/// Whatever a scheme does besides, each copy of garbage collection or of a merge is in a scene.
#[test]
fn every_copy_of_a_collection_and_of_a_merge_is_in_a_scene() {
    for ftl in ["page", "dftl:cmt=32", "fast", "superblock"] {
        let (film, truths) = filmed(&experiment(ftl), WHOLE);
        let mut played = Played::open(&film.bytes);
        let mut in_scenes = 0;
        while let Some(request) = played.next() {
            in_scenes += request.copies;
        }
        let reads = &truths.last().unwrap().tally[0];
        let copies: u64 = [Cause::Gc, Cause::Merge].map(|it| reads[it as usize]).iter().sum();
        assert!(copies > 0 && in_scenes >= copies, "{ftl}: {in_scenes} of {copies} copies");
    }
}

#[test]
fn films_side_by_side_show_the_same_requests() {
    let requests = requests();
    let footage: Vec<Footage> = ["fast", "page"]
        .map(|ftl| Filmed::new(&experiment(ftl), &requests).footage(&requests, true).0)
        .into();
    let numbers: Vec<Vec<u64>> = film::films(footage, 30_000)
        .iter()
        .map(|film| {
            let mut played = Played::open(&film.bytes);
            core::iter::from_fn(|| played.next()).map(|request| request.number).collect()
        })
        .collect();
    assert!(numbers[0].len() < REQUESTS, "something is left out");
    assert_eq!(numbers[0], numbers[1]);
}
