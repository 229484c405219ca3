//! How fast open loads issue requests, and how fast these are answered.
//!
//! ```text
//! offered = requests / (last issue − first issue)
//! served  = requests / (last answer − first issue)
//! ```
//! A device that keeps up answers the last request soon after its issue, so both are nearly equal.
//! If it does not, the queue grows, and response times depend on the length of the trace.

/// The least share of the offered rate that a device serves if it keeps up.
const KEPT_UP: f64 = 0.95;
/// Fewer requests may be a single burst.
const REQUESTS_MIN: u64 = 256;

/// Requests of open loads since counting began, all loads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenRates {
    requests: u64,
    first_issue_ns: u64,
    last_issue_ns: u64,
    last_answer_ns: u64,
}

impl OpenRates {
    /// A request was issued.
    #[inline]
    pub fn issued(&mut self, at_ns: u64) {
        if self.requests == 0 {
            self.first_issue_ns = at_ns;
        }
        self.requests += 1;
        self.last_issue_ns = self.last_issue_ns.max(at_ns);
    }

    /// A request was answered.
    #[inline]
    pub fn answered(&mut self, at_ns: u64) {
        self.last_answer_ns = self.last_answer_ns.max(at_ns);
    }

    /// Requests per second that were issued; none if they were all issued at the same time.
    pub fn offered_iops(&self) -> Option<f64> {
        self.per_second(self.last_issue_ns)
    }

    /// Requests per second that were answered; none if they took no time.
    pub fn served_iops(&self) -> Option<f64> {
        self.per_second(self.last_answer_ns)
    }

    /// Whether requests came faster than they were served, so that the queue grew to the end.
    pub fn grow_a_queue(&self) -> bool {
        let keeps_up =
            |offered| self.served_iops().is_none_or(|served| served >= KEPT_UP * offered);
        self.requests >= REQUESTS_MIN && !self.offered_iops().is_some_and(keeps_up)
    }

    fn per_second(&self, until_ns: u64) -> Option<f64> {
        let took_ns = until_ns.checked_sub(self.first_issue_ns).filter(|&took_ns| took_ns > 0)?;
        Some(self.requests as f64 / (took_ns as f64 / 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests that come every `every_ns` and are served one at a time.
    fn rates(requests: u64, every_ns: u64, service_ns: u64) -> OpenRates {
        let (mut rates, mut free_at_ns) = (OpenRates::default(), 0);
        for request in 0..requests {
            let issue_ns = 1_000_000 + request * every_ns;
            rates.issued(issue_ns);
            free_at_ns = issue_ns.max(free_at_ns) + service_ns;
            rates.answered(free_at_ns);
        }
        rates
    }

    #[test]
    fn a_device_that_keeps_up_serves_what_is_offered() {
        let found = rates(10_001, 100_000, 90_000);
        assert!((found.offered_iops().unwrap() - 10_001.0).abs() < 1e-6);
        assert!((found.served_iops().unwrap() - 10_000.1).abs() < 0.1);
        assert!(!found.grow_a_queue());
    }

    #[test]
    fn a_device_that_falls_behind_grows_a_queue() {
        let found = rates(10_000, 100_000, 110_000);
        assert!((found.served_iops().unwrap() - 1e9 / 110_000.0).abs() < 1.0);
        assert!(found.grow_a_queue());
        assert!(rates(10_000, 0, 5).grow_a_queue(), "all at once");
    }

    #[test]
    fn a_short_burst_is_no_growing_queue() {
        assert!(!rates(100, 10, 1000).grow_a_queue());
        assert!(!OpenRates::default().grow_a_queue());
        assert_eq!(OpenRates::default().served_iops(), None);
    }
}
