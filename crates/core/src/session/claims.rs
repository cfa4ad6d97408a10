//! What a model says that it did, held against what was done.
//!
//! A claim is a sentence that names a tool and says, in the past, that it ran or what it returned.
//! Plans, questions and denials are none. Whether the numbers in it are right is another matter; here
//! it is asked whether there was a call at all.

use std::collections::BTreeMap;

use concertina_types::{Blob, CallId, CallOutcome, Event, Fact, ToolName};
use serde::Serialize;

use crate::catalog::sentences;

/// What the log knows of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A call of that tool had ended well by then.
    Backed,
    /// The tool was called by then, and failed each time.
    OnlyFailed,
    /// The tool had not been called.
    NoCall,
}

/// A sentence that says that a tool ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The turn in which it was said; none for a text from elsewhere.
    pub turn: Option<u32>,
    /// The tool that it names.
    pub tool: ToolName,
    /// The sentence.
    pub sentence: String,
    /// What the log knows of it.
    pub standing: Standing,
    /// The last call of that tool by then, where there was one: `ev:N`.
    pub call: Option<CallId>,
}

/// The claims in what the model said in a session. `text` fetches what the log keeps by digest;
/// `tools` are the names to look for, beside those that were called.
pub fn claims(
    events: &[Event],
    text: &dyn Fn(&Blob) -> Option<String>,
    tools: &[ToolName],
) -> Vec<Claim> {
    let mut book = Book::of(events, tools);
    let mut found = Vec::new();
    for event in events {
        book.take(&event.fact);
        let (Fact::ModelReplied { text: said, .. } | Fact::TaskFinished { answer: said }) =
            &event.fact
        else {
            continue;
        };
        // What comes with a call of the tool is about that call, which has not run yet.
        let asked = match &event.fact {
            Fact::ModelReplied { calls, .. } => calls.as_slice(),
            _ => &[],
        };
        let is_asked = |tool: &ToolName| {
            asked
                .iter()
                .any(|call| call.name == tool.as_str() || call.arguments.contains(tool.as_str()))
        };
        let said = text(said).unwrap_or_default();
        for claim in book.claims(&said, event.turn).filter(|claim| !is_asked(&claim.tool)) {
            // The answer to a task is also the last reply.
            let is_new = found.last() != Some(&claim) && !found.contains(&claim);
            if is_new {
                found.push(claim);
            }
        }
    }
    found
}

/// The claims in `said`, which was said after everything that `events` tell of: a text from a client
/// whose model Concertina does not ask itself.
pub fn claims_in(said: &str, events: &[Event], tools: &[ToolName]) -> Vec<Claim> {
    let mut book = Book::of(events, tools);
    for event in events {
        book.take(&event.fact);
    }
    book.claims(said, None).collect()
}

/// What was called so far.
struct Book {
    tools: Vec<ToolName>,
    under_way: BTreeMap<CallId, ToolName>,
    last: BTreeMap<ToolName, (CallId, bool)>,
}

impl Book {
    fn of(events: &[Event], tools: &[ToolName]) -> Self {
        let called = events.iter().filter_map(|event| match &event.fact {
            Fact::CallAdmitted { tool, .. } => Some(tool.clone()),
            _ => None,
        });
        let mut tools: Vec<ToolName> = tools.iter().cloned().chain(called).collect();
        tools.sort_unstable();
        tools.dedup();
        Self { tools, under_way: BTreeMap::new(), last: BTreeMap::new() }
    }

    fn take(&mut self, fact: &Fact) {
        match fact {
            Fact::CallAdmitted { id, tool, .. } => {
                self.under_way.insert(*id, tool.clone());
            }
            Fact::CallFinished { id, outcome, .. } => {
                let Some(tool) = self.under_way.remove(id) else { return };
                let well = matches!(outcome, CallOutcome::Done { exit: 0, .. });
                let last = self.last.entry(tool).or_insert((*id, false));
                *last = (*id, last.1 || well);
            }
            _ => {}
        }
    }

    fn claims<'a>(&'a self, said: &'a str, turn: Option<u32>) -> impl Iterator<Item = Claim> + 'a {
        let all = said.lines().flat_map(sentences).filter(|sentence| is_report(sentence));
        all.flat_map(move |sentence| {
            let named = self.tools.iter().filter(move |tool| names(sentence, tool.as_str()));
            named.map(move |tool| {
                let last = self.last.get(tool);
                let standing = match last {
                    None => Standing::NoCall,
                    Some((_, true)) => Standing::Backed,
                    Some((_, false)) if says_failed(sentence) => Standing::Backed,
                    Some((_, false)) => Standing::OnlyFailed,
                };
                Claim {
                    turn,
                    tool: tool.clone(),
                    sentence: sentence.trim().to_owned(),
                    standing,
                    call: last.map(|(call, _)| *call),
                }
            })
        })
    }
}

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
    "让我", "吗",
];

/// Whether a sentence says that something was done.
fn is_report(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let has = |words: &[&str]| {
        lower.split(|c: char| !c.is_alphanumeric() && c != '\'').any(|word| words.contains(&word))
    };
    let holds = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let is_question = lower.trim_end().ends_with(['?', '？']);
    (has(DONE) || holds(DONE_CHINESE)) && !has(UNDONE) && !holds(UNDONE_CHINESE) && !is_question
}

fn says_failed(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    ["fail", "error", "失败", "错误", "refused", "拒绝"].iter().any(|word| lower.contains(word))
}

/// Whether a sentence names a tool: by its whole name, by the name that clients know, or by its last
/// part. What could be an everyday word counts where it is marked as code.
fn names(sentence: &str, tool: &str) -> bool {
    let last = tool.rsplit('/').next().unwrap_or(tool);
    let is_telling = |name: &str| name.contains(['/', '_', '-', '.']) && name.len() >= 4;
    let alias = tool.replace('/', "__");
    [tool, alias.as_str(), last].into_iter().any(|name| {
        is_telling(name) && stands_in(sentence, name) || sentence.contains(&format!("`{name}`"))
    })
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
