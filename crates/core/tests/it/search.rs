//! Finding: what matches, what does not, in which order and with which reason.

#![allow(clippy::cast_precision_loss, reason = "counts of a few words")]

use concertina_core::catalog::search::{
    Answer, Field, Index, Kind, Query, SearchDocument, Weights, nearest_names,
};
use concertina_types::Ref;
use proptest::prelude::*;

pub(crate) fn skill(name: &str, description: &str) -> SearchDocument {
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

pub(crate) fn names(answer: &Answer) -> Vec<String> {
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

#[test]
fn b07_a_request_is_read_in_words_that_mean_the_same_in_either_language() {
    let index = Index::build([
        skill("trips", "Plans a journey by train"),
        skill("退款", "给顾客退款"),
        skill("fishing", "Where to fish"),
    ]);
    for (text, found, why) in [
        ("railway tour", "skill:trips", "(like train)"),
        ("坐火车旅行", "skill:trips", "火车 (like train)"),
        ("refund", "skill:退款", "refund (like 退款)"),
    ] {
        let answer = index.find(&Query::new(text));
        assert_eq!(names(&answer)[0], found, "{text}");
        let best = &answer.ranking()[0];
        assert!(best.why.contains(why), "{text}: {}", best.why);
    }
    // A word that is there counts for more than one that is like it.
    let index = Index::build([skill("a", "Books a trip"), skill("b", "Books a journey")]);
    assert_eq!(names(&index.find(&Query::new("journey"))), ["skill:b", "skill:a"]);
}

#[test]
fn requests_like_the_examples_find_what_the_examples_belong_to() {
    let with = |name: &str, examples: &[&str]| SearchDocument {
        examples: examples.iter().map(|&example| example.into()).collect(),
        ..skill(name, "Keeps records")
    };
    let moods = [
        "I feel low",
        "I am so tired of it",
        "why do I always lose",
        "I feel bad about it",
        "I keep failing",
    ];
    let bills = [
        "who has not paid",
        "list open bills",
        "which bills are late",
        "late payers",
        "bills by month",
    ];
    let index = Index::build([with("diary", &moods), with("ledger", &bills)]);
    let answer = index.find(&Query::new("why am I always so tired"));
    assert_eq!(names(&answer)[0], "skill:diary");
    // Stop words alone are no sign.
    assert!(names(&index.find(&Query::new("why do I"))).is_empty());
}

/// Two skills that send requests to each other.
pub(crate) fn rivals() -> [SearchDocument; 2] {
    let refusing =
        |not_for: &str, document| SearchDocument { not_for: vec![not_for.into()], ..document };
    [
        refusing(
            "setting exercises",
            skill("lesson-plan", "Writes a lesson plan with goals and key points for a lesson"),
        ),
        refusing(
            "writing a lesson plan",
            skill("exercise-set", "Sets exercises with answers on the key points"),
        ),
    ]
}

#[test]
fn of_two_that_refuse_each_others_work_the_one_that_is_asked_for_comes_first() {
    let [plan, test] = rivals();
    let open =
        |document: &SearchDocument| SearchDocument { not_for: Vec::new(), ..document.clone() };
    let request = "The lesson plan with goals for the lesson is done, now exercises on it.";
    let plain = Index::build([open(&plan), open(&test)]);
    assert_eq!(names(&plain.find(&Query::new(request)))[0], "skill:lesson-plan");
    let index = Index::build([plan, test]);
    let query = Query::new(request);
    assert_eq!(names(&index.find(&query))[0], "skill:exercise-set");
    let explanation = index.explain(&query);
    assert_eq!(explanation.ranked[1].below, Some("skill:exercise-set".parse().unwrap()));
    assert!(explanation.ranked[0].below.is_none());
    let other = "Exercises are done, now a lesson plan with goals for the lesson.";
    assert_eq!(names(&index.find(&Query::new(other)))[0], "skill:lesson-plan");
}

#[test]
fn l12_an_explanation_adds_up() {
    let index = shop();
    for text in ["parcel that never arived", "refnuds", "the buyer wants a reimbursement", "海报"]
    {
        let query = Query::new(text);
        let (answer, explanation) = (index.find(&query), index.explain(&query));
        assert_eq!(explanation.ranked.len(), answer.ranking().len(), "{text}");
        let confidence = explanation.confidence.unwrap();
        assert!(confidence.share > 0.0 && confidence.share <= 1.0 + 1e-6, "{text}: {confidence:?}");
        for (explained, hit) in explanation.ranked.iter().zip(answer.ranking()) {
            assert_eq!(explained.reference, hit.reference);
            let sum: f32 = explained.points.iter().map(|points| points.points).sum();
            let sum = sum + explained.likeness - explained.lowered;
            assert!((sum - explained.score).abs() < 1e-3, "{text}: {sum} {explained:?}");
            assert!(explained.lowered.abs() < 1e-3 && explained.below.is_none(), "{explained:?}");
        }
    }
    assert!(index.explain(&Query::new("zeppelin")).confidence.is_none());
}

#[test]
fn what_is_out_of_scope_neither_shows_nor_stands_in_the_way() {
    let index = Index::build([skill("zeppelinkeeper", ""), skill("zeppelinkeepars", "")]);
    let within =
        |meta: &concertina_core::catalog::search::SearchDocumentMeta| meta.name != "zeppelinkeeper";
    let query = Query { within: &within, ..Query::new("zeppelinkeepir") };
    assert_eq!(names(&index.find(&query)), ["skill:zeppelinkeepars"]);
    let query = Query { within: &within, ..Query::new("zeppelinkeepr") };
    let explanation = index.explain(&query);
    assert!(!format!("{explanation:?}").contains("zeppelinkeeper"), "{explanation:?}");
}

#[test]
fn a_description_of_one_character_counts() {
    let weights = Weights { b: 1.0, b_short: 1.0, ..Weights::default() };
    let index = Index::build_with([skill("sea", "海"), skill("other", "山和水")], weights);
    let answer = index.find(&Query::new("海"));
    assert_eq!(names(&answer), ["skill:sea"]);
    assert!(answer.ranking()[0].score > 0.0);
}

/// A number in letters, so that it stays one word with its neighbours.
fn spelt(number: usize) -> String {
    number.to_string().chars().map(|digit| char::from(b'a' + digit as u8 - b'0')).collect()
}

#[test]
fn what_changes_for_a_long_time_does_not_grow_for_ever() {
    let document = |n: usize| {
        let words: Vec<String> =
            (0..400).map(|word| format!("quo{}gga{}", spelt(n), spelt(word))).collect();
        SearchDocument { body: words.join(" "), ..skill("it", "changes") }
    };
    let mut index = Index::build([document(0), skill("still", "stays the same")]);
    for n in 1..60 {
        index = index.updated([document(n)], &[]);
    }
    let asked = |n: usize| format!("quo{}gga{}", spelt(n), spelt(7));
    assert_eq!(names(&index.find(&Query::new(&asked(59)))), ["skill:it"]);
    assert!(names(&index.find(&Query::new(&asked(3)))).is_empty());
    assert_eq!(names(&index.find(&Query::new("stays the same"))), ["skill:still"]);
}

#[test]
fn q01_the_exact_name_ranks_first() {
    let index = Index::build(
        (0..200)
            .map(|n| {
                let mut document = skill(&format!("deploy-{n}"), "deploy deploy deploy");
                document.examples = vec!["deploy to production".into(); 5];
                document
            })
            .chain([skill("deploy", "")]),
    );
    for text in ["deploy", "Deploy!", "skill:deploy", "DEPLOY"] {
        assert_eq!(names(&index.find(&Query::new(text)))[0], "skill:deploy", "{text}");
    }
}

#[test]
fn q03_case_and_punctuation_do_not_matter_and_words_are_whole() {
    let index = Index::build([skill("airport-transfer", "Brings people to the airport")]);
    for text in ["AIRPORT", "airport!", "air-port", "airPort"] {
        assert_eq!(names(&index.find(&Query::new(text))), ["skill:airport-transfer"], "{text}");
    }
    for text in ["port", "air", "trans", "rings"] {
        assert!(names(&index.find(&Query::new(text))).is_empty(), "{text}");
    }
}

#[test]
fn q04_a_request_without_words_finds_nothing_and_is_quick_about_it() {
    let index = shop();
    let huge = "🦀 ".repeat(2_000_000);
    let mixed = "\u{7}\u{1b}[31m 海报\u{200b} постер afişi ポスター ".repeat(50_000);
    for text in ["", " \t\n", "…!?—", "🦀🦀🦀", "\u{0}\u{7f}", huge.as_str()] {
        let answer = index.find(&Query::new(text));
        assert!(!answer.enough && answer.ranking().is_empty());
    }
    assert_eq!(names(&index.find(&Query::new(&mixed)))[0], "skill:海报设计");
}

/// Few words, so that documents share them.
fn sentence() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "stock", "report", "refund", "parcels", "sending", "getUser", "海报", "打印", "the", "x9",
    ]);
    prop::collection::vec(word, 0..8).prop_map(|words| words.join(" "))
}

