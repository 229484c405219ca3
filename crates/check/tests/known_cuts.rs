//! Cuts that once lost data or could not be mounted, on chips that are not in the list.

use check::case::Case;
use check::conformance;
use check::cut::power_loss;
use check::device::power_cut::PowerCut;
use check::device_model::DeviceModel;
use check::flash::Storage;
use check::subject::Subject;
use ftl::layer::{LayerOptions, layer_options};
use ftl::{Durability, Layers};

/// The copies of a run's lower pages took more than one block of the shelter.
#[test]
fn copies_of_a_long_run_stay_in_the_shelter() {
    let geometry = "tiny:pages_per_block=7,cell_bits=4,logical=2,extra=2";
    survives(&["streams", geometry, "merges"], 84, &["80:paired"]);
}

/// An earlier page of the block had been programmed after a flush, a later one before it.
#[test]
fn pages_in_any_order_are_copied_if_they_were_flushed() {
    let geometry = "tiny:page=1536,pages_per_block=60,program_order=any,cell_bits=3,\
                    pair_distance=8,logical=2,extra=1";
    survives_near(&["bast", geometry, "random"], 110, &["651:paired"]);
}

/// After the first mount the destroyed pages and other ones were in one block, and no block was
/// free. So the second mount could not give up the block in which the power had failed.
#[test]
fn lsb_survives_a_cut_after_a_mount_that_found_destroyed_pages() {
    let geometry = "tiny:pages_per_block=16,cell_bits=2,pair_distance=4";
    survives_near(&["lsb", geometry, "fill-random"], 1, &["260:paired", "6:looks-erased"]);
}

/// On a chip with several dies a mount drops pages after the last mark. Copies in the shelter stood
/// in for them.
#[test]
fn pages_after_the_last_mark_of_several_dies_have_no_stand_in() {
    let geometry = "tiny:page=2048,pages_per_block=7,program_order=ascending,cell_bits=2,\
                    pair_distance=6,dies=3";
    survives(&["superblock", geometry, "streams"], 9000, &["5:torn"]);
}

/// The page that had shown a checkpoint of the trim log to be complete was weak and decayed during
/// a mount. The commit of that mount was weak too, and the next mount wrote over the checkpoint.
#[test]
fn a_checkpoint_of_the_trim_log_counts_for_ever() {
    let cuts = ["40:unstable@60", "3:unstable", "1:half@0"];
    survives_near(&["fast", "tiny-mlc-dies", "flush-each"], 172, &cuts);
}

/// The seal of a mount's checkpoint went astray, and so did a page of the next mount: to the place
/// behind that checkpoint, which thereby counted after all.
#[test]
fn a_page_that_goes_astray_seals_no_checkpoint() {
    let geometry = "tiny:page=1536,spare=67,pages_per_block=31,cell_bits=4,pair_distance=2,\
                    logical=3,extra=1";
    let subject = under_sector_log("oracle");
    let cuts = ["538:flipped", "33:misdirected", "17:misdirected"];
    subject_survives_near(&subject, &[geometry, "partial"], 74_003, &cuts);
}

/// Blocks that wear out with their second erase: the one with the only list of moves that counted
/// was erased for the next list.
#[test]
fn the_only_list_of_moves_is_never_erased() {
    let geometry = "tiny:page=1536,spare=43,pages_per_block=9,cell_bits=4,pair_distance=7,dies=4,\
                    logical=2,extra=1,reserve=21,endurance=1,failing_program=34,failing_erase=5";
    survives_near(&["lsb", geometry, "windows"], 2, &["51:half", "20:torn"]);
}

/// A segment of the trim log without a checkpoint counted as proven, so a mount wrote over the one
/// that was whole, while the newest one was weak.
#[test]
fn an_empty_segment_of_the_trim_log_proves_nothing() {
    let geometry = "tiny:page=2048,spare=202,pages_per_block=8,program_order=any,pair_distance=8,\
                    logical=4,extra=2";
    let cuts = ["33:stale", "1:unstable", "1:looks-erased@0"];
    survives_near(&["dac", geometry, "trim-flush"], 5_033_004, &cuts);
}

