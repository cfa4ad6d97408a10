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

/// A text that is no moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no moment: expected a day such as 2026-01-31, or 2026-01-31T12:00:00Z")]
pub struct TimestampError(String);

impl std::str::FromStr for Timestamp {
    type Err = TimestampError;

    /// A day, which begins at midnight, or a moment in UTC, with or without milliseconds.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| TimestampError(text.chars().take(100).collect()))
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    let number = |digits: &str, length: usize, most: i64| {
        let plain = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|number| plain && (0..=most).contains(number))
    };
    let (date, time) = text.split_once('T').unwrap_or((text, "00:00:00Z"));
    let (rest, day) = date.rsplit_once('-')?;
    let (year, month) = rest.rsplit_once('-')?;
    let year: i64 = year.parse().ok().filter(|_| year.len() >= 4)?;
    let (month, day) = (number(month, 2, 12)?, number(day, 2, 31)?);
    let (clock, part) = match time.strip_suffix('Z')?.split_once('.') {
        Some((clock, part)) => (clock, number(part, 3, 999)?),
        None => (time.strip_suffix('Z')?, 0),
    };
    let (hour, rest) = clock.split_once(':')?;
    let (minute, second) = rest.split_once(':')?;
    let seconds =
        number(hour, 2, 23)? * 3_600 + number(minute, 2, 59)? * 60 + number(second, 2, 59)?;
    // The way back of the algorithm above: days_from_civil.
    let shifted_year = year.checked_sub(i64::from(month <= 2))?;
    let era = shifted_year.div_euclid(400);
    let year_of_era = shifted_year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era.checked_mul(146_097)?.checked_add(day_of_era - 719_468)?;
    let moment = days.checked_mul(86_400_000)?.checked_add(seconds * 1_000 + part)?;
    // A day that the month does not have would be another day.
    (month > 0 && Timestamp(moment).to_string().starts_with(date)).then_some(Timestamp(moment))
}
