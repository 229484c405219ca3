//! Parts of campaigns that the test files share.

use check::campaign::{Campaign, CampaignReport};
use check::cut::faults::Faults;
use check::cut::power_loss::SecondCuts;
use check::device_model::{DEVICE_MODELS, DeviceModel};
use check::flash::Storage;
use check::subject::Subject;
use check::workload::named::WORKLOADS;
use ftl::{Choice, Durability, SCHEMES, Scheme};
use spec::Spec;

/// One in this number of cuts is tried, all if the tests are optimised, as in `make test-long`.
pub const ONE_CUT_IN: u32 = if cfg!(debug_assertions) { 4 } else { 1 };

/// All registered schemes, or those that the environment variable `FTLAB_SCHEMES` lists. A name
/// that is not registered fails, because a test without its scheme would pass.
pub fn schemes() -> Vec<&'static Scheme> {
    let Ok(only) = std::env::var("FTLAB_SCHEMES") else { return SCHEMES.to_vec() };
    only.split(',').map(|name| Choice::from_spec(&Spec::plain(name)).unwrap().scheme).collect()
}

/// All classes of faults, or those that the environment variable `FTLAB_FAULTS` lists.
pub fn faults() -> Faults {
    std::env::var("FTLAB_FAULTS").map_or(Faults::ALL, |classes| Faults::parse(&classes).unwrap())
}

pub fn models(names: &[&str]) -> Vec<DeviceModel> {
    names.iter().map(|name| *DeviceModel::named(name).unwrap()).collect()
}

/// The device models that are small enough for every test run.
pub fn small_models() -> Vec<DeviceModel> {
    DEVICE_MODELS.iter().filter(|model| model.logical_pages() <= 64).copied().collect()
}

/// All workloads with seed 1 under full durability, without second cuts.
pub fn campaign(subjects: Vec<Subject>, models: Vec<DeviceModel>) -> Campaign {
    Campaign {
        subjects,
        models,
        draws_devices: false,
        workloads: WORKLOADS.iter().map(|workload| workload.name.to_owned()).collect(),
        log: None,
        short_programs: 0,
        seeds: vec![1],
        storage: Storage::Memory,
        durability: Durability::Full,
        faults: faults(),
        one_first_in: ONE_CUT_IN,
        second_cuts: SecondCuts::None,
        depth: 2,
        budget: None,
    }
}

/// Runs a campaign. It must find nothing, and it must have compared the contents of every subject
/// and cut the power at least `cuts_min` times, or as often as is left if only some cuts are tried.
pub fn finds_nothing(campaign: &Campaign, cuts_min: u64) -> CampaignReport {
    let report = campaign.run().unwrap();
    let total = report.total();
    total.failed.iter().take(10).for_each(|failed| println!("{failed}"));
    println!("{:?} in {:.1} s", total.cuts, report.wall.as_secs_f64());
    assert!(total.failed.is_empty(), "{} cases failed", total.failed.len());
    for (subject, totals) in &report.rows {
        assert!(totals.reached.compared > 0, "{}: nothing was compared", subject.name());
        let cuts = totals.cuts.first;
        assert!(
            cuts >= cuts_min / u64::from(campaign.one_first_in),
            "{}: only {cuts} cuts",
            subject.name()
        );
    }
    report
}
