//! Classes of drives that are sold today: how much of their flash the host sees, and what they are
//! rated for.
//!
//! Of 1 TiB of flash a maker sells 1,000 GB to consumers, 960 GB for mostly reading and 800 GB for
//! mixed use. That the flash is 1 TiB is assumed: some makers put parity or spare dies on top.

use serde::Serialize;

/// A class of drives.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct DriveClass {
    pub name: &'static str,
    /// Bytes that the host sees.
    pub capacity_bytes: u64,
    /// (T − U) / U, as `--extra` takes it.
    pub extra: &'static str,
    /// Drive writes a day for the years of the warranty.
    pub rated_dwpd: f64,
    pub warranty_years: f64,
    /// Where the rating comes from.
    pub source: &'static str,
}

const GB: u64 = 1_000_000_000;

/// All classes.
pub static CLASSES: [DriveClass; 3] = [
    DriveClass {
        name: "consumer",
        capacity_bytes: 1000 * GB,
        extra: "9.95%",
        rated_dwpd: 0.33,
        warranty_years: 5.0,
        source: "Samsung 990 PRO, 1 TB: 600 TBW in 5 years",
    },
    DriveClass {
        name: "read-intensive",
        capacity_bytes: 960 * GB,
        extra: "14.53%",
        rated_dwpd: 1.0,
        warranty_years: 5.0,
        source: "Micron 7450 PRO, 960 GB: 1 drive write a day for 5 years",
    },
    DriveClass {
        name: "mixed-use",
        capacity_bytes: 800 * GB,
        extra: "37.44%",
        rated_dwpd: 3.0,
        warranty_years: 5.0,
        source: "Micron 7450 MAX, 800 GB: 3 drive writes a day for 5 years",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_a_tebibyte_of_flash() {
        for class in &CLASSES {
            let extra: spec::Share = spec::Share::parse(class.extra).unwrap();
            let flash = class.capacity_bytes + extra.ceil_of(class.capacity_bytes);
            let share = flash as f64 / (1u64 << 40) as f64;
            assert!((share - 1.0).abs() < 1e-4, "{}: {share}", class.name);
        }
    }
}
