//! How instructions are laid out.

use std::sync::LazyLock;

use super::Report;
use super::description::{SHADOWING, short};
use super::outline::{Outline, Piece};
use super::phrases::{Phrases, is_ideograph, words};
use crate::skill::Document;
use crate::skill::codes::Code;

/// Words of prose below which a body needs no steps, form or limits: it is a note.
const NOTE_WORDS: usize = 40;

/// Headings that tell the form of the result.
static OUTPUT_HEADING: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "output|outputs|format|formats|result|results|report|reporting|response|responses|deliverable|deliverables|template|templates|returns|return|summary|artifact|artifacts|example|examples|deliver|present|presenting",
        "输出",
        "结果",
        "格式",
        "报告",
        "交付",
        "模板",
        "示例",
        "返回",
        "产出",
    ])
});

/// Sentences that tell it.
static OUTPUT_TEXT: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "output format|should|must|as|the|a|to|is",
        "return|returns|respond|reply|answer|report|present|produce|write|format|summarise|summarize … as|in|with|using",
        "return|returns|output|outputs|produce|produces|report|reports … json|markdown|table|list|csv|summary|report|file",
        "in|using|with the|this|following format|form|structure|template|shape",
        "the result|results|output|response|report|answer is|should|must|has|contains|includes",
        "输出",
        "返回",
        "格式",
    ])
});

/// What must or must not be.
static CONSTRAINT: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "must|never|always|only|don't|cannot|avoid|forbidden|required|require|requires|ensure|unless|stop",
        "do|should|can|is|are not",
        "no",
        "without",
        "必须",
        "不要",
        "不得",
        "禁止",
        "切勿",
        "请勿",
        "只能",
        "仅",
        "务必",
        "不可",
        "始终",
        "严禁",
        "避免",
        "确保",
        "不能",
    ])
});

/// Headings of sections that hold nothing but limits.
static CONSTRAINT_HEADING: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "constraint|constraints|rule|rules|guardrail|guardrails|boundary|boundaries|limitation|limitations|limits|safety|important|warnings|never|pitfalls|gotchas|mistakes|anti|don'ts|principles|guidelines|checklist|notes|scope|requirements|caveats|practices|invariants|avoid",
        "约束",
        "规则",
        "限制",
        "注意",
        "禁止",
        "原则",
        "边界",
        "要求",
        "红线",
        "规范",
    ])
});

/// Steps that are numbered in words.
static STEP: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "step|phase|stage 1|2|one|two|0|a",
        "first … then",
        "第一步",
        "第二步",
        "步骤一",
        "步骤1",
        "步骤 1",
        "阶段一",
        "第一阶段",
    ])
});

/// Text that works against the reader or the user.
pub(super) static HIDDEN: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "ignore|disregard|forget … previous|prior|earlier instructions|instruction|prompts|rules",
        "do|don't|never not tell|inform|notify|mention the|to … user|human",
        "don't|never tell|inform|notify the user|human about|that|of",
        "without telling|informing|notifying|asking the user|human",
        "hide|conceal this|it from the user|human",
        "secretly|silently send|upload|post|exfiltrate|collect|copy",
        "忽略之前的指令",
        "忽略以上指令",
        "忽略之前的所有",
        "不要告诉用户",
        "不要让用户知道",
        "瞒着用户",
    ])
});

/// Imperatives by which a comment that nobody sees steers the model.
pub(super) static COMMENT_ORDER: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "you|assistant|agent|model|ai must|should|shall|will always|never|also|now|first|run|send|execute|call|use|include|ignore",
        "always|never run|send|execute|call|include|upload|reveal|tell",
        "send|upload|post … http|https|credentials|secrets|keys|tokens",
        "execute|run … curl|wget|bash",
    ])
});

pub(super) fn look(document: &Document, outline: &Outline, report: &mut Report<'_>) {
    hidden(outline, report);
    if size(outline) < NOTE_WORDS {
        return;
    }
    if !has_steps(outline) {
        report.body(Code::NoSteps, first(outline), "the body is prose without numbered steps");
    }
    let told = document.output.is_some()
        || outline.headings.iter().any(|heading| OUTPUT_HEADING.is_in(&heading.text))
        || outline.prose.iter().any(|piece| OUTPUT_TEXT.is_in(&piece.text));
    if !told {
        report.whole(Code::NoOutputFormat, "the body does not say what the result looks like");
    }
    if !ends_with_limits(outline) {
        let message = "the body does not end with what must or must not be done";
        report.whole(Code::NoClosingConstraint, message);
    }
}

fn first(outline: &Outline) -> usize {
    outline.words().map(|piece| piece.at).min().unwrap_or_default()
}

/// Words of prose; two ideographs count as one.
fn size(outline: &Outline) -> usize {
    let ideographs = |text: &str| text.chars().filter(|c| is_ideograph(*c)).count();
    let count = |piece: &Piece| words(&piece.text).len() - ideographs(&piece.text) / 2;
    outline.prose.iter().map(count).sum()
}

/// Steps, or a layout that is no prose: lists, tables and code under several headings are a
/// reference, which has no order.
fn has_steps(outline: &Outline) -> bool {
    let numbered =
        |heading: &Piece| heading.text.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let reference = outline.headings.len() >= 3
        && (outline.bullets >= 3 || outline.tables > 0 || outline.blocks.len() >= 2);
    outline.numbered >= 2
        || outline.headings.iter().filter(|heading| numbered(heading)).count() >= 2
        || outline.words().any(|piece| STEP.is_in(&piece.text))
        || reference
}

/// Whether a section of limits exists, or one of the last texts states one.
fn ends_with_limits(outline: &Outline) -> bool {
    /// A closing list may have a few points.
    const LAST: usize = 5;
    outline.headings.iter().any(|heading| CONSTRAINT_HEADING.is_in(&heading.text))
        || outline.prose.iter().rev().take(LAST).any(|piece| CONSTRAINT.is_in(&piece.text))
}

fn hidden(outline: &Outline, report: &mut Report<'_>) {
    for piece in &outline.comments {
        let orders = [&*HIDDEN, &*COMMENT_ORDER, &*SHADOWING];
        if let Some((_, words)) = orders.iter().find_map(|phrases| phrases.find(&piece.text)) {
            let message =
                format!("a comment gives orders that a reader does not see: `{}`", short(words));
            report.body(Code::HiddenInstruction, piece.at, message);
        }
    }
    for piece in outline.words() {
        // Quoted text is an example of what others write.
        if let Some((offset, words)) = HIDDEN.find(&piece.text)
            && !is_quoted(&piece.text, offset)
        {
            let message = format!("the body works against its user: `{}`", short(words));
            report.body(Code::HiddenInstruction, piece.at, message);
        }
    }
}

/// Whether a quotation is open at the byte `at`.
fn is_quoted(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    before.matches('"').count() % 2 == 1
        || before.matches('“').count() > before.matches('”').count()
        || before.matches('「').count() > before.matches('」').count()
}
