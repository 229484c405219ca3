//! Films tell the truth: every figure, every page and every role at a hundred moments of every
//! scheme, bare and below layers, on plain chips and drawn ones, read by a second reader and by the
//! one of the page.

mod decoder;
mod device;
mod guest;

use std::collections::BTreeSet;
use std::io::Read;

use decoder::{Played, PlayedStep, State};
use device::{Asked, Filmed, device_of, device_of_guest};
use film::{Footage, HostOp};
use flate2::read::GzDecoder;
use ftl::{Device, Durability, Scheme, Span};
use nand::Cause;
use report::pages::film::MODEL;
use rquickjs::{CatchResultExt, Context, Function, Runtime};
use sim::Experiment;
use sim::config::choices::Precondition;

const REQUESTS: usize = 1500;
const MOMENTS: usize = 100;
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

/// Writes of hot and of any pages, sequential writes, reads, trims and flushes. `has_parts` makes
/// some writes of a few sectors.
fn requests(device: &Device, count: usize, has_parts: bool) -> Vec<Asked> {
    let (mut numbers, end) = (Numbers(7), device.logical_pages());
    let full = device.geometry().full_mask();
    let all = Span { first: 0, pages: end, head: full, tail: full, stream: 0 };
    let mut requests = vec![(HostOp::Write, all)];
    let mut next = 0;
    while requests.len() < count {
        let kind = numbers.below(100);
        let first = match kind {
            0..50 => numbers.below(end.div_ceil(8)),
            50..70 => next,
            _ => numbers.below(end),
        };
        let pages =
            (1 + numbers.below(if kind.is_multiple_of(3) { 9 } else { 1 })).min(end - first);
        if (50..70).contains(&kind) {
            next = (first + pages) % end;
        }
        let op = match kind {
            0..80 => HostOp::Write,
            80..94 => HostOp::Read,
            94..99 => HostOp::Trim,
            _ => HostOp::Flush,
        };
        let stream = if op == HostOp::Write { (kind % 4) as u8 } else { 0 };
        let is_part = has_parts && kind < 40 && pages == 1;
        let head = if is_part { full & 1 << (kind % 2) } else { full };
        let span = match is_part && head != 0 {
            true => Span { first, pages, head, tail: head, stream },
            false => Span { first, pages, stream, ..all },
        };
        requests.push((op, span));
    }
    requests
}

const CHIP: &str = "slc-lsb:page=2KiB,pages_per_block=16";

fn experiment(ftl: &str) -> Experiment {
    Experiment {
        ftl: ftl.to_owned(),
        chip: CHIP.to_owned(),
        capacity_bytes: Some(1 << 20),
        precondition: Precondition::None,
        warmup: 0,
        extra: Some("12blocks".parse().unwrap()),
        ..Experiment::default()
    }
}

/// The moments that are compared: the numbers of their requests.
fn moments(requests: usize, count: usize) -> impl Iterator<Item = usize> {
    (1..=count).map(move |at| at * requests / count)
}

fn filmed(experiment: &Experiment, bytes_max: usize) -> (film::Film, Vec<State>) {
    let device = device_of(experiment).unwrap();
    let requests = requests(&device, REQUESTS, false);
    let filmed = Filmed::new(experiment, device, &requests);
    let (footage, truths) = filmed.footage(&requests, false);
    (film::films(vec![footage], bytes_max).remove(0), truths)
}

/// What the operations of a scene say of it: their counts and sources, the block that takes pages,
/// and the first one that is emptied or erased.
type OfScene = ([u64; 5], Option<u32>, Option<u32>);

