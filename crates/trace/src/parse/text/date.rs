//! A date and a time of day: `2025-03-04 10:11:12.000412`, with a blank or a T between them; or the
//! time of day alone.

use crate::parse::text::field::Field;

/// The Unix time of a date in UTC, in nanoseconds; `None` if it is not one from 1970 on.
#[inline(never)]
pub(crate) fn date_ns(text: &[u8]) -> Option<u64> {
    let (date, time) = text.split_at_checked(10)?;
    let ([b' ' | b'T', time @ ..], [.., b'-', _, _, b'-', _, _]) = (time, date) else {
        return None;
    };
    let (year, month, day) =
        (number(&date[..4], 2500)?, number(&date[5..7], 12)?, number(&date[8..], 31)?);
    let days = days_since_1970(year, month, day)?;
    days.checked_mul(DAY_NS)?.checked_add(clock_ns(time.strip_suffix(b"Z").unwrap_or(time))?)
}

/// The nanoseconds of a day.
pub(crate) const DAY_NS: u64 = 86_400_000_000_000;

/// A time of day in nanoseconds, such as `10:11:12.000412`.
#[inline(never)]
pub(crate) fn clock_ns(text: &[u8]) -> Option<u64> {
    let [h, g, b':', m, n, b':', seconds @ ..] = text else { return None };
    let (hours, minutes) = (number(&[*h, *g], 23)?, number(&[*m, *n], 59)?);
    let second_ns = Field::new(seconds).decimal(9, b'.').filter(|&ns| ns < 61_000_000_000)?;
    Some((hours * 60 + minutes) * 60_000_000_000 + second_ns)
}

fn number(text: &[u8], most: u64) -> Option<u64> {
    Field::new(text).number().filter(|&number| number <= most)
}

/// Days from 1 January 1970 to a date of the Gregorian calendar.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || month == 0 || day == 0 {
        return None;
    }
    // Years begin in March, so that the leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = year * 365 + leap_days + (153 * month + 2) / 5 + day - 1;
    days.checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_unix_times() {
        let seconds = |text: &str| date_ns(text.as_bytes()).map(|ns| ns / 1_000_000_000);
        assert_eq!(seconds("1970-01-01 00:00:00"), Some(0));
        assert_eq!(seconds("2000-02-29T23:59:59Z"), Some(951_868_799));
        assert_eq!(seconds("2025-03-04 10:11:12.000412"), Some(1_741_083_072));
        assert_eq!(date_ns(b"1970-01-01 00:00:01.5"), Some(1_500_000_000));
        let wrong = [
            "",
            "2025-03-04",
            "2025-13-04 10:11:12",
            "2025-03-04 24:11:12",
            "1969-12-31 \
            10:00:00",
            "2025-03-04 10:11",
            "2025-03-04_10:11:12",
            "2025-03-04 10:11:61",
            "12.5",
        ];
        for text in wrong {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
