//! Finding: what matches, what does not, in which order and with which reason.

use concertina_core::catalog::search::{
    Answer, Field, Index, Kind, Query, SearchDocument, nearest_names,
};
use concertina_types::Ref;
use proptest::prelude::*;

fn skill(name: &str, description: &str) -> SearchDocument {
    let key = format!("skill:{name}").parse().unwrap();
    SearchDocument {
        description: description.into(),
        ..SearchDocument::new(key, Kind::Skill, name)
    }
}

fn tool(name: &str, description: &str) -> SearchDocument {
    let key = format!("tool:{name}").parse().unwrap();
    SearchDocument { description: description.into(), ..SearchDocument::new(key, Kind::Tool, name) }
}

fn names(answer: &Answer) -> Vec<String> {
    answer.ranking().iter().map(|hit| hit.reference.to_string()).collect()
}

fn shop() -> Index {
    let mut refunds = skill("refunds", "Pays money back to a customer whose parcel never arrived");
    refunds.body = "Look at the chargeback ledger before anything else.".into();
    refunds.examples = vec!["the buyer wants a reimbursement".into()];
    let mut stock = skill("stock-count", "Counts what is left in the warehouse");
    stock.tags = vec!["inventory".into()];
    let mut query = tool("sql/runQuery", "Runs a statement against the reporting database");
    query.parameters = "statement the text to run, timeout how many seconds to wait".into();
    query.group = "sql".into();
    let posters = skill("海报设计", "设计活动海报，输出适合打印的图片");
    let print = skill("print-shop", "Prints posters on paper");
    Index::build([refunds, stock, query, posters, print])
}

#[test]
fn b07_words_of_every_field_find_and_say_where() {
    let index = shop();
    for (text, found, field) in [
        ("refunds", "skill:refunds", Field::Name),
        ("a parcel that never arrived", "skill:refunds", Field::Description),
        ("inventory", "skill:stock-count", Field::Tags),
        ("how many seconds to wait", "tool:sql/runQuery", Field::Parameters),
        ("chargeback ledger", "skill:refunds", Field::Body),
        ("reimbursement", "skill:refunds", Field::Examples),
    ] {
        let answer = index.find(&Query::new(text));
        let best = &answer.ranking()[0];
        assert_eq!(best.reference.to_string(), found, "{text}");
        assert!(best.fields.contains(&field), "{text}: {best:?}");
        assert!(best.why.contains(field.as_str()), "{text}: {}", best.why);
        assert!(!best.matched.is_empty() && best.score > 0.0, "{text}");
    }
}

#[test]
fn a_reason_names_the_words_as_they_were_asked() {
    let answer = shop().find(&Query::new("Counting the warehouses"));
    insta::assert_snapshot!(answer.hits[0].why, @"counting in name and description; warehouses in description");
    assert_eq!(answer.hits[0].matched, ["counting", "warehouses"]);
}

#[test]
fn identifiers_are_found_however_they_are_cut() {
    let index = Index::build([
        tool("mail/sendHTMLMessage", ""),
        tool("get_user_profile2", ""),
        tool("pdf-to-word", ""),
        tool("list_APIs", ""),
    ]);
    for (text, found) in [
        ("send html message", "tool:mail/sendHTMLMessage"),
        ("sendhtmlmessage", "tool:mail/sendHTMLMessage"),
        ("MAIL SEND_HTML_MESSAGE", "tool:mail/sendHTMLMessage"),
        ("getUserProfile2", "tool:get_user_profile2"),
        ("profile of the user", "tool:get_user_profile2"),
        ("PDF to Word", "tool:pdf-to-word"),
        ("pdfToWord", "tool:pdf-to-word"),
        ("apis", "tool:list_APIs"),
    ] {
        assert_eq!(names(&index.find(&Query::new(text)))[0], found, "{text}");
    }
}

#[test]
fn nothing_matches_inside_a_word() {
    let index = Index::build([skill("carpet-cleaning", "Reports on carpets")]);
    for text in ["pet", "port", "car", "clean house", "carpetbag"] {
        let found = names(&index.find(&Query::new(text)));
        assert_eq!(found.is_empty(), text != "clean house", "{text}: {found:?}");
    }
}

#[test]
fn case_width_accents_and_punctuation_do_not_matter() {
    let index = Index::build([skill("Café Menü", "Straße und Größe"), skill("other", "else")]);
    for text in
        ["cafe menu", "CAFÉ, MENÜ!", "cafe\u{301} menu\u{308}", "ＣＡＦＥ　ＭＥＮＵ", "STRASSE"]
    {
        assert_eq!(names(&index.find(&Query::new(text))), ["skill:Café Menü"], "{text}");
    }
}