/// The same and the logical block, if all pages are of the host. It is none if there are several.
fn of_scene(steps: &[PlayedStep], pages_per_block: u32) -> (OfScene, Option<Option<u32>>) {
    let count = |kinds: &[usize]| steps.iter().filter(|it| kinds.contains(&it.kind)).count() as u64;
    let sources: BTreeSet<u32> = steps.iter().filter_map(|step| step.from).collect();
    let counts = [count(&[0, 1]), count(&[2]), count(&[4]), count(&[3]), sources.len() as u64];
    let target = steps.iter().rev().find(|step| [2, 4].contains(&step.kind));
    let victim = steps.iter().find_map(|step| match step.kind {
        3 => Some(step.block),
        _ => step.from,
    });
    // Programs before the first copy bring new pages; those behind it are records about them.
    let copy = steps.iter().position(|step| step.kind == 4).unwrap_or(steps.len());
    let is_moved =
        |(at, step): &(usize, &PlayedStep)| step.kind == 4 || (step.kind == 2 && *at < copy);
    let moved: Vec<u32> =
        steps.iter().enumerate().filter(is_moved).map(|(_, it)| it.owner).collect();
    let blocks: BTreeSet<u32> = moved.iter().map(|owner| owner / pages_per_block).collect();
    let lbn = blocks.first().copied().filter(|_| blocks.len() == 1);
    let is_of_host = moved.iter().all(|&owner| owner < u32::MAX - 1);
    ((counts, target.map(|step| step.block), victim), is_of_host.then_some(lbn))
}

/// Plays a film with the second reader and compares it with the truth after each of its requests.
/// Returns the number of requests, and the names of all scenes.
fn compare(name: &str, film: &film::Film, truths: &[State]) -> (usize, Vec<String>) {
    let (mut played, mut names, mut count) = (Played::open(&film.bytes), Vec::new(), 0);
    while let Some(request) = played.next() {
        let truth = &truths[request.number as usize - 1];
        // After a cut, and after a mount, there is no request of the host to compare.
        let difference =
            if truth.owners.is_empty() { None } else { played.state().difference(truth) };
        assert_eq!(difference, None, "{name}, request {}: not what happened", request.number);
        let mut end = 0;
        for scene in request.scenes {
            assert!(scene.first >= end, "{name}: scenes overlap");
            end = scene.first + scene.steps;
            let steps = &request.steps[scene.first as usize..end as usize];
            let found = of_scene(steps, played.pages_per_block());
            let said = (scene.counts, scene.target, scene.victim);
            assert_eq!(said, found.0, "{name}, {} in {}", scene.name, request.number);
            if let Some(lbn) = found.1 {
                assert_eq!(scene.lbn, lbn, "{name}, {} in {}", scene.name, request.number);
            }
            // A collection empties one block; only a guest knows what it counts as one.
            let collected = steps.iter().filter(|step| step.cause == Cause::Gc as usize);
            let emptied: BTreeSet<u32> = collected.filter_map(|step| step.from).collect();
            let is_one = film.about.is_guest || emptied.len() <= 1;
            assert!(is_one, "{name}: a scene empties the blocks {emptied:?}");
            names.push(scene.name);
        }
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

/// What the page shows at the end of a request, in the order of [`shown_of`].
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
fn shown_of(truth: &State) -> Vec<f64> {
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

/// The page's own reader shows these truths. It goes back and forth, so that checkpoints are used.
fn compare_page(name: &str, film: &film::Film, truths: &[State], moments: usize) {
    let page = Page::open(film);
    let moments: Vec<usize> = self::moments(truths.len(), moments).collect();
    for (&early, &late) in moments.iter().zip(moments.iter().rev()) {
        for number in [late, early] {
            let (is, should) = (page.shown(number), shown_of(&truths[number - 1]));
            assert_eq!(is, should, "{name}: the page at request {number}");
        }
    }
}

#[test]
fn a_film_of_every_scheme_shows_what_happened() {
    for scheme in ftl::SCHEMES {
        let (film, truths) = filmed(&experiment(scheme.name), WHOLE);
        let (count, _) = compare(scheme.name, &film, &truths);
        assert_eq!(count, REQUESTS, "{}: a short film shows everything", scheme.name);
        assert_eq!(film.left_out, "");
        compare_page(scheme.name, &film, &truths, MOMENTS);
    }
}

/// Films a run of `count` requests, some of a few sectors, and compares all of it. Returns the
/// names of the scenes.
fn compare_all(name: &str, experiment: &Experiment, device: Device, count: usize) -> Vec<String> {
    let requests = requests(&device, count, true);
    let filmed = Filmed::new(experiment, device, &requests);
    let (footage, truths) = filmed.footage(&requests, false);
    let film = film::films(vec![footage], WHOLE).remove(0);
    let (shown, names) = compare(name, &film, &truths);
    assert_eq!(shown, count, "{name}: a short film shows everything");
    compare_page(name, &film, &truths, MOMENTS / 5);
    names
}

/// Films these schemes with options such as `buffer=16KiB`. Returns the names of those that take
/// them.
fn compare_with<'a>(schemes: &[&'a Scheme], options: &[&str]) -> Vec<&'a str> {
    compare_scenes(schemes, options).0
}

