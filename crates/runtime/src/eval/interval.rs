//! How far a figure can be trusted on so many requests. All intervals are at 95 %.

use serde::Serialize;

/// The standard normal deviate that 2.5 % exceed.
const Z: f64 = 1.959_963_984_540_054;

/// The lower and the upper end of what a figure may be, both from 0 to 1, or from -1 to 1 where it is
/// a difference. As JSON a list of the two.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval(pub f64, pub f64);

/// A mean of values from 0 to 1, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub value: f64,
    /// What it may be.
    pub interval: Interval,
}

impl Estimate {
    /// The mean of `values`, none where there are none.
    ///
    /// Of values that are 0 or 1 this is a share, and the interval is the score interval of Wilson
    /// ("Probable Inference, the Law of Succession, and Statistical Inference", Journal of the
    /// American Statistical Association 22, 1927), which holds for few requests and near 0 and 1,
    /// where the usual one does not. Other values vary less than a share of the same mean, so that
    /// they tell as much as a larger number of zeros and ones with the same variance would: the same
    /// formula is used with that effective number (Korn and Graubard, "Confidence Intervals for
    /// Proportions with Small Expected Number of Positive Counts Estimated from Survey Data", Survey
    /// Methodology 24, 1998). Nothing is drawn at random, so the same data give the same bytes.
    ///
    /// ```
    /// use concertina_runtime::eval::Estimate;
    ///
    /// let half = Estimate::of(&[1.0, 0.0]).unwrap();
    /// assert_eq!(half.value, 0.5);
    /// assert!(half.interval.0 < 0.1 && half.interval.1 > 0.9, "two requests say little");
    /// assert!(Estimate::of(&[]).is_none());
    /// ```
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let n = number(values.len());
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
        // Of equal values nothing is known of how they vary; a share is the worst case.
        let effective = if variance > 0.0 { n * mean * (1.0 - mean) / variance } else { n };
        Some(Self { value: mean, interval: wilson(mean, effective.max(n)) })
    }

    /// The share that `part` is of `whole`, none where that is nothing.
    ///
    /// ```
    /// use concertina_runtime::eval::Estimate;
    ///
    /// assert_eq!(Estimate::share(1, 4), Estimate::of(&[1.0, 0.0, 0.0, 0.0]));
    /// assert_eq!(Estimate::share(0, 0), None);
    /// ```
    pub fn share(part: usize, whole: usize) -> Option<Self> {
        let (value, n) = (number(part) / number(whole), number(whole));
        (whole > 0).then(|| Self { value, interval: wilson(value, n) })
    }
}

fn wilson(mean: f64, n: f64) -> Interval {
    let square = Z * Z / n;
    let centre = mean + square / 2.0;
    let half = Z * (mean * (1.0 - mean) / n + square / (4.0 * n)).max(0.0).sqrt();
    let end = |end: f64| (end / (1.0 + square)).clamp(0.0, 1.0);
    Interval(end(centre - half), end(centre + half))
}

/// The difference of two shares on the same requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedDifference {
    /// The second share less the first, from -1 to 1.
    pub value: f64,
    /// What the difference may be: the adjusted interval of Agresti and Min ("Simple Improved
    /// Confidence Intervals for Comparing Matched Proportions", Statistics in Medicine 24, 2005),
    /// which adds half a request to each of the four ways in which a request can fall out.
    pub ci95: Interval,
    /// Requests that only the first met.
    pub only_first: usize,
    /// Requests that only the second met.
    pub only_second: usize,
    /// How likely so uneven a split of the requests that one alone met is, were both equally good:
    /// the exact two-sided test of `McNemar` ("Note on the Sampling Error of the Difference between
    /// Correlated Proportions or Percentages", Psychometrika 12, 1947). 1 where they differ nowhere.
    pub p_value: f64,
}

