//! What a model can make of a description.

use std::sync::LazyLock;

use concertina_types::limits;

use super::Report;
use super::phrases::{Phrases, Word, is_ideograph, words};
use crate::skill::Document;
use crate::skill::codes::Code;

/// Phrases that say what a skill is not for.
static NEGATIVE: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "not for",
        "not to be used",
        "not when",
        "not if",
        "not intended|meant|suitable|suited|applicable|needed|required",
        "do|does|should|must not … use|trigger|invoke|activate|apply|load|cover|handle|run|fire",
        "don't|doesn't|shouldn't|never … use|trigger|invoke|activate|apply|load|cover|handle|run|fire",
        "skip for|when|if|this|it",
        "avoid for|using|when",
        "use … instead",
        "instead use",
        "unless",
        "except for|when|if|in",
        "excluding|excludes",
        "out of scope",
        "rather than",
        "不适用",
        "不适合",
        "不要用",
        "不用于",
        "不能用于",
        "不可用于",
        "不要在",
        "不应",
        "不处理",
        "不负责",
        "不包括",
        "不涉及",
        "请勿",
        "勿用",
        "而非",
        "除非",
    ])
});

/// Text by which a skill puts itself above others.
pub(super) static SHADOWING: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "always|must|only use|invoke|load|call|run|prefer|choose|select this|the skill|tool|one first|instead|over|regardless|no|.",
        "always|must use|invoke|load|call|run|prefer|choose|select this|the first|instead|regardless|.",
        "always|must use|invoke|load|call this|the skill|tool for|on|in any|all|every|everything|each",
        "use|invoke|load|call this … before … other|others|skill|skills|tool|tools|anything|everything",
        "use|invoke|load|call this … instead of any|all|every|other",
        "before|over any|all other|others skill|skills|tool|tools",
        "over any|all other|others",
        "preferred|prefer … over|to any|all|every|other",
        "ignore|disregard|forget|skip … other|others|previous|prior|above … skill|skills|tool|tools|instruction|instructions|rule|rules",
        "ignore|disregard|forget all|any|previous|prior|other instructions|skills|rules|tools",
        "never|not use|invoke|load|call any|other … skill|skills|tool|tools",
        "overrides|override|supersedes|supersede|replaces … other|all|any … skill|skills|instruction|instructions|rule|rules",
        "takes|take|has|have precedence|priority over … other|all|any|every",
        "takes|take|has|have highest priority",
        "highest priority skill|tool",
        "prefer this … over",
        "only|best skill|tool you|to … need|use",
        "忽略其他",
        "忽略其它",
        "忽略之前",
        "忽略以上",
        "忽略所有",
        "无视其他",
        "优先于其他",
        "优先于所有",
        "必须首先使用",
        "必须优先使用",
        "总是首先使用",
        "总是优先使用",
        "始终首先使用",
        "始终优先使用",
        "始终使用本技能",
        "总是使用本技能",
        "不要使用其他",
        "不要使用其它",
        "优先级最高",
        "最高优先级",
    ])
});

/// Words that carry no meaning of their own in a description.
const EMPTY: &str = "\
    a an and or the of for to in on with by from at as is are be it its this that these those \
    you your user users i we my our can will may when whenever if any all some use used uses \
    using skill skills tool tools utility utilities helper helps help helping useful handy \
    various different general generic common misc miscellaneous stuff things thing something \
    anything everything etc more other task tasks need needs needed want work works working \
    related do does doing good great powerful amazing awesome best smart simple easy nice \
    better improve improves support supports assist assists provides provide handle handles \
    ability agent assistant ai so many much lot lots kind kinds sort ways way description test \
    example sample demo my-skill new request requests";

/// The same in Chinese.
const EMPTY_CHINESE: &str = "\
    帮助 帮你 帮忙 协助 辅助 工具 技能 用户 处理 各种 一些 事情 东西 相关 通用 任务 工作 \
    使用 用于 可以 能够 一个 这个 那个 非常 强大 好用 有用 提供 支持 需要 进行 问题 等等 \
    助手 多种 你 我 的 了 和 与 时 等";

/// Whether `word` is one of `words`, which have a blank between them.
fn listed(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Words that promise everything and tell nothing.
static FILLER: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::of(&[
        "various|different|all|many kinds|sorts|types of things|stuff|tasks",
        "various|general|misc|miscellaneous|different|everyday things|stuff|tasks",
        "helps|help you|users|people|with … things|stuff|tasks|work|everything|anything",
        "things|stuff|something|everything|whatever",
        "and|or so on",
        "useful|handy|helpful skill|tool|utility|for",
        "各种事情",
        "各种任务",
        "各种问题",
        "一些事情",
        "一些东西",
        "相关的东西",
        "相关事情",
        "通用工具",
        "好用的工具",
        "有用的工具",
    ])
});