#[test]
fn chinese_is_found_without_blanks_between_words() {
    let index = shop();
    let answer = index.find(&Query::new("帮我做一张活动海报"));
    assert_eq!(names(&answer)[0], "skill:海报设计");
    assert!(answer.enough);
    assert!(answer.hits[0].matched.contains(&"海报".to_owned()), "{:?}", answer.hits[0]);
    assert!(!answer.hits[0].matched.contains(&"报".to_owned()), "a pair says it already");
    assert!(names(&index.find(&Query::new("请问你的"))).is_empty(), "only grammar");
}

#[test]
fn other_scripts_are_stemmed_by_their_own_rules() {
    let index = Index::build([skill("otchet", "Готовит отчёты о продажах"), skill("other", "x")]);
    assert_eq!(names(&index.find(&Query::new("отчёт о продаже"))), ["skill:otchet"]);
}

#[test]
fn a_misspelt_name_is_read_as_the_name_and_says_so() {
    let index = shop();
    let answer = index.find(&Query::new("refnuds"));
    assert_eq!(names(&answer), ["skill:refunds"]);
    assert_eq!(answer.ranking()[0].why, "refnuds (read as refunds) in name");
    // Names only: `warehouse` is a word of a description. Short words are taken as written.
    assert!(names(&index.find(&Query::new("wrehouse"))).is_empty());
    assert!(names(&index.find(&Query::new("sqk"))).is_empty());
    let right = index.find(&Query::new("refunds")).ranking()[0].score;
    assert!(answer.ranking()[0].score < right, "at a discount");
}

#[test]
fn an_exact_name_comes_first_whatever_else_matches() {
    let mut rival = skill("report-writer", "report report report report");
    rival.examples = vec!["report".into(); 20];
    rival.body = "report ".repeat(500);
    let index = Index::build([rival, skill("z/report", ""), skill("Report", ""), skill("who", "")]);
    assert_eq!(names(&index.find(&Query::new("report")))[..2], ["skill:Report", "skill:z/report"]);
    assert_eq!(names(&index.find(&Query::new("skill:z/report")))[0], "skill:z/report");
    assert_eq!(names(&index.find(&Query::new("Who?"))), ["skill:who"], "even a stop word");
    assert!(index.find(&Query::new("who")).enough);
}

#[test]
fn not_for_lowers_and_never_finds() {
    let plain = |name: &str| skill(name, "Works with invoices and receipts");
    let mut narrow = plain("aaa");
    narrow.not_for = vec!["cancelling subscriptions".into()];
    let index = Index::build([narrow, plain("bbb"), skill("ccc", "Something else")]);
    let both = index.find(&Query::new("invoices"));
    assert_eq!(names(&both), ["skill:aaa", "skill:bbb"]);
    let lowered = index.find(&Query::new("invoices, cancelling subscriptions"));
    assert_eq!(names(&lowered), ["skill:bbb", "skill:aaa"]);
    assert!(names(&index.find(&Query::new("cancelling subscriptions"))).is_empty());
}

#[test]
fn scope_is_applied_before_ranking() {
    let crowd = (0..50).map(|n| skill(&format!("crowd-{n}"), "deploy deploy the service"));
    let index = Index::build(crowd.chain([tool("last", "may deploy, among other things")]));
    let by_kind = Query { kind: Some(Kind::Tool), limit: 1, ..Query::new("deploy") };
    assert_eq!(names(&index.find(&by_kind)), ["tool:last"]);
    let within =
        |meta: &concertina_core::catalog::search::SearchDocumentMeta| meta.name.ends_with('7');
    let by_scope = Query { within: &within, limit: 5, ..Query::new("deploy") };
    assert_eq!(
        names(&index.find(&by_scope)),
        ["skill:crowd-17", "skill:crowd-27", "skill:crowd-37", "skill:crowd-47", "skill:crowd-7"]
    );
}

#[test]
fn what_fits_too_little_is_only_near() {
    let index = Index::build((0..400).map(|n| {
        skill(
            &format!("skill-{n}"),
            if n == 7 { "Waters the garden at night" } else { "Files tax" },
        )
    }));
    let far = index.find(&Query::new("book a table for the night in Lisbon"));
    assert!(!far.enough && far.hits.is_empty());
    assert_eq!(far.nearest[0].reference.to_string(), "skill:skill-7");
    let near = index.find(&Query::new("water my garden"));
    assert!(near.enough && near.nearest.is_empty());
}