impl PairedDifference {
    /// From whether the first and whether the second met each request; none where there are none.
    ///
    /// ```
    /// use concertina_runtime::eval::PairedDifference;
    ///
    /// let both = [[(true, true); 90].as_slice(), &[(false, true); 10]].concat();
    /// let found = PairedDifference::of(&both).unwrap();
    /// assert_eq!((found.value, found.only_second), (0.1, 10));
    /// assert!(found.ci95.0 > 0.0 && found.p_value < 0.01, "that is no accident");
    /// ```
    pub fn of(pairs: &[(bool, bool)]) -> Option<Self> {
        let count = |first| pairs.iter().filter(|pair| **pair == (first, !first)).count();
        let (only_first, only_second) = (count(true), count(false));
        let n = number(pairs.len());
        if pairs.is_empty() {
            return None;
        }
        let gained = number(only_second) - number(only_first);
        let (apart, adjusted) = (number(only_first) + number(only_second) + 1.0, n + 2.0);
        let centre = gained / adjusted;
        let half = Z * (apart - gained * gained / adjusted).max(0.0).sqrt() / adjusted;
        Some(Self {
            value: gained / n,
            ci95: Interval((centre - half).max(-1.0), (centre + half).min(1.0)),
            only_first,
            only_second,
            p_value: mcnemar(only_first, only_second),
        })
    }
}

/// Twice the chance that a fair coin, thrown `a + b` times, shows one side `min(a, b)` times or less.
fn mcnemar(a: usize, b: usize) -> f64 {
    let thrown = a + b;
    // In logarithms, since half to the power of a thousand is no number any more.
    let mut term = -number(thrown) * std::f64::consts::LN_2;
    let mut sum = term.exp();
    for times in 0..a.min(b) {
        term += (number(thrown - times) / number(times + 1)).ln();
        sum += term.exp();
    }
    (2.0 * sum).min(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
pub(super) fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 5e-5
    }

    #[test]
    fn shares_have_the_interval_of_wilson() {
        // Computed apart from the code, with the formula as Wilson wrote it.
        for (hits, of, low, high) in WILSON {
            let values: Vec<f64> = (0..of).map(|at| f64::from(u8::from(at < hits))).collect();
            let Interval(a, b) = Estimate::of(&values).unwrap().interval;
            assert!(is_near(a, low) && is_near(b, high), "{hits} of {of}: {a} to {b}");
        }
    }

    const WILSON: [(usize, usize, f64, f64); 4] = [
        (0, 10, 0.0, 0.27753),
        (1, 10, 0.01788, 0.40415),
        (263, 489, 0.49352, 0.58156),
        (52, 52, 0.93121, 1.0),
    ];

    #[test]
    #[allow(clippy::cast_possible_truncation, reason = "31 bits")]
    fn means_have_the_interval_that_resampling_gives() {
        // A generator of Knuth's (MMIX) is random enough, and the same everywhere.
        let mut state = 7u64;
        let mut next = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for worth in [[0.0, 0.5, 1.0], [1.0, 0.631, 1.0], [0.0, 0.0, 0.333]] {
            let values: Vec<f64> = (0..300).map(|_| worth[next(3)]).collect();
            let mut means: Vec<f64> = (0..2_000)
                .map(|_| (0..300).map(|_| values[next(300)]).sum::<f64>() / 300.0)
                .collect();
            means.sort_by(f64::total_cmp);
            let Interval(low, high) = Estimate::of(&values).unwrap().interval;
            let near = |a: f64, b: f64| (a - b).abs() < 0.01;
            assert!(near(low, means[50]) && near(high, means[1_949]), "{worth:?}: {low} to {high}");
        }
    }

    #[test]
    fn mcnemar_is_the_binomial_test() {
        for (a, b, p) in MCNEMAR {
            assert!(is_near(mcnemar(a, b), p), "{a} and {b}: {}", mcnemar(a, b));
            assert!(is_near(mcnemar(b, a), p));
        }
        assert!(mcnemar(40_000, 40_000) > 0.99 && mcnemar(0, 40_000) == 0.0);
    }

    const MCNEMAR: [(usize, usize, f64); 4] =
        [(0, 0, 1.0), (1, 1, 1.0), (2, 10, 0.03857), (100, 130, 0.05561)];
}
