//! YAML to nodes. The only file that names the YAML parser.
//!
//! The parser's events are read rather than its typed values, because a value has to keep its
//! spelling (`1.10`, `yes`), its place, and repeated keys.

mod node;

use std::collections::HashMap;

use concertina_types::{Span, limits};
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span as YamlSpan};

pub(crate) use node::{Entry, Kind, Node, Style};

/// Why a text is not YAML that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not YAML.
    Syntax {
        /// Where, in the decoded text.
        at: usize,
        /// What the parser says.
        message: String,
    },
    /// It is, but it is deeper or larger than anything honest, once aliases are replaced.
    TooComplex {
        /// Where the limit was met.
        at: usize,
    },
}

/// What a text holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tree {
    pub(crate) root: Node,
    /// Where aliases were replaced.
    pub(crate) aliases: Vec<usize>,
    /// Where tags were ignored.
    pub(crate) tags: Vec<usize>,
}

/// Reads one document. `base` is where `source` begins in the decoded text.
pub(crate) fn parse(source: &str, base: usize) -> Result<Tree, Fault> {
    let mut builder = Builder::new(source, base);
    for event in Parser::new_from_str(source) {
        let (event, span) = event.map_err(|error| Fault::Syntax {
            at: base + error.marker().byte_offset().unwrap_or_default().min(source.len()),
            message: error.info().clone(),
        })?;
        builder.take(event, &span)?;
    }
    let root = builder.root.unwrap_or_else(|| Node::plain("", Span::new(base, base)));
    Ok(Tree { root, aliases: builder.aliases, tags: builder.tags })
}

/// A collection that is not closed yet.
struct Open {
    start: usize,
    anchor: usize,
    key: Option<(String, usize)>,
    kind: Kind,
}

/// An anchored node and what a copy of it takes.
struct Anchored {
    node: Node,
    nodes: usize,
    bytes: usize,
}

struct Builder<'s> {
    source: &'s str,
    base: usize,
    has_aliases: bool,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    nodes: usize,
    /// Bytes copied by aliases.
    copied: usize,
    anchors: HashMap<usize, Anchored>,
    aliases: Vec<usize>,
    tags: Vec<usize>,
}

impl<'s> Builder<'s> {
    fn new(source: &'s str, base: usize) -> Self {
        Self {
            source,
            base,
            has_aliases: source.contains('*'),
            open: Vec::new(),
            root: None,
            documents: 0,
            nodes: 0,
            copied: 0,
            anchors: HashMap::new(),
            aliases: Vec::new(),
            tags: Vec::new(),
        }
    }

    fn place(&self, span: &YamlSpan) -> Span {
        let range = span.byte_range().unwrap_or_default();
        let within = |at: usize| self.base + at.min(self.source.len());
        Span::new(within(range.start), within(range.end))
    }

    fn take(&mut self, event: Event<'_>, span: &YamlSpan) -> Result<(), Fault> {
        let place = self.place(span);
        let syntax =
            |message: &str| Err(Fault::Syntax { at: place.start, message: message.to_owned() });
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return syntax("a second document begins here");
                }
            }
            Event::Alias(anchor) => {
                let Some(anchored) = self.anchors.get(&anchor) else {
                    return syntax("the alias stands inside what it stands for");
                };
                self.nodes += anchored.nodes;
                self.copied += anchored.bytes;
                if self.nodes > limits::FRONTMATTER_NODES || self.copied > limits::FRONTMATTER_BYTES
                {
                    return Err(Fault::TooComplex { at: place.start });
                }
                let node = anchored.node.clone();
                self.aliases.push(place.start);
                self.put(Node { span: place, kind: node.kind });
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.count(place.start)?;
                let plain = style == ScalarStyle::Plain;
                let foreign = tag.as_ref().is_some_and(|tag| !tag.is_yaml_core_schema());
                if foreign {
                    self.tags.push(place.start);
                }
                // What another schema's tag marks, `!` too, is not the core schema's null.
                let quoted = !plain
                    || foreign
                    || tag.as_ref().is_some_and(|t| t.is_yaml_core_schema_tag("str"));
                // An omitted value is reported as a tilde without extent.
                let text = if plain && place.start == place.end { "".into() } else { text };
                let style = if quoted { Style::Text } else { Style::Plain };
                let node = Node { span: place, kind: Kind::Scalar(text.into_owned(), style) };
                self.anchor(anchor, &node);
                self.put(node);
            }
            Event::SequenceStart(_, anchor, _) => {
                self.push(place, anchor, Kind::List(Vec::new()))?;
            }
            Event::MappingStart(_, anchor, _) => self.push(place, anchor, Kind::Map(Vec::new()))?,
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let span = Span::new(open.start, place.end.max(open.start));
                    let node = Node { span, kind: open.kind };
                    self.anchor(open.anchor, &node);
                    self.put(node);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn count(&mut self, at: usize) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > limits::FRONTMATTER_NODES {
            return Err(Fault::TooComplex { at });
        }
        Ok(())
    }

    fn push(&mut self, place: Span, anchor: usize, kind: Kind) -> Result<(), Fault> {
        self.count(place.start)?;
        if self.open.len() >= limits::FRONTMATTER_DEPTH {
            return Err(Fault::TooComplex { at: place.start });
        }
        self.open.push(Open { start: place.start, anchor, key: None, kind });
        Ok(())
    }

    fn anchor(&mut self, anchor: usize, node: &Node) {
        if anchor != 0 && self.has_aliases {
            let (nodes, bytes) = size(node);
            self.anchors.insert(anchor, Anchored { node: node.clone(), nodes, bytes });
        }
    }

    fn put(&mut self, node: Node) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        match &mut open.kind {
            Kind::List(items) => items.push(node),
            Kind::Map(entries) => {
                if let Some((key, at)) = open.key.take() {
                    entries.push(Entry { key, at, value: node });
                    return;
                }
                let at = node.span.start;
                let local = |at: usize| at.saturating_sub(self.base);
                let key = match node.kind {
                    Kind::Scalar(text, _) => text,
                    // A collection as a key: its text names it.
                    Kind::List(_) | Kind::Map(_) => {
                        Span::new(local(at), local(node.span.end)).of(self.source).to_owned()
                    }
                };
                open.key = Some((key, at));
            }
            Kind::Scalar(..) => {}
        }
    }
}

/// How many nodes and bytes of text a copy takes.
fn size(node: &Node) -> (usize, usize) {
    let add = |(nodes, bytes): (usize, usize), (n, b): (usize, usize)| (nodes + n, bytes + b);
    match &node.kind {
        Kind::Scalar(text, _) => (1, text.len()),
        Kind::List(items) => items.iter().map(size).fold((1, 0), add),
        Kind::Map(entries) => {
            entries.iter().map(|e| add((1, e.key.len()), size(&e.value))).fold((1, 0), add)
        }
    }
}