/// A mount had erased a block and filled it again, and never committed. A copy in the shelter stood
/// in for a page that the block had held before.
#[test]
fn a_copy_does_not_stand_in_for_a_page_whose_block_was_erased() {
    let geometry = "tiny:page=512,spare=29,pages_per_block=11,cell_bits=3,pair_distance=5,\
                    logical=4,extra=4";
    let subject = under_sector_log("faster");
    let cuts = ["129:torn", "146:flipped", "4:torn"];
    subject_survives(&subject, &[geometry, "hot"], 5_025_000, &cuts);
}

/// A page went astray into a block with one bit per cell, behind the pages that this has. Wear
/// levelling moved the block, and that page could be programmed nowhere.
#[test]
fn a_block_with_one_bit_per_cell_moves_without_what_it_cannot_hold() {
    let geometry = "tiny:page=512,spare=78,pages_per_block=36,program_order=any,cell_bits=3,\
                    pair_distance=7,logical=3,extra=0,reserve=18,levelling=2";
    let ftl = "superblock:blocks=1,physical=2";
    survives(&[ftl, geometry, "fill-random"], 4001, &["170:looks-erased", "832:misdirected"]);
}

/// The old data of a page of which the host writes a part moved in this very write, and could not
/// be read at their new place. The maps in spare areas of superblock and lsb had been told of the
/// page already, dac had renewed its age, and the oracle had lost its open block.
#[test]
fn a_write_lives_on_if_its_old_data_are_lost_when_they_move() {
    let geometry = "tiny:reserve=24,lost_page=5";
    subject_conforms(&Subject::from_spec("superblock").unwrap(), geometry, "merges", 1);
    survives(&["lsb", geometry, "merges"], 1, &["104:mixed@48"]);
    let dac = "tiny:spare=20,pages_per_block=22,program_order=any,pair_distance=5,logical=3,\
               extra=4,reserve=24,lost_page=28";
    subject_conforms(&under_sector_log("dac"), dac, "partial", 4);
    let oracle = "tiny:page=1536,spare=29,pages_per_block=8,program_order=any,cell_bits=2,\
                  pair_distance=2,extra=0,reserve=24,lost_page=40";
    subject_conforms(&under_sector_log("oracle"), oracle, "sequential", 8);
}

/// No block was left for the list of moves, and none in reserve: the flash was to stay as it is
/// twice, and the second time what stayed was a copy in memory.
#[test]
fn what_stays_as_it_is_is_the_flash() {
    let geometry = "tiny:page=2048,spare=70,pages_per_block=29,program_order=ascending,cell_bits=2,\
                    pair_distance=4,logical=3,extra=2,reserve=22,endurance=4,failing_program=54,\
                    failing_erase=6";
    subject_conforms(&under_sector_log("page"), geometry, "forced", 13_116_007);
}

/// The FTL below the sector log had lost a page, and a mount could not read it. One of its
/// sectors could: its newest durable copy was in the log, and a newer one had been in the buffer
/// when the power failed.
#[test]
fn a_sector_of_a_lost_page_is_what_the_layer_above_has() {
    let geometry = "tiny:spare=29,pages_per_block=30,cell_bits=3,pair_distance=3,logical=2,extra=4,\
                    reserve=24,lost_page=33";
    let subject = under_layers("bast", &[("buffer", "3KiB"), ("sector_log", "4KiB")]);
    let cuts = ["262:misdirected", "65:misdirected", "61:complete"];
    subject_survives_near(&subject, &[geometry, "never-flush"], 15_010_000, &cuts);
}

