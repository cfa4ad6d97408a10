//! A session as one page that stands alone: no script, nothing that is fetched, everything escaped.

use std::fmt::Write as _;
use std::path::Path;

use concertina_runtime::audit::{About, Told};
use concertina_store::Verdict;
use concertina_types::SignedReceipt;

use crate::error::{CliError, Exit};
use crate::output::count;

/// What stands on a page.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    /// What it is, in a sentence or two.
    pub(crate) lead: &'a str,
    pub(crate) parts: &'a [Part],
    /// What came of it, where it is one line: a commit.
    pub(crate) outcome: Option<&'a str>,
    pub(crate) verdict: Option<&'a Verdict>,
}

/// A part of the account with its heading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    pub(crate) title: String,
    /// What is not in the log and helps to understand it.
    pub(crate) note: Option<String>,
    pub(crate) lines: Vec<Told>,
    /// Where the procedure stands at its end.
    pub(crate) standing: Option<String>,
}

/// The account of a session, cut where a person gave it a task.
pub(crate) fn parts(lines: Vec<Told>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for told in lines {
        match parts.last_mut().filter(|_| told.about != About::Task) {
            Some(part) => part.lines.push(told),
            None if told.about == About::Task => {
                parts.push(Part { title: told.text, ..Part::default() });
            }
            None => parts.push(Part {
                title: "Before the first task".to_owned(),
                lines: vec![told],
                ..Part::default()
            }),
        }
    }
    parts
}

/// Writes `page` to `file`.
pub(crate) fn save(page: &Page<'_>, file: &Path) -> Result<(), CliError> {
    std::fs::write(file, page.html()).map_err(|error| {
        let message = format!("{} cannot be written: {error}", file.display());
        CliError::new(Exit::Environment, "NOT_SAVED", message)
            .help("give a file that you can write")
    })
}

const STYLE: &str = include_str!("page.css");

impl Page<'_> {
    /// The page as HTML.
    pub(crate) fn html(&self) -> String {
        let mut html =
            String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        html.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        html.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
        // Nothing is fetched or run, whatever a text in it looks like.
        html.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n");
        let title = escaped(self.title);
        let _ = write!(
            html,
            "<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        );
        let _ = write!(html, "<header>\n<h1>{title}</h1>\n<p>{}</p>\n", escaped(self.lead));
        self.summary(&mut html);
        html.push_str("</header>\n");
        for (at, part) in self.parts.iter().enumerate() {
            part.html(at + 1, &mut html);
        }
        self.receipts(&mut html);
        html.push_str("</main>\n</body>\n</html>\n");
        html
    }

    fn summary(&self, html: &mut String) {
        html.push_str("<ul class=\"summary\">\n");
        let mut fact = |class: &str, name: &str, text: &str| {
            let _ = writeln!(
                html,
                "<li class=\"{class}\"><span>{name}</span><b>{}</b></li>",
                escaped(text)
            );
        };
        if let Some(outcome) = self.outcome {
            fact("good", "Outcome", outcome);
        }
        let lines = || self.parts.iter().flat_map(|part| &part.lines);
        let number = |about: About| lines().filter(|told| told.about == about).count();
        fact("", "Receipts", &count(self.signed().len(), "receipt"));
        fact("", "Refused", &count(number(About::Refused), "request"));
        if let Some(verdict) = self.verdict {
            let records = count(usize::try_from(verdict.records).unwrap_or(usize::MAX), "record");
            match verdict.reason {
                None => fact("good", "Audit", &format!("{records}, in order")),
                Some(fault) => {
                    fact("bad", "Audit", &format!("cannot be trusted: {}", fault.words()));
                }
            }
        }
        html.push_str("</ul>\n");
    }

    /// Every receipt, once.
    fn signed(&self) -> Vec<&SignedReceipt> {
        let mut all: Vec<&SignedReceipt> = Vec::new();
        for told in self.parts.iter().flat_map(|part| &part.lines) {
            if let Some(receipt) = &told.receipt
                && !all.contains(&receipt.as_ref())
            {
                all.push(receipt);
            }
        }
        all
    }

    fn receipts(&self, html: &mut String) {
        let receipts = self.signed();
        if receipts.is_empty() {
            return;
        }
        html.push_str("<section>\n<h2>Receipts</h2>\n<p class=\"note\">Each is signed, names the one before it, and holds for one run and exactly these files. ");
        html.push_str("<code>same_uid</code>: whoever runs as the same user as the agent could have made it.</p>\n");
        html.push_str("<div class=\"wide\"><table>\n<thead><tr><th>#</th><th>Run</th><th>By</th><th>Proves</th><th>Said</th><th>Files</th><th>Assurance</th><th>Digest</th></tr></thead>\n<tbody>\n");
        for signed in receipts {
            let receipt = &signed.receipt;
            let said = receipt.parsed.iter().map(|(name, value)| format!("{name} {value}"));
            let said = said.collect::<Vec<_>>().join(", ");
            let files = receipt.inputs_digest.map(|digest| digest.short()).unwrap_or_default();
            let proves = match receipt.proves.as_slice() {
                [] => "–".to_owned(),
                names => names.join(", "),
            };
            let held = receipt.tier.as_ref().map(|tier| format!(", {tier}")).unwrap_or_default();
            let _ = write!(html, "<tr><td>{}</td>", receipt.seq);
            let by = format!("{} ({}{held})", receipt.tool, receipt.issuer);
            for text in [&short(&receipt.run), &by, &proves, &said] {
                let _ = write!(html, "<td>{}</td>", escaped(text));
            }
            let _ = writeln!(
                html,
                "<td><code>{}</code></td><td>{}</td><td><code title=\"{}\">{}</code></td></tr>",
                escaped(&files),
                receipt.assurance,
                receipt.digest(),
                receipt.digest().short(),
            );
        }
        html.push_str("</tbody>\n</table></div>\n</section>\n");
    }
}

