//! The words by which a sentence says that something was done, and how it went.

/// Words by which a sentence says that something was done. Those of other languages are looked for
/// as they are, since there are no blanks around them.
const DONE: &[&str] = &[
    "ran",
    "executed",
    "called",
    "invoked",
    "used",
    "queried",
    "returned",
    "reported",
    "printed",
    "showed",
    "shows",
    "said",
    "says",
    "succeeded",
    "passed",
    "passes",
    "failed",
    "completed",
    "finished",
    "checked",
    "fetched",
    "found",
    "confirmed",
    "confirms",
    "verified",
    "gave",
    "wrote",
    "created",
    "deleted",
    "updated",
    "sent",
    "committed",
    "tested",
];
const DONE_CHINESE: &[&str] = &[
    "已运行",
    "运行了",
    "已执行",
    "执行了",
    "已调用",
    "调用了",
    "使用了",
    "查询了",
    "返回",
    "显示",
    "通过了",
    "成功",
    "失败",
    "完成",
    "已查询",
    "确认了",
    "写入了",
    "创建了",
    "删除了",
    "更新了",
    "发送了",
    "提交了",
    "结果",
];

/// Words by which a sentence takes that back: a plan, a wish, a denial, a question.
const UNDONE: &[&str] = &[
    "will",
    "would",
    "should",
    "could",
    "can",
    "cannot",
    "may",
    "might",
    "must",
    "shall",
    "let",
    "going",
    "plan",
    "want",
    "need",
    "needs",
    "please",
    "not",
    "never",
    "if",
    "before",
    "until",
    "unless",
    "without",
    "once",
    "when",
    "whenever",
    "ensure",
    "make",
    "shouldn't",
    "didn't",
    "haven't",
    "hasn't",
    "wasn't",
    "couldn't",
    "can't",
    "won't",
    "i'll",
    "we'll",
    "you",
];
const UNDONE_CHINESE: &[&str] = &[
    "将", "可以", "应该", "需要", "没有", "未", "不能", "无法", "请", "如果", "打算", "准备",
    "让我", "吗", "一旦", "确保",
];

/// Words by which a sentence says that a program ran, whatever came of it.
const RAN: &[&str] = &["ran", "executed", "reran"];
const RAN_CHINESE: &[&str] = &["已运行", "运行了", "已执行", "执行了", "跑了"];

/// Words by which a sentence says that something holds.
const WELL: &[&str] = &[
    "passed",
    "passes",
    "pass",
    "passing",
    "succeeded",
    "succeeds",
    "successful",
    "successfully",
    "green",
    "clean",
    "ok",
    "okay",
    "approved",
    "approves",
    "agreed",
    "verified",
    "confirmed",
];
const WELL_SIGNS: &[&str] = &["通过", "成功", "全绿", "批准", "同意", "✅", "✔", "✓"];

/// What says that nothing failed.
const NO_FAILURE: &[&str] = &[
    "0 failed",
    "0 failures",
    "0 errors",
    "no failures",
    "no errors",
    "no failing",
    "zero failures",
    "zero errors",
    "without errors",
    "without failures",
    "without any errors",
    "没有错误",
    "没有失败",
    "无错误",
    "无失败",
    "0 个失败",
];

/// Whether a sentence says that something was done.
pub(super) fn is_report(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    (has(&lower, DONE) || holds(&lower, DONE_CHINESE)) && !is_undone(&lower)
}

/// Whether a sentence says that a program ran.
pub(super) fn says_ran(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    has(&lower, RAN) || holds(&lower, RAN_CHINESE)
}

/// The parts of a sentence that say that something went well. What takes a sentence back takes back all of it; that
/// something failed is said of the part that says so.
pub(super) fn said_well(sentence: &str) -> Vec<&str> {
    let whole = without_denied_failures(&sentence.to_lowercase());
    if is_undone(&whole) {
        return Vec::new();
    }
    let parts = sentence.split([',', ';', '，', '；']);
    let is_well = |part: &&str| {
        let said = part.to_lowercase();
        let lower = without_denied_failures(&said);
        let says_none = lower.len() < said.len();
        (says_none || has(&lower, WELL) || holds(&lower, WELL_SIGNS)) && !says_failed(&lower)
    };
    if says_failed(&whole) {
        // What is counted belongs together: "2 passed, 10 failed".
        let is_count = |part: &&str| part.trim_start().starts_with(|c: char| c.is_ascii_digit());
        if parts.clone().any(|part| is_count(&part)) {
            return Vec::new();
        }
        parts.filter(is_well).collect()
    } else if parts.clone().any(|part| is_well(&part)) {
        vec![sentence]
    } else {
        Vec::new()
    }
}