#[test]
fn a_request_without_a_word_finds_nothing() {
    let index = shop();
    for text in ["", "   ", "?!…", "\u{0}\u{1}", "the of and"] {
        let answer = index.find(&Query::new(text));
        assert_eq!(
            (answer.hits.len(), answer.enough, answer.nearest.len()),
            (0, false, 0),
            "{text:?}"
        );
    }
    let nothing = Index::build([]);
    assert!(nothing.is_empty() && !nothing.find(&Query::new("refunds")).enough);
    let none_wanted = Query { limit: 0, ..Query::new("refunds") };
    assert!(index.find(&none_wanted).hits.is_empty());
}

#[test]
fn a_pasted_book_is_read_in_part() {
    let book = format!("refunds {}", "lorem ipsum 海报 x-y-z ".repeat(200_000));
    assert_eq!(names(&shop().find(&Query::new(&book)))[0], "skill:海报设计");
}

#[test]
fn the_later_of_two_documents_with_one_key_counts() {
    let index = Index::build([skill("twin", "first"), skill("a", ""), skill("twin", "second")]);
    assert_eq!(index.len(), 2);
    assert!(names(&index.find(&Query::new("first"))).is_empty());
    assert_eq!(names(&index.find(&Query::new("second"))), ["skill:twin"]);
}

#[test]
fn unknown_names_get_a_few_suggestions() {
    let all = ["sales-report", "stock-report", "refunds", "plugin/refund-check", "海报设计"];
    let near = |wanted| nearest_names(wanted, all.into_iter(), 3);
    assert_eq!(near("sale-report"), ["sales-report", "stock-report"]);
    assert_eq!(near("Refunds!")[0], "refunds");
    assert_eq!(near("refnuds"), ["refunds"]);
    assert_eq!(near("海报"), ["海报设计"]);
    assert_eq!(near("weather"), [""; 0]);
    assert_eq!(near(""), [""; 0]);
    let many: Vec<_> = (0..1_000).map(|n| format!("report-{n}")).collect();
    assert_eq!(nearest_names("report", many.iter().map(String::as_str), 4).len(), 4);
}

/// Few words, so that documents share them.
fn sentence() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "stock", "report", "refund", "parcels", "sending", "getUser", "海报", "打印", "the", "x9",
    ]);
    prop::collection::vec(word, 0..8).prop_map(|words| words.join(" "))
}

fn document() -> impl Strategy<Value = SearchDocument> {
    (0u8..12, sentence(), sentence(), prop::collection::vec(sentence(), 0..3)).prop_map(
        |(number, description, body, not_for)| SearchDocument {
            body,
            not_for,
            ..skill(&format!("name-{number}"), &description)
        },
    )
}

fn all(text: &str) -> Query<'_> {
    Query { limit: usize::MAX, ..Query::new(text) }
}

proptest! {
    #[test]
    fn not_for_never_raises(mut document in document(), rest in prop::collection::vec(document(), 0..8), text in sentence()) {
        document.name = "probe".into();
        document.key = "skill:probe".parse().unwrap();
        let score = |document: &SearchDocument| {
            let index = Index::build(rest.iter().cloned().chain([document.clone()]));
            let answer = index.find(&all(&text));
            answer.ranking().iter().find(|hit| hit.reference == document.key).map_or(0.0, |hit| hit.score)
        };
        let with = score(&document);
        document.not_for.clear();
        prop_assert!(with <= score(&document));
    }

    #[test]
    fn hits_are_in_scope_ordered_and_within_the_limit(
        documents in prop::collection::vec(document(), 0..12),
        text in sentence(),
        limit in 0usize..6,
    ) {
        let index = Index::build(documents);
        let within = |meta: &concertina_core::catalog::search::SearchDocumentMeta| meta.name != "name-3";
        let everything = index.find(&Query { within: &within, ..all(&text) });
        let few = index.find(&Query { limit, within: &within, ..Query::new(&text) });
        prop_assert!(!names(&few).contains(&"skill:name-3".to_owned()));
        prop_assert_eq!(&names(&everything)[..limit.min(names(&everything).len())], &names(&few)[..]);
        let order: Vec<(i64, Ref)> = everything
            .ranking()
            .iter()
            .filter(|hit| !hit.why.starts_with("is called"))
            .map(|hit| (-i64::from(hit.score.to_bits()), hit.reference.clone()))
            .collect();
        prop_assert!(order.is_sorted());
    }

    #[test]
    fn any_text_is_a_request_and_a_document(text in any::<String>(), request in any::<String>()) {
        let index = Index::build([SearchDocument { body: text.clone(), ..skill("a", &text) }]);
        let _ = index.find(&Query::new(&request));
        let own = index.find(&Query::new(&text));
        prop_assert!(own.ranking().len() <= 1);
        nearest_names(&request, [text.as_str()].into_iter(), 3);
    }
}