impl Part {
    fn html(&self, number: usize, html: &mut String) {
        let title = escaped(&self.title);
        let _ = writeln!(html, "<section>\n<h2><span>{number}</span>{title}</h2>");
        if let Some(note) = &self.note {
            let _ = writeln!(html, "<p class=\"note\">{}</p>", escaped(note));
        }
        html.push_str("<ol class=\"account\">\n");
        for told in &self.lines {
            let word = told.about.word();
            let _ = write!(
                html,
                "<li class=\"{word}\"><span class=\"word\">{word}</span><div>{}",
                escaped(&told.text)
            );
            if let Some(detail) = &told.detail {
                let _ = write!(html, "<pre>{}</pre>", escaped(detail.trim_end()));
            }
            html.push_str("</div></li>\n");
        }
        html.push_str("</ol>\n");
        if let Some(standing) = &self.standing {
            let _ = writeln!(html, "<p class=\"standing\">{}</p>", escaped(standing));
        }
        html.push_str("</section>\n");
    }
}

/// The first digits of the name of a run.
fn short(run: &str) -> String {
    run.trim_start_matches("run-").chars().take(8).collect()
}

/// `text` so that none of it is markup, and none of it turns the direction of what stands beside it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.extend(c.escape_unicode()),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use concertina_runtime::audit::{About, Told};

    use super::{Page, Part};

    #[test]
    fn nothing_that_was_said_is_markup() {
        let told = Told {
            seq: 1,
            about: About::Says,
            text: "<script>alert('1')</script>\u{1b}[2J\u{202e}".to_owned(),
            detail: Some("</pre><img src=x onerror=\"y\">".to_owned()),
            receipt: None,
        };
        let part = Part { title: "<u>".to_owned(), lines: vec![told], ..Part::default() };
        let page = Page {
            title: "</title>",
            lead: "&",
            parts: &[part],
            outcome: Some("<i>"),
            verdict: None,
        };
        let html = page.html();
        for text in ["<script", "<img", "<u>", "<i>", "\u{1b}", "\u{202e}", "</title></title>"] {
            assert!(!html.contains(text), "{text}");
        }
        assert!(html.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"), "{html}");
    }
}