/// Whether a sentence speaks of all there is to check.
pub(super) fn means_all(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let phrases = ["all checks", "every check", "everything", "all green", "全部通过", "全绿"];
    holds(&lower, &phrases)
}

/// Whether a line tells what somebody else said.
pub(super) fn is_others(line: &str) -> bool {
    let lower = line.to_lowercase();
    let tells = ["says", "said", "asks", "asked", "wrote", "claims", "claimed"];
    line.trim_start().starts_with('>')
        || has(&lower, &["user", "he", "she", "they", "readme"]) && has(&lower, &tells)
}

/// The text without what says that nothing failed.
fn without_denied_failures(lower: &str) -> String {
    let mut left = lower.to_owned();
    for words in NO_FAILURE {
        let mut from = 0;
        while let Some(at) = left.get(from..).and_then(|rest| rest.find(words)).map(|at| from + at)
        {
            // Ten that failed are not none.
            let before = left.get(..at).and_then(|before| before.chars().next_back());
            let is_whole =
                before.is_none_or(|before| !before.is_alphanumeric() || !before.is_ascii());
            if is_whole {
                left.replace_range(at..at + words.len(), "");
            }
            from = if is_whole { at } else { at + words.len() };
        }
    }
    left
}

fn is_undone(lower: &str) -> bool {
    let is_question = lower.trim_end().ends_with(['?', '？']);
    has(lower, UNDONE) || holds(lower, UNDONE_CHINESE) || is_question
}

/// Whether one of `words` stands in `lower`.
fn has(lower: &str, words: &[&str]) -> bool {
    lower.split(|c: char| !c.is_alphanumeric() && c != '\'').any(|word| words.contains(&word))
}

/// Whether one of `parts` is a part of `lower`.
fn holds(lower: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| lower.contains(part))
}

/// Whether a sentence says that something failed.
pub(super) fn says_failed(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    ["fail", "error", "失败", "错误", "refused", "拒绝"].iter().any(|word| lower.contains(word))
}

/// Whether a sentence names a tool: by its whole name, by the name that clients know, or by its last
/// part. What could be an everyday word counts where it is marked as code.
pub(super) fn names(sentence: &str, tool: &str) -> bool {
    let last = tool.rsplit('/').next().unwrap_or(tool);
    let is_telling = |name: &str| name.contains(['/', '_', '-', '.']) && name.len() >= 4;
    let alias = tool.replace('/', "__");
    [tool, alias.as_str(), last].into_iter().any(|name| {
        is_telling(name) && stands_in(sentence, name)
            || sentence.contains(&format!("`{name}`"))
            || is_run(sentence, name)
    })
}

/// Whether a sentence speaks of `name` as of something that is run: `ran lint`, `used the lint tool`, `运行了 lint`.
fn is_run(sentence: &str, name: &str) -> bool {
    const RUN: [&str; 10] = [
        "ran", "run", "running", "called", "calling", "used", "using", "executed", "invoked",
        "invoking",
    ];
    const RUN_CHINESE: [&str; 6] = ["运行了", "执行了", "调用了", "运行", "执行", "调用"];
    let name = name.to_lowercase();
    let lower = sentence.to_lowercase();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.');
    let words: Vec<&str> = lower
        .split(|c: char| !is_part(c))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| !word.is_empty())
        .collect();
    let is = |at: Option<usize>, known: &[&str]| {
        at.and_then(|at| words.get(at)).is_some_and(|word| known.contains(word))
    };
    let in_english = words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1);
        let is_the = is(before, &["the"]);
        let verb = if is_the { at.checked_sub(2) } else { before };
        *word == name && (is(verb, &RUN) || is(Some(at + 1), &["tool"]))
    });
    let in_chinese = RUN_CHINESE.iter().any(|verb| {
        lower.split(verb).skip(1).any(|rest| {
            let rest = rest.trim_start().strip_prefix(name.as_str());
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        })
    });
    in_english || in_chinese
}

/// Whether `name` stands in `text` as a word of its own.
fn stands_in(text: &str, name: &str) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/');
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}
