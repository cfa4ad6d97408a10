//! The numbers of the ranking that can be set.

/// How the parts of a document count.
///
/// The ranking is BM25F: occurrences are first weighed and length-normalised per field, then
/// summed, then saturated once (Robertson, Zaragoza and Taylor, "Simple BM25 Extension to Multiple
/// Weighted Fields", CIKM 2004). To it is added the likeness to example requests. The figures were
/// chosen on one half of four sets of requests; the results change little around them.
///
/// ```
/// use concertina_core::catalog::search::Weights;
/// let mut weights = Weights::default();
/// *weights.get_mut("name").unwrap() = 3.0;
/// assert_eq!(weights.name, 3.0);
/// assert!(weights.get_mut("shoe size").is_none());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Saturation: how soon more occurrences stop to matter.
    pub k1: f32,
    /// Length normalisation, from 0 (none) to 1 (full), of what can be long: parameters, body and
    /// examples.
    pub b: f32,
    /// Length normalisation of what is short by nature: name, description and tags. A description
    /// that says more is rather a better one than a wordier one.
    pub b_short: f32,
    /// The weight of a word in the name.
    pub name: f32,
    /// In the description.
    pub description: f32,
    /// In the tags and the group.
    pub tags: f32,
    /// In the names and descriptions of parameters.
    pub parameters: f32,
    /// In the body.
    pub body: f32,
    /// In an example request.
    pub examples: f32,
    /// What the likeness to the example requests of a document counts: the scalar product of the
    /// request, by the rarity of its words, with the document's vector of length 1.
    pub likeness: f32,
    /// The share of the score that a fully met `not_for` takes away. People name what they do not
    /// want as well ("the report is done, now the letter"), so more than this does harm.
    pub not_for: f32,
    /// The weight of a word in which requests are framed, such as `find` or `information`.
    pub frame: f32,
    /// The weight of a single character of a script without blanks.
    pub character: f32,
    /// The weight of a pair of such characters.
    pub pair: f32,
    /// The weight of an identifier in one piece.
    pub joined: f32,
    /// What a word counts that only means about the same.
    pub alike: f32,
    /// What a misspelt name keeps of its weight, per wrong letter.
    pub typo: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            k1: 1.2,
            b: 0.75,
            b_short: 0.5,
            name: 2.0,
            description: 1.0,
            tags: 1.0,
            parameters: 0.6,
            body: 0.5,
            examples: 0.75,
            likeness: 5.0,
            not_for: 0.15,
            frame: 2.0,
            character: 0.6,
            pair: 0.8,
            joined: 1.0,
            alike: 0.8,
            typo: 0.6,
        }
    }
}

impl Weights {
    /// The weight called `name`, as settings write it; none where there is no such weight.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut f32> {
        Some(match name {
            "k1" => &mut self.k1,
            "b" => &mut self.b,
            "b_short" => &mut self.b_short,
            "name" => &mut self.name,
            "description" => &mut self.description,
            "tags" => &mut self.tags,
            "parameters" => &mut self.parameters,
            "body" => &mut self.body,
            "examples" => &mut self.examples,
            "likeness" => &mut self.likeness,
            "not_for" => &mut self.not_for,
            "frame" => &mut self.frame,
            "character" => &mut self.character,
            "pair" => &mut self.pair,
            "joined" => &mut self.joined,
            "alike" => &mut self.alike,
            "typo" => &mut self.typo,
            _ => return None,
        })
    }
}
