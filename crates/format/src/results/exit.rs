//! The exit code, which every parser yields.

use concertina_types::FieldValue;

/// The field that holds it.
pub(super) const FIELD: &str = "exit";

pub(super) fn read(exit: i32) -> FieldValue {
    FieldValue::Number(i64::from(exit))
}
