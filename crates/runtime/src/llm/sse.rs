//! Server-sent events, as the HTML standard describes them, read from bytes that may be cut anywhere.
//!
//! Fields other than `data` and `event` mean nothing here and are passed over. One thing is more
//! lenient than the standard: an event that the end of the stream cuts off is still returned by
//! [`Parser::finish`], because some servers leave out the last blank line.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The kind, empty where the stream gives none.
    pub event: String,
    /// The `data` lines, joined by line feeds.
    pub data: String,
}

/// Reads events from pieces of a stream.
///
/// ```
/// use concertina_runtime::llm::sse::Parser;
///
/// let mut parser = Parser::default();
/// assert!(parser.feed(b"data: one\r\nda").is_empty());
/// assert_eq!(parser.feed(b"ta: two\r\n\r\n")[0].data, "one\ntwo");
/// ```
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    after_cr: bool,
    after_first_line: bool,
    event: String,
    data: Option<String>,
}

impl Parser {
    /// Takes the next piece and returns the events that it completes.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\r' | b'\n' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        events
    }

    /// Ends the stream and returns the event that it cut off, if there is one.
    pub fn finish(mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.dispatch()
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = std::mem::take(&mut self.line);
        let first = !std::mem::replace(&mut self.after_first_line, true);
        let bytes = match bytes.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) if first => rest,
            _ => bytes.as_slice(),
        };
        let line = String::from_utf8_lossy(bytes);
        if line.is_empty() {
            return self.dispatch();
        }
        // A comment begins with a colon: its field has no name.
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        self.data.take().map(|data| Event { event, data })
    }
}