fn document() -> impl Strategy<Value = SearchDocument> {
    let lists = (prop::collection::vec(sentence(), 0..3), prop::collection::vec(sentence(), 0..3));
    (0u8..12, sentence(), sentence(), lists).prop_map(
        |(number, description, body, (not_for, examples))| SearchDocument {
            body,
            not_for,
            examples,
            ..skill(&format!("name-{number}"), &description)
        },
    )
}

fn all(text: &str) -> Query<'_> {
    Query { limit: usize::MAX, ..Query::new(text) }
}

/// BM25F from its definition, over names and descriptions of plain words.
fn naive(documents: &[(String, String)], request: &str) -> Vec<f64> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let weights = Weights::default();
    let (k1, b) = (f64::from(weights.k1), f64::from(weights.b_short));
    let fields: Vec<[Vec<String>; 2]> =
        documents.iter().map(|(name, about)| [words(name), words(about)]).collect();
    let average = |field: usize| {
        let lengths: Vec<f64> =
            fields.iter().map(|f| f[field].len() as f64).filter(|length| *length > 0.0).collect();
        (lengths.iter().sum::<f64>() / lengths.len().max(1) as f64).max(1.0)
    };
    let mut asked = words(request);
    asked.sort();
    asked.dedup();
    let all = documents.len() as f64;
    let score = |document: &[Vec<String>; 2]| -> f64 {
        let points = asked.iter().map(|word| {
            let holding =
                fields.iter().filter(|f| f.iter().any(|field| field.contains(word))).count() as f64;
            let rarity = (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln();
            let times: f64 = [weights.name, weights.description]
                .iter()
                .enumerate()
                .map(|(field, weight)| {
                    let times = document[field].iter().filter(|own| *own == word).count() as f64;
                    let length = document[field].len() as f64;
                    f64::from(*weight) * times / (1.0 - b + b * length / average(field))
                })
                .sum();
            rarity * times * (k1 + 1.0) / (k1 + times)
        });
        points.sum()
    };
    fields.iter().map(score).collect()
}

