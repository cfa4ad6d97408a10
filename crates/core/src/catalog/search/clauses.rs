//! What of a request is wanted, and what only says how things stand.
//!
//! "The plan is done, now the test" asks for a test and says more about plans. A clause in which
//! something is set aside (done already, not wanted) counts less, and so does one before the last.

/// What a clause before the last one says about the wish.
const EARLIER: f32 = 0.6;
/// What a clause says that sets something aside.
const SET_ASIDE: f32 = 0.15;

/// Words that set something aside.
const CUES: [&str; 22] = [
    "after",
    "already",
    "been",
    "complete",
    "completed",
    "don",
    "done",
    "except",
    "existing",
    "finished",
    "ignore",
    "instead",
    "leave",
    "no",
    "nobody",
    "not",
    "once",
    "rather",
    "ready",
    "was",
    "were",
    "without",
];

/// The same in Chinese, wherever in a clause they stand.
const CJK_CUES: [&str; 26] = [
    "已",
    "完了",
    "好了",
    "有了",
    "过了",
    "写完",
    "做完",
    "搞完",
    "拿到",
    "收到",
    "选好",
    "定好",
    "定了",
    "出来了",
    "做好",
    "写好",
    "不用",
    "不要",
    "不需要",
    "不必",
    "无需",
    "不是",
    "没必要",
    "除了",
    "之后",
    "以后",
];

/// What ends or begins a clause that sets something aside, and is a part of other words elsewhere:
/// 别动, 先停, but not 识别 or 停车.
const CJK_EDGES: [(&str, &str); 3] = [("别", ""), ("", "别动"), ("", "停")];

/// The clauses of `text`, each with what it says about the wish, from 0 to 1.
pub(super) fn clauses(text: &str) -> Vec<(&str, f32)> {
    let mut clauses: Vec<(&str, bool)> = split(text)
        .filter(|clause| clause.chars().any(char::is_alphanumeric))
        .map(|clause| (clause, sets_aside(clause)))
        .collect();
    // Where everything is set aside, that is only the way in which somebody talks.
    if clauses.iter().all(|(_, aside)| *aside) {
        for (_, aside) in &mut clauses {
            *aside = false;
        }
    }
    let last = clauses.len().saturating_sub(1);
    let weighed = clauses.into_iter().enumerate().map(|(at, (clause, aside))| {
        let weight = match (aside, at == last) {
            (true, _) => SET_ASIDE,
            (false, false) => EARLIER,
            (false, true) => 1.0,
        };
        (clause, weight)
    });
    weighed.collect()
}

/// The pieces between marks. A dot or a comma ends a clause before a blank only: `3.5`, `a,b`.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut characters = rest.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            let mut before_blank =
                || characters.peek().is_none_or(|(_, next)| next.is_whitespace());
            let ends = match c {
                '，' | '。' | '；' | '！' | '？' | '：' | ';' | '!' | '?' | '\n' => true,
                ',' | '.' | ':' => before_blank(),
                _ => false,
            };
            if ends {
                let clause = rest.get(..at)?;
                rest = rest.get(at + c.len_utf8()..)?;
                return Some(clause);
            }
        }
        Some(std::mem::take(&mut rest))
    })
}

fn sets_aside(clause: &str) -> bool {
    let said = |word: &str| CUES.binary_search(&word.to_lowercase().as_str()).is_ok();
    clause.split(|c: char| !c.is_alphanumeric()).any(said)
        || CJK_CUES.iter().any(|cue| clause.contains(cue))
        || CJK_EDGES.iter().any(|(first, last)| {
            let clause = clause.trim();
            clause.starts_with(first) && clause.ends_with(last)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_clause_and_what_is_not_set_aside_count_most() {
        let of = |text| clauses(text).into_iter().map(|(c, w)| (c.trim(), w)).collect::<Vec<_>>();
        assert_eq!(
            of("The plan is done, now the test."),
            [("The plan is done", SET_ASIDE), ("now the test", 1.0)]
        );
        assert_eq!(of("教案有了，出一套题"), [("教案有了", SET_ASIDE), ("出一套题", 1.0)]);
        assert_eq!(
            of("a report; 3.5 pages, a,b"),
            [("a report", EARLIER), ("3.5 pages", EARLIER), ("a,b", 1.0)]
        );
        assert_eq!(of("not this"), [("not this", 1.0)], "the only clause");
        assert_eq!(of("…，。"), []);
        for wanted in
            ["识别发票，分别归类", "停车费报销，特别是上个月的", "last month's invoices, by payer"]
        {
            assert!(clauses(wanted).iter().all(|(_, weight)| *weight > SET_ASIDE), "{wanted}");
        }
        assert_eq!(of("课程表别动，排考场"), [("课程表别动", SET_ASIDE), ("排考场", 1.0)]);
    }

    #[test]
    fn cues_are_in_order() {
        assert!(CUES.is_sorted());
    }
}