/// A cut had left the last page of a block so that it reads as erased. The block moved after the
/// mount, to level the wear, and then the page read as torn.
#[test]
fn what_only_looks_erased_looks_so_where_it_moves() {
    let geometry = "tiny:page=1536,spare=70,pages_per_block=49,cell_bits=4,pair_distance=6,dies=4,\
                    logical=2,reserve=6,endurance=14,failing_program=23,failing_erase=3,\
                    lost_page=50,levelling=3";
    let subject = under_layers("superblock", &[("buffer", "3KiB")]);
    let cuts = ["867:reordered#0", "408:reordered#0", "146:reordered#0"];
    subject_survives_near(&subject, &[geometry, "flush-each"], 16_021_009, &cuts);
}

/// A page of a run was lost, and the buffer wrote its pages again, one by one. Those of before the
/// lost one were counted once.
#[test]
fn pages_of_a_run_that_is_repeated_are_counted_twice() {
    let geometry = "tiny:page=2048,spare=77,pages_per_block=28,cell_bits=2,pair_distance=3,\
                    logical=2,extra=4,reserve=18,factory_bad=5,failing_program=18,failing_erase=6,\
                    lost_page=11,levelling=4";
    let subject = under_layers("nftl", &[("buffer", "6KiB,reads=true,evict=run")]);
    subject_conforms(&subject, geometry, "forced", 16_029_000);
}

/// When it committed, a mount voided the pages that it had copied. The block of one of them had
/// been erased in this mount, and another copy stood there.
#[test]
fn what_a_mount_programs_where_a_suspect_page_was_counts() {
    let geometry = "tiny:spare=80,pages_per_block=43,cell_bits=4,dies=4,logical=3,extra=0";
    let subject = under_layers("warcip", &[("buffer", "6KiB,reads=true,evict=run")]);
    let cuts = ["389:reordered#0", "8:reordered#0", "8:reordered#0@0"];
    subject_survives_near(&subject, &[geometry, "forced"], 16_106_011, &cuts);
}

/// A page went astray. Its block moved to the place that its header named, where it could be read
/// again after the next power-on.
#[test]
fn a_page_that_went_astray_stays_lost_where_its_block_moves() {
    let geometry = "tiny:page=512,spare=29,pages_per_block=14,program_order=ascending,cell_bits=3,\
                    pair_distance=7,logical=2,extra=2,reserve=17,failing_program=55,\
                    failing_erase=1,levelling=4";
    let case = case(&under_sector_log("block"), geometry, "partial", 21_015_008);
    survives_all_near(&case.on(Storage::Image), &["838:unstable", "64:misdirected"]);
}

/// The program of a page without data failed, and a cut left it readable for some time: as zeroes.
#[test]
fn a_failed_program_of_lost_data_holds_no_data() {
    let geometry = "tiny:page=2048,spare=210,cell_bits=4,pair_distance=6,logical=3,extra=2,\
                    reserve=24,failing_program=7,failing_erase=7,lost_page=5";
    let cuts = ["58:torn", "11:unstable"];
    subject_survives_near(&under_sector_log("dac"), &[geometry, "merges"], 212_057_000, &cuts);
}

/// During a mount, the copy decayed that stood in for a destroyed page. An earlier copy was whole,
/// but the mount that started again went on with the first one.
#[test]
fn a_mount_that_starts_again_chooses_its_stand_ins_again() {
    let geometry = "tiny:page=512,spare=86,pages_per_block=15,program_order=ascending,cell_bits=4,\
                    pair_distance=2,dies=4,logical=4,extra=0,reserve=96,factory_bad=5,\
                    failing_program=48,failing_erase=3";
    let subject = under_layers("nftl", &[("buffer", "3KiB"), ("sector_log", "4KiB")]);
    let cuts = ["67:stale", "105:browned-out#0", "144:browned-out#0@500"];
    subject_survives_near(&subject, &[geometry, "never-flush"], 242_026_000, &cuts);
}

