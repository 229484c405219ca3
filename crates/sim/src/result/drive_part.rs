//! The `drive` part of a result: what a drive with channels and dies did.

use drive::{Profile, Shares, Usage};
use serde_json::{Map, Value, json};

use crate::clock::drive_times::{ByResponse, DriveTimes, ResponseCourse};
use crate::result::record::{Columns, record};

/// JSON text.
impl Columns for ByResponse {}
/// JSON text.
impl Columns for ResponseCourse {}

record! {
    /// What a drive did in the measured pass.
    #[derive(Clone, Debug)]
    pub struct DrivePart {
        /// The profile and all its figures, as `--drive` takes them.
        pub profile: Map<String, Value>,
        /// From the first issue until the drive was idle.
        pub seconds: f64,
        /// Requests per second; null if they took no time.
        pub iops: Option<f64>,
        /// Bytes read and written per second, in 10⁶.
        pub mb_per_s: Option<f64>,
        /// The mean number of requests in the drive.
        pub mean_requests: Option<f64>,
        /// For each die and each channel the share of the time in which it was occupied.
        pub utilisation: Map<String, Value>,
        /// The parts of all response times together; their sum is 1.
        pub shares: Map<String, Value>,
        /// The parts by the length of the response.
        pub by_response: ByResponse,
        /// The response times over time.
        pub series: Option<ResponseCourse>,
        /// Suspensions of programs and erases for reads.
        pub suspensions: u64,
        /// Pages read from the drive's buffer.
        pub read_from_buffer: u64,
    }
}

impl DrivePart {
    /// The part for what a drive did while the host read and wrote this many bytes.
    pub fn of(profile: &Profile, usage: &Usage, times: &DriveTimes, bytes: u64) -> DrivePart {
        let seconds = usage.seconds();
        let per_second = |amount: f64| (seconds > 0.0).then(|| amount / seconds);
        let share = |part_ns: u64| per_second(part_ns as f64 / 1e9).unwrap_or(0.0);
        let dies: Vec<f64> = usage.dies.iter().map(|die| share(die.occupied_ns)).collect();
        let channels: Vec<f64> =
            usage.channels.iter().map(|channel| share(channel.busy_ns)).collect();
        let whole = (usage.responses_ns as f64).max(1.0);
        let shares = Shares::NAMES.iter().zip(usage.shares);
        DrivePart {
            profile: profile_json(profile),
            seconds,
            iops: per_second(usage.answered as f64),
            mb_per_s: per_second(bytes as f64 / 1e6),
            mean_requests: per_second(usage.requests_times_ns as f64 / 1e9),
            utilisation: Map::from_iter([
                ("dies".to_owned(), json!(dies)),
                ("channels".to_owned(), json!(channels)),
            ]),
            shares: shares
                .map(|(&name, part_ns)| (name.to_owned(), json!(part_ns as f64 / whole)))
                .collect(),
            by_response: times.by_response(),
            series: times.course(),
            suspensions: usage.dies.iter().map(|die| die.suspensions).sum(),
            read_from_buffer: usage.read_from_buffer,
        }
    }
}

fn profile_json(profile: &Profile) -> Map<String, Value> {
    let name = ("name".to_owned(), Value::from(profile.name));
    let figures = profile.figures().into_iter();
    let figures = figures.map(|(key, value)| (key.to_owned(), Value::from(value)));
    [name].into_iter().chain(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_per_second_and_decimal() {
        let mut usage = Usage::default();
        (usage.until_ns, usage.answered) = (2_000_000_000, 10);
        let (profile, times) = ("ideal".parse().unwrap(), DriveTimes::new(false, 0));
        let part = DrivePart::of(&profile, &usage, &times, 6_000_000);
        assert_eq!((part.seconds, part.iops, part.mb_per_s), (2.0, Some(5.0), Some(3.0)));
    }
}
