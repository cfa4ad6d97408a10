//! Comparisons of fields with values.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use concertina_types::FieldValue;
use serde::{Deserialize, Serialize};

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Compare {
    /// They are the same.
    #[serde(rename = "==")]
    Equal,
    /// They are not the same.
    #[serde(rename = "!=")]
    Unequal,
    /// The first is smaller.
    #[serde(rename = "<")]
    Less,
    /// The first is not larger.
    #[serde(rename = "<=")]
    AtMost,
    /// The first is larger.
    #[serde(rename = ">")]
    More,
    /// The first is not smaller.
    #[serde(rename = ">=")]
    AtLeast,
}

impl Compare {
    /// All of them. A longer spelling stands before the one that it begins with.
    pub(super) const ALL: [(&'static str, Self); 6] = [
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("<", Self::Less),
        (">", Self::More),
    ];

    /// Whether it holds. Values of different kinds are not the same, and neither is larger; words and flags have no
    /// order.
    ///
    /// ```
    /// use concertina_format::procedure::Compare;
    /// assert!(Compare::AtLeast.holds(&3.into(), &1.into()));
    /// assert!(!Compare::AtLeast.holds(&"3".into(), &1.into()));
    /// ```
    pub fn holds(self, left: &FieldValue, right: &FieldValue) -> bool {
        let order = match (left, right) {
            (FieldValue::Number(left), FieldValue::Number(right)) => Some(left.cmp(right)),
            _ => None,
        };
        match self {
            Self::Equal => left == right,
            Self::Unequal => left != right,
            Self::Less => order == Some(Ordering::Less),
            Self::AtMost => order.is_some_and(Ordering::is_le),
            Self::More => order == Some(Ordering::Greater),
            Self::AtLeast => order.is_some_and(Ordering::is_ge),
        }
    }
}

impl fmt::Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, _) =
            Self::ALL.iter().find(|(_, one)| one == self).unwrap_or(&("==", Self::Equal));
        f.pad(text)
    }
}

/// What a receipt has to say in one field.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Condition {
    /// The field.
    pub field: String,
    /// How.
    pub compare: Compare,
    /// With what.
    pub value: FieldValue,
}

impl Condition {
    /// Whether it holds. What is not said holds for nothing, not even for being different.
    pub fn holds(&self, fields: &BTreeMap<String, FieldValue>) -> bool {
        fields.get(&self.field).is_some_and(|found| self.compare.holds(found, &self.value))
    }
}

/// Whether `text` is spelled as a whole number and is beyond those that can be compared.
pub(super) fn is_beyond(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && text.parse::<i64>().is_err()
}

/// The numbers that can be compared, in words.
pub(super) const NUMBERS: &str = "between -9223372036854775808 and 9223372036854775807";

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.field, self.compare, self.value)
    }
}
