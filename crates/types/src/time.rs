//! Moments, as data.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z. Pure code never asks for the time: it is told.
///
/// ```
/// use concertina_types::Timestamp;
/// assert_eq!(Timestamp(1_767_225_600_000).to_string(), "2026-01-01T00:00:00.000Z");
/// ```
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, to the millisecond.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY: i64 = 86_400_000;
        let (days, within) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        // Civil date from a day count, after Howard Hinnant, "chrono-Compatible Low-Level Date
        // Algorithms": shift to an era that starts on 1 March, so leap days end a year.
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
            within / 3_600_000,
            within / 60_000 % 60,
            within / 1_000 % 60,
            within % 1_000
        )
    }
}
