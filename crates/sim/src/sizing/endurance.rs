//! How much the host may write, and how many P/E cycles it takes.
//!
//! ```text
//! TBW  = capacity × P/E cycles / (write amplification × wear levelling)
//! DWPD = TBW / (365 × years × capacity)
//! ```
//! The capacity is that of the host, as on data sheets. Wear levelling is the wear of the most worn
//! block over the mean wear: 1 if all blocks wear out evenly. Write amplification counts bytes.

use serde::Serialize;

/// What is asked about the endurance of a drive.
#[derive(Clone, Copy, Debug)]
pub struct Endurance {
    /// The capacity, if it is known. Without it there is no TBW.
    pub capacity_bytes: Option<u64>,
    /// Bytes programmed for a byte of the host.
    pub write_amplification: f64,
    /// Wear of the most worn block over the mean.
    pub wear_levelling: f64,
    /// The time for which the drive must last.
    pub years: f64,
}

/// A load that the flash bears for the time, and the cycles that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/sizing.md documents every field")]
pub struct Lifetime {
    pub pe_cycles: f64,
    pub drive_writes_per_day: f64,
    pub years: f64,
    pub tbw_bytes: Option<f64>,
}

const DAYS: f64 = 365.0;

impl Endurance {
    /// The P/E cycles that these writes of the whole drive per day take.
    pub fn for_writes(&self, drive_writes_per_day: f64) -> Lifetime {
        self.lifetime(DAYS * self.years * drive_writes_per_day)
    }

    /// What flash of these P/E cycles bears.
    pub fn for_cycles(&self, pe_cycles: f64) -> Lifetime {
        // Not what comes back from the writes, which may be a hair more.
        Lifetime { pe_cycles, ..self.lifetime(pe_cycles / self.cost()) }
    }

    /// P/E cycles for a write of the whole drive.
    fn cost(&self) -> f64 {
        self.write_amplification * self.wear_levelling
    }

    fn lifetime(&self, drive_writes: f64) -> Lifetime {
        Lifetime {
            pe_cycles: drive_writes * self.cost(),
            drive_writes_per_day: drive_writes / (DAYS * self.years),
            years: self.years,
            tbw_bytes: self.capacity_bytes.map(|bytes| drive_writes * bytes as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Micron 9550 MAX of 3.2 TB: 17,520 TB of random writes are 3 drive writes a day for 5 years.
    #[test]
    fn the_figures_of_a_data_sheet_fit_together() {
        let drive = Endurance {
            capacity_bytes: Some(3_200_000_000_000),
            write_amplification: 37_200.0 / 17_520.0,
            wear_levelling: 1.0,
            years: 5.0,
        };
        let random = drive.for_writes(3.0);
        assert_eq!(random.tbw_bytes, Some(17_520e12));
        assert!((random.pe_cycles - 11_625.0).abs() < 1e-6, "37,200 TB / 3.2 TB: {random:?}");
        let back = drive.for_cycles(random.pe_cycles);
        assert!((back.drive_writes_per_day - 3.0).abs() < 1e-12);
        for cycles in (1..3000).map(f64::from) {
            assert_eq!(drive.for_cycles(cycles).pe_cycles, cycles);
        }
    }

    #[test]
    fn uneven_wear_takes_more_cycles() {
        let even = Endurance {
            capacity_bytes: None,
            write_amplification: 2.0,
            wear_levelling: 1.0,
            years: 1.0,
        };
        let uneven = Endurance { wear_levelling: 1.25, ..even };
        assert_eq!(even.for_writes(1.0).pe_cycles, 730.0);
        assert_eq!(uneven.for_writes(1.0).pe_cycles, 912.5);
        assert_eq!(uneven.for_cycles(912.5).drive_writes_per_day, 1.0);
        assert_eq!(even.for_writes(1.0).tbw_bytes, None);
    }
}