/// No bug of a scheme: while everything was read after a mount, a page of the map was written, and
/// a page that had been read already moved and lost its data. The oracle took what had been read
/// for a newer copy.
#[test]
fn a_page_may_be_lost_after_the_mount_has_read_it() {
    let geometry = "tiny:page=512,spare=20,pages_per_block=42,pair_distance=6,dies=3,logical=2,\
                    extra=2,reserve=18,failing_program=14,lost_page=3";
    survives(&["dftl:cmt=64,entries=8", geometry, "merges"], 8113, &["325:reordered#425"]);
}

/// Without a cut, with mounts between operations.
fn subject_conforms(subject: &Subject, geometry: &str, workload: &str, seed: u64) {
    conformance::check(&case(subject, geometry, workload, seed))
        .unwrap_or_else(|it| panic!("{it}"));
}

fn case(subject: &Subject, geometry: &str, workload: &str, seed: u64) -> Case {
    let model = DeviceModel::from_spec(geometry).unwrap();
    Case::new(subject, &model, workload, seed, Durability::Full).unwrap()
}

fn parsed(cuts: &[&str]) -> Vec<PowerCut> {
    cuts.iter().map(|text| PowerCut::parse(text).unwrap()).collect()
}

fn under_sector_log(ftl: &str) -> Subject {
    under_layers(ftl, &[("sector_log", "8KiB")])
}

fn under_layers(ftl: &str, layers: &[(&str, &str)]) -> Subject {
    let mut options = LayerOptions::default();
    for (name, value) in layers {
        let layer = layer_options().find(|option| option.name == *name).unwrap();
        options.set(layer, value).unwrap();
    }
    Subject::from_spec(ftl).unwrap().under(&Layers::new(&options).unwrap())
}

/// Replays a case: FTL, geometry and workload.
fn survives(names: &[&str; 3], seed: u64, cuts: &[&str]) {
    let [ftl, geometry, workload] = names;
    subject_survives(&Subject::from_spec(ftl).unwrap(), &[geometry, workload], seed, cuts);
}

/// The same with each cut a few operations earlier or later: what is in the log of trims decides
/// where an operation stands. Outcomes that an operation has not are passed over.
fn survives_near(names: &[&str; 3], seed: u64, cuts: &[&str]) {
    let [ftl, geometry, workload] = names;
    subject_survives_near(&Subject::from_spec(ftl).unwrap(), &[geometry, workload], seed, cuts);
}

fn subject_survives_near(subject: &Subject, names: &[&str; 2], seed: u64, cuts: &[&str]) {
    let [geometry, workload] = names;
    survives_all_near(&case(subject, geometry, workload, seed), cuts);
}

fn survives_all_near(case: &Case, cuts: &[&str]) {
    let mut tried = 0;
    near(case, &parsed(cuts), 0, &mut tried);
    assert!(tried > 2, "only {tried} cuts happened");
}

fn near(case: &Case, cuts: &[PowerCut], level: usize, tried: &mut u32) {
    let Some(cut) = cuts.get(level) else {
        let done = power_loss::replay(case, cuts, &mut ()).unwrap_or_else(|it| panic!("{it}"));
        *tried += u32::from(done.is_none());
        return;
    };
    let distance = if level == 0 { 12 } else { 3 };
    for after in cut.after.saturating_sub(distance)..=cut.after + distance {
        let mut moved = cuts.to_vec();
        moved[level].after = after;
        near(case, &moved, level + 1, tried);
    }
}

fn subject_survives(subject: &Subject, names: &[&str; 2], seed: u64, cuts: &[&str]) {
    let [geometry, workload] = names;
    let case = case(subject, geometry, workload, seed);
    let missed =
        power_loss::replay(&case, &parsed(cuts), &mut ()).unwrap_or_else(|it| panic!("{it}"));
    assert_eq!(missed, None, "a cut did not happen");
}
