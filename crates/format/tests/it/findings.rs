//! Findings as people read them.

use std::fmt::Write as _;

use concertina_types::Diagnostic;

/// One line per finding: place, severity, code, message and, in brackets, the help.
pub(crate) fn lines(diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    for found in diagnostics {
        let place = |number: Option<u32>| number.map_or("-".into(), |number| number.to_string());
        let (line, column) = (place(found.line), place(found.column));
        let Diagnostic { code, severity, message, help, .. } = found;
        let help = help.as_deref().unwrap_or("-");
        let _ = writeln!(text, "{line}:{column} {severity} {code}: {message} ({help})");
    }
    text
}

/// The codes of the findings, in order.
pub(crate) fn codes(diagnostics: &[Diagnostic]) -> Vec<&str> {
    diagnostics.iter().map(|found| found.code.as_ref()).collect()
}
