//! Every number of the ranking in one place.

/// How the parts of a document count.
///
/// The ranking is BM25F: occurrences are first weighed and length-normalised per field, then
/// summed, then saturated once (Robertson, Zaragoza and Taylor, "Simple BM25 Extension to Multiple
/// Weighted Fields", CIKM 2004). The figures were chosen on four sets of requests; the results
/// change little around them.
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
    /// What a misspelt name keeps of its weight, per wrong letter.
    pub typo: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            k1: 1.2,
            b: 0.75,
            b_short: 0.3,
            name: 2.0,
            description: 1.0,
            tags: 1.0,
            parameters: 0.6,
            body: 0.5,
            examples: 1.0,
            not_for: 0.15,
            frame: 2.0,
            character: 0.6,
            pair: 0.8,
            joined: 1.0,
            typo: 0.6,
        }
    }
}