/// The same, with the names of all scenes.
fn compare_scenes<'a>(
    schemes: &[&'a Scheme],
    options: &[&str],
) -> (Vec<&'a str>, BTreeSet<String>) {
    let mut scenes = BTreeSet::new();
    let is_shown = |scheme: &&&Scheme| {
        let mut experiment = experiment(scheme.name);
        for option in options {
            let (name, value) = option.split_once('=').unwrap();
            experiment = experiment.with(name, value).unwrap();
        }
        let name = format!("{} {options:?}", scheme.name);
        let Some(device) = device_of(&experiment) else { return false };
        scenes.extend(compare_all(&name, &experiment, device, 300));
        true
    };
    let shown = schemes.iter().filter(is_shown).map(|scheme| scheme.name).collect();
    (shown, scenes)
}

fn names(schemes: &[&'static Scheme]) -> Vec<&'static str> {
    schemes.iter().map(|scheme| scheme.name).collect()
}

#[test]
fn a_film_under_layers_shows_what_happened() {
    // Those that are told the future are told that of the host's writes, which layers change.
    let schemes: Vec<_> = ftl::SCHEMES.iter().copied().filter(|it| !it.needs_future).collect();
    let all = names(&schemes);
    assert!(all.len() > 12, "{all:?}");
    let with = |options: &[&str]| compare_with(&schemes, options);
    assert_eq!(with(&["buffer=16KiB"]), all);
    assert_eq!(with(&["sector_log=64KiB"]), all);
    assert_eq!(with(&["buffer=16KiB", "sector_log=64KiB", "durability=full"]), all);
    assert_eq!(with(&["dram=32KiB", "split=adaptive:interval=16"]), ["dftl", "fast"]);
}

/// Full durability keeps trims in blocks of one bit per cell, and shelters pages that share cells.
#[test]
fn a_film_of_full_durability_and_of_several_dies_shows_what_happened() {
    let all = names(ftl::SCHEMES);
    let chip = |keys: &str| format!("chip={CHIP},{keys}");
    let with = |options: &[&str]| compare_with(ftl::SCHEMES, options);
    assert_eq!(with(&["durability=full"]), all);
    assert_eq!(with(&[&chip("dies=4"), "durability=full"]), all);
    assert_eq!(with(&[&chip("cell_bits=3,pair_distance=2,spare=128"), "durability=full"]), all);
}

/// Chips of figures that nobody chose, always the same.
#[test]
fn a_film_of_drawn_chips_shows_what_happened() {
    let (mut numbers, mut shown) = (Numbers(11), 0);
    for scheme in ftl::SCHEMES.iter().cycle().take(5 * ftl::SCHEMES.len()) {
        let order = ["any", "ascending", "sequential"][numbers.below(3) as usize];
        let [page, pages, cells, distance, dies, blocks, extra] =
            [4, 30, 3, 6, 3, 14, 12].map(|end| numbers.below(end));
        let (page_bytes, pages) = (512 * (1 + page), 2 + pages);
        let chip = format!(
            "slc-lsb:page={page_bytes},spare=128,pages_per_block={pages},cell_bits={},\
             pair_distance={},dies={},program_order={order}",
            1 + cells,
            1 + distance,
            if order == "any" { 1 } else { 1 + dies },
        );
        let durability = [Durability::Paper, Durability::Full][numbers.below(2) as usize];
        let drawn = Experiment {
            chip: chip.clone(),
            capacity_bytes: Some(u64::from((2 + blocks) * pages * page_bytes)),
            extra: Some(format!("{}blocks", 1 + extra).parse().unwrap()),
            durability,
            ..experiment(scheme.name)
        };
        let name = format!("{} on {chip}, {durability}", scheme.name);
        if let Some(device) = device_of(&drawn) {
            compare_all(&name, &drawn, device, 200);
            shown += 1;
        }
    }
    assert!(shown > 40, "{shown}");
}

/// Blocks come bad, wear out, and fail in programs and erases; others take their places below the
/// FTL.
#[test]
fn a_film_of_flash_that_fails_shows_what_happened() {
    let all = names(ftl::SCHEMES);
    let shows = |options: &[&str], scene: &str| {
        let (shown, scenes) = compare_scenes(ftl::SCHEMES, options);
        assert_eq!(shown, all, "{options:?}");
        assert!(scenes.contains(scene), "{options:?}: {scenes:?}");
    };
    let often = "media=real:factory_bad=5%,endurance=1000,program_fail=1%,erase_fail=2%";
    shows(&[often, "reserve=60blocks"], "failed block");
    let dies = format!("chip={CHIP},dies=2");
    shows(&[&dies, often, "reserve=90blocks", "durability=full"], "failed block");
    let worn = "media=real:factory_bad=0%,endurance=40,spread=30%";
    shows(&[worn, "reserve=40blocks", "wear=swap"], "wear levelling");
}

/// A mount finds out which blocks stand behind the numbers of the FTL.
#[test]
fn a_film_of_flash_that_fails_goes_on_after_a_cut() {
    for scheme in ftl::SCHEMES.iter().filter(|scheme| !scheme.needs_future) {
        let media = "real:factory_bad=5%,endurance=1000,program_fail=1%,erase_fail=2%";
        let with =
            |experiment: Experiment, name: &str, value: &str| experiment.with(name, value).unwrap();
        let experiment = with(experiment(scheme.name), "media", media);
        let experiment = with(with(experiment, "reserve", "90blocks"), "durability", "full");
        let experiment = with(experiment, "verify", "true");
        let device = device_of(&experiment).unwrap();
        let requests = requests(&device, 300, false);
        let filmed = Filmed::new(&experiment, device, &requests);
        let (footage, truths) = filmed.footage_with_cut(&requests, false, 200);
        let film = film::films(vec![footage], WHOLE).remove(0);
        let (shown, names) = compare(scheme.name, &film, &truths);
        assert_eq!(shown, 302, "{}", scheme.name);
        assert!(names.contains(&"failed block".to_owned()), "{}: {names:?}", scheme.name);
        let page = Page::open(&film);
        for number in [302, 203, 150] {
            let (is, should) = (page.shown(number), shown_of(&truths[number - 1]));
            assert_eq!(is, should, "{}: the page at request {number}", scheme.name);
        }
    }
}

/// Where its pages are, only a guest knows; its operations are counted all the same, under the
/// causes that it names.
#[test]
fn a_film_of_a_guest_shows_what_it_did() {
    let experiment = experiment("page");
    let device = device_of_guest(&experiment, guest::wanderer());
    let names = compare_all("a guest", &experiment, device, REQUESTS);
    assert_eq!(
        names,
        ["garbage collection", "map", "merge", "record for a mount", "wear levelling"]
    );
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
    let (is, should) = (page.shown(REQUESTS), shown_of(&truths[REQUESTS - 1]));
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
            in_scenes += request.scenes.iter().map(|scene| scene.counts[2]).sum::<u64>();
        }
        let reads = &truths.last().unwrap().tally[0];
        let copies: u64 = [Cause::Gc, Cause::Merge].map(|it| reads[it as usize]).iter().sum();
        assert!(copies > 0 && in_scenes >= copies, "{ftl}: {in_scenes} of {copies} copies");
    }
}

#[test]
fn films_side_by_side_show_the_same_requests() {
    let of = |ftl| {
        let experiment = experiment(ftl);
        let device = device_of(&experiment).unwrap();
        let requests = requests(&device, REQUESTS, false);
        Filmed::new(&experiment, device, &requests).footage(&requests, true).0
    };
    let footage: Vec<Footage> = ["fast", "page"].map(of).into();
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
