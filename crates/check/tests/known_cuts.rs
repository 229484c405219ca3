//! Cuts that once lost data or could not be mounted, on chips that are not in the list.

use check::case::Case;
use check::cut::power_loss;
use check::device::power_cut::PowerCut;
use check::device_model::DeviceModel;
use check::subject::Subject;
use ftl::Durability;

/// After the first mount the destroyed pages and other ones were in one block, and no block was
/// free. So the second mount could not give up the block in which the power had failed.
#[test]
fn lsb_survives_a_cut_after_a_mount_that_found_destroyed_pages() {
    let geometry = "tiny:pages_per_block=16,cell_bits=2,pair_distance=4";
    survives("lsb", geometry, "fill-random", &["260:paired", "6:looks-erased"]);
}

/// Replays a case.
fn survives(ftl: &str, geometry: &str, workload: &str, cuts: &[&str]) {
    let subject = Subject::from_spec(ftl).unwrap();
    let model = DeviceModel::from_spec(geometry).unwrap();
    let case = Case::new(&subject, &model, workload, 1, Durability::Full).unwrap();
    let cuts: Vec<PowerCut> = cuts.iter().map(|text| PowerCut::parse(text).unwrap()).collect();
    let missed = power_loss::replay(&case, &cuts, &mut |_| ()).unwrap_or_else(|it| panic!("{it}"));
    assert_eq!(missed, None, "a cut did not happen");
}