/// Words without inflection, and none of which means what another one means.
fn plain(least: usize) -> impl Strategy<Value = String> {
    let word =
        prop::sample::select(vec!["zebra", "llama", "yak", "gnu", "emu", "okapi", "tapir", "lynx"]);
    prop::collection::vec(word, least..7).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn scores_are_those_of_the_definition(
        documents in prop::collection::vec((plain(2), plain(0)), 1..12),
        request in plain(1),
    ) {
        let index = Index::build(documents.iter().enumerate().map(|(number, (name, about))| {
            let key = format!("skill:d{number}").parse().unwrap();
            SearchDocument { description: about.clone(), ..SearchDocument::new(key, Kind::Skill, name.as_str()) }
        }));
        let expected = naive(&documents, &request);
        let answer = index.find(&all(&request));
        prop_assert_eq!(answer.ranking().len(), expected.iter().filter(|score| **score > 0.0).count());
        for hit in answer.ranking() {
            let number = hit.reference.to_string().replace("skill:d", "").parse::<usize>().unwrap();
            prop_assert!((f64::from(hit.score) - expected[number]).abs() < 1e-3, "{:?} {}", hit, expected[number]);
        }
    }

    #[test]
    fn an_updated_index_is_the_one_that_would_be_built(
        before in prop::collection::vec(document(), 0..10),
        changed in prop::collection::vec(document(), 0..6),
        gone in prop::collection::vec(0u8..12, 0..4),
        text in sentence(),
    ) {
        let gone: Vec<Ref> = gone.iter().map(|n| format!("skill:name-{n}").parse().unwrap()).collect();
        // Words that only documents had which are gone, and their numbers, must not show either.
        let mut lost = skill("lost", "quokka okapi llamas");
        lost.not_for = vec!["wombats".into()];
        let lost_key = lost.key.clone();
        let updated = Index::build(before.iter().cloned().chain([lost]))
            .updated(changed.clone(), &[&gone[..], &[lost_key]].concat());
        let kept = before.into_iter().filter(|document| !gone.contains(&document.key));
        let built = Index::build(kept.chain(changed));
        prop_assert_eq!(updated.len(), built.len());
        for text in [&text, "quokka refnuds wombat", "lama sttock qu-okka"] {
            prop_assert_eq!(updated.find(&all(text)), built.find(&all(text)));
        }
    }

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
