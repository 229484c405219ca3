//! What campaigns under layers must show.

use check::campaign::Campaign;

/// Nothing is found, and everybody was cut often enough.
pub fn is_right(campaign: &Campaign, cuts_min: u64) {
    let report = campaign.run().unwrap();
    let total = report.total();
    total.failures.iter().take(10).for_each(|failure| println!("{failure}"));
    println!("{:?} in {:.1} s", total.cuts, report.wall.as_secs_f64());
    assert!(total.failures.is_empty(), "{} cases went wrong", total.failures.len());
    for (subject, tried) in &report.rows {
        assert!(tried.steps > 0, "{}: nothing was compared", subject.name());
        let cuts = tried.cuts.first;
        assert!(cuts >= cuts_min, "{}: only {cuts} cuts", subject.name());
    }
}
