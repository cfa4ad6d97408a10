//! Values that do not mean the same to everyone who reads them.

use serde_json::{Map, Value};

use super::keywords::escape;
use super::{DEPTH, ERRORS, ParameterError};

/// Beyond this, not every integer is a floating point number (2^53), and many programs read numbers
/// as such: what was approved would not be what runs.
const EXACT: u64 = 1 << 53;

/// What in `value` cannot be handed on as it is: integers beyond 2^53 and characters that end a text.
/// What nests too deeply is refused elsewhere.
pub(super) fn inexact(value: &Value) -> Vec<ParameterError> {
    let mut look = Look::default();
    look.at(value);
    look.errors
}

/// As [`inexact`], for arguments by name.
pub(super) fn inexact_arguments(arguments: &Map<String, Value>) -> Vec<ParameterError> {
    let mut look = Look::default();
    look.inside(arguments);
    look.errors
}

#[derive(Default)]
struct Look {
    pointer: String,
    depth: usize,
    errors: Vec<ParameterError>,
}

impl Look {
    fn at(&mut self, value: &Value) {
        match value {
            Value::Number(number) => {
                let size = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
                if size.is_some_and(|size| size > EXACT) {
                    self.wrong(
                        "NOT_EXACT",
                        "is beyond 2^53, which not every program reads exactly",
                    );
                }
            }
            Value::String(text) => self.text(text, "holds"),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.below(&at.to_string(), item);
                }
            }
            Value::Object(map) => self.inside(map),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn inside(&mut self, map: &Map<String, Value>) {
        for (name, item) in map {
            self.text(name, "has a name that holds");
            self.below(&escape(name), item);
        }
    }

    fn below(&mut self, step: &str, value: &Value) {
        if self.depth >= DEPTH {
            return;
        }
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(step);
        self.depth += 1;
        self.at(value);
        self.depth -= 1;
        self.pointer.truncate(length);
    }

    fn text(&mut self, text: &str, what: &str) {
        if text.contains('\0') {
            let message = format!("{what} a NUL character, at which programs end a text");
            self.wrong("NUL_CHARACTER", &message);
        }
    }

    fn wrong(&mut self, code: &'static str, message: &str) {
        if self.errors.len() < ERRORS {
            let (pointer, message) = (self.pointer.clone(), message.to_owned());
            self.errors.push(ParameterError { pointer, code, message });
        }
    }
}
