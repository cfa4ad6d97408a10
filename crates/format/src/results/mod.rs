//! Placeholder, replaced by the parsers.
use serde::Serialize;
use std::collections::BTreeMap;
/// P
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonPath(String);
impl std::str::FromStr for JsonPath {
    type Err = String;
    fn from_str(t: &str) -> Result<Self, String> {
        Ok(Self(t.into()))
    }
}
/// R
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultParser {
    /// e
    Exit,
    /// c
    CargoTest,
    /// t
    Tap,
    /// j
    JsonPath(BTreeMap<String, JsonPath>),
}
impl ResultParser {
    /// n
    pub const NAMES: [&'static str; 4] = ["exit", "cargo-test", "tap", "json-path"];
    /// n
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "exit" => Self::Exit,
            "cargo-test" => Self::CargoTest,
            "tap" => Self::Tap,
            "json-path" => Self::JsonPath(BTreeMap::new()),
            _ => return None,
        })
    }
    /// n
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::CargoTest => "cargo-test",
            Self::Tap => "tap",
            Self::JsonPath(_) => "json-path",
        }
    }
    /// f
    pub fn fields(&self) -> Vec<&str> {
        match self {
            Self::Exit => vec!["exit"],
            Self::JsonPath(p) => {
                std::iter::once("exit").chain(p.keys().map(String::as_str)).collect()
            }
            _ => vec!["exit", "passed", "failed", "skipped", "total"],
        }
    }
}

/// U
#[derive(Debug)]
pub struct Unreadable;
impl Unreadable {
    /// c
    pub fn code(&self) -> &'static str {
        "RESULT_UNREADABLE"
    }
}
impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("x")
    }
}
impl ResultParser {
    /// r
    pub fn read(
        &self,
        exit: i32,
        _output: &str,
    ) -> Result<BTreeMap<String, concertina_types::FieldValue>, Unreadable> {
        Ok(BTreeMap::from([("exit".to_owned(), i64::from(exit).into())]))
    }
}
