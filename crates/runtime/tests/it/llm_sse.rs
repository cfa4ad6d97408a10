//! The event stream parser against a naive reading of the standard.

use concertina_runtime::llm::sse::{Event, Parser};
use proptest::prelude::*;

/// Reads the whole stream at once: decode, normalize line ends, split, interpret.
fn oracle(bytes: &[u8]) -> Vec<Event> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let (mut kind, mut data) = (String::new(), Vec::new());
    // The end of the stream counts as a blank line.
    for line in text.split('\n').chain([""]) {
        if line.is_empty() {
            if !data.is_empty() {
                events.push(Event { event: kind.clone(), data: data.join("\n") });
            }
            kind.clear();
            data.clear();
            continue;
        }
        let (field, value) = match line.find(':') {
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(' ').unwrap_or(&line[at + 1..])),
            None => (line, ""),
        };
        match field {
            "event" => value.clone_into(&mut kind),
            "data" => data.push(value.to_owned()),
            _ => {}
        }
    }
    events
}

fn parse(pieces: &[&[u8]]) -> Vec<Event> {
    let mut parser = Parser::default();
    let mut events: Vec<_> = pieces.iter().flat_map(|piece| parser.feed(piece)).collect();
    events.extend(parser.finish());
    events
}

fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn line() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        Just("data: {\"a\":1}".to_owned()),
        Just("data:".to_owned()),
        Just("data".to_owned()),
        Just("event: ping".to_owned()),
        Just(": a comment".to_owned()),
        Just("id: 7".to_owned()),
        Just(String::new()),
        Just("\u{feff}data: mark".to_owned()),
        "data:[ a:é潮🌊]{0,6}",
        "event:[ a-c]{0,3}",
        "[a-z:é ]{0,6}",
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("\n\n"), Just("")];
    (text, end).prop_map(|(text, end)| (text + end).into_bytes())
}

proptest! {
    #[test]
    fn streams_read_the_same_in_any_pieces(
        lines in prop::collection::vec(line(), 0..12),
        cuts in prop::collection::vec(any::<usize>(), 0..8),
    ) {
        let bytes = lines.concat();
        prop_assert_eq!(parse(&cut(&bytes, &cuts)), oracle(&bytes));
    }

    #[test]
    fn any_bytes_read_as_the_standard_says(
        bytes in prop::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'), Just(0xEF), any::<u8>()],
            0..64,
        ),
        cuts in prop::collection::vec(any::<usize>(), 0..4),
    ) {
        prop_assert_eq!(parse(&cut(&bytes, &cuts)), oracle(&bytes));
    }
}

#[test]
fn a_line_feed_after_a_carriage_return_in_the_next_piece_is_one_line_end() {
    let events = parse(&[b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"]);
    assert_eq!(events, [Event { event: String::new(), data: "a\nb".to_owned() }]);
}