/// Words with a meaning that a description needs at least.
const MEANING: usize = 3;
/// Up to so many such words, a filler makes a description vague.
const MEANING_WITH_FILLER: usize = 5;

pub(super) fn look(document: &Document, report: &mut Report<'_>) {
    let (Some(description), Some(_)) = (&document.description, document.places.description) else {
        return;
    };
    let texts = [Some(description.as_str()), document.when_to_use.as_deref()];
    let both: String = texts.iter().flatten().flat_map(|text| [*text, ". "]).collect();
    if let Some(reason) = vague(&both) {
        report.description(Code::DescriptionVague, format!("the description is vague: {reason}"));
    }
    let length = description.chars().count();
    let limit = limits::LISTING_ENTRY_CHARS;
    if length > limit {
        let message = format!(
            "the description has {length} characters; an entry of the listing shows {limit}"
        );
        report.description(Code::DescriptionLong, message);
    }
    if document.not_for.is_empty() && !NEGATIVE.is_in(&both) {
        let message = "nothing says what the skill is not for";
        report.description(Code::NoNegativeClause, message);
    }
    if let Some((_, words)) = SHADOWING.find(&both) {
        let message = format!("the description puts the skill above others: `{}`", short(words));
        report.description(Code::Shadowing, message);
    }
}

/// Why a text is vague, where it is.
fn vague(text: &str) -> Option<String> {
    let words = words(text);
    let meaning = words.iter().filter(|word| carries_meaning(word)).count() + ideographs(text) / 2;
    if meaning < MEANING {
        let words = if meaning == 1 { "word carries" } else { "words carry" };
        return Some(format!("{meaning} {words} meaning"));
    }
    if meaning <= MEANING_WITH_FILLER
        && let Some((_, filler)) = FILLER.find(text)
    {
        return Some(format!("`{}` can mean anything", short(filler)));
    }
    // The verbs that are known are English ones.
    let english = words.iter().any(|word| {
        matches!(word.folded.as_str(), "the" | "a" | "an" | "of" | "for" | "and" | "to" | "with")
    });
    let short = meaning <= 2 * MEANING_WITH_FILLER;
    (english && short && !words.iter().any(|word| is_verb(&word.folded)))
        .then(|| "no word says what it does".to_owned())
}

fn carries_meaning(word: &Word) -> bool {
    let text = word.folded.as_str();
    text != "." && !text.chars().any(is_ideograph) && !listed(EMPTY, text)
}

/// Ideographs that are left without the empty words.
fn ideographs(text: &str) -> usize {
    let mut rest = text.chars().filter(|c| is_ideograph(*c)).collect::<String>();
    for empty in EMPTY_CHINESE.split(' ') {
        rest = rest.replace(empty, "");
    }
    rest.chars().count()
}

/// Verbs that descriptions of skills are made of, in their base form.
const VERBS: &str = "\
    access add adjust analyse analyze annotate answer append apply ask assemble assess audit \
    automate browse build calculate call capture change chat check choose clean collect \
    compare compile compose compress compute configure connect control convert copy count \
    cover craft create curate debug decide define deliver deploy describe design detect \
    develop diagnose discover display document download draft draw edit enable enforce enrich \
    ensure estimate evaluate execute explain explore export extract fetch fill filter find fix \
    follow format gather generate get give grade guide identify implement import improve \
    insert inspect install integrate interact interview introduce investigate keep launch \
    learn lint list load log look maintain make manage map measure merge migrate minimize \
    model modify monitor move navigate observe offer open operate optimise optimize \
    orchestrate organise organize parse perform place plan plot polish post predict prepare \
    present prevent print prioritize process produce profile prototype publish pull push query \
    rank read recommend record reduce refactor refine register release remember remove rename \
    render repair replace reply report request research resolve respond restore retrieve \
    review revise rewrite route run save say scaffold scan schedule score scrape search secure \
    select send serve set setup share ship show simplify simulate solve sort split start stop \
    store stream structure submit suggest summarise summarize sync synthesize talk teach tell \
    test trace track trade train transcribe transform translate trigger trim troubleshoot tune \
    turn understand unify update upgrade upload validate verify view visualize walk watch work \
    wrap write use help handle provide support assist";

/// Whether `word` is a form of a known verb, or any participle.
fn is_verb(word: &str) -> bool {
    let known = |stem: &str| listed(VERBS, stem);
    let base = |suffix: &str| {
        word.strip_suffix(suffix).is_some_and(|stem| {
            let mut silent = stem.to_owned();
            silent.push('e');
            known(stem) || known(&silent)
        })
    };
    known(word)
        || (word.len() > 5 && word.ends_with("ing"))
        || base("s")
        || base("es")
        || base("ed")
        || ["ies", "ied"]
            .iter()
            .any(|end| word.strip_suffix(end).is_some_and(|stem| known(&format!("{stem}y"))))
}

/// The first words of a quotation, on one line.
pub(super) fn short(text: &str) -> String {
    const SHOWN: usize = 60;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
