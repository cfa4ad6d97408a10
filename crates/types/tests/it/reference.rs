use concertina_types::{LineRange, Ref, RefError, SkillId};
use proptest::prelude::*;

fn parse(text: &str) -> Ref {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn every_documented_form_reads_and_prints_the_same() {
    for text in [
        "menu:database",
        "tool:sql/query",
        "skill:sales-analytics",
        "skill:sales-analytics#tables",
        "skill:sales-analytics#references/schema.md@3-9",
        "skill:plugin/name",
        "skill:销售分析#表",
        "file:src/a.rs@40-60",
        "file:src/a.rs@7",
        "dir:src",
        "ev:12@40-60",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn e02_a_leading_slash_means_a_skill() {
    let skill = Ref::skill(SkillId::new("commit").unwrap());
    assert_eq!(parse("/commit"), skill);
    assert_eq!(parse("skill:/commit"), skill);
}

#[test]
fn separators_in_names_are_percent_encoded() {
    let reference = parse("skill:c%23-helper#what%40where");
    let Ref::Skill { id, part, .. } = &reference else { panic!() };
    assert_eq!((id.as_str(), part.as_deref()), ("c#-helper", Some("what@where")));
    assert_eq!(reference.to_string(), "skill:c%23-helper#what%40where");
}

#[test]
fn bad_references_say_what_is_wrong() {
    assert!(matches!("sales".parse::<Ref>(), Err(RefError::Kind(_))));
    assert!(matches!("http://x".parse::<Ref>(), Err(RefError::Kind(_))));
    assert!(matches!("skill:".parse::<Ref>(), Err(RefError::Name { .. })));
    assert!(matches!("skill:a\u{1}b".parse::<Ref>(), Err(RefError::Name { .. })));
    assert!(matches!("file:a%zz".parse::<Ref>(), Err(RefError::Percent(_))));
    assert!(matches!("file:%00".parse::<Ref>(), Err(RefError::Path(_))));
    assert!(matches!("ev:x".parse::<Ref>(), Err(RefError::Number(_))));
    assert!(matches!("ev:1@9-3".parse::<Ref>(), Err(RefError::Lines(_))));
    assert!(matches!("ev:1@0".parse::<Ref>(), Err(RefError::Lines(_))));
    assert!(matches!("x".repeat(5_000).parse::<Ref>(), Err(RefError::TooLong(_))));
}

proptest! {
    #[test]
    fn what_prints_parses_back(
        name in "[^\\p{Cc}]{1,30}", part in proptest::option::of("[^\\p{Cc}]{1,30}"),
        lines in proptest::option::of((1_u64..999, 0_u64..99)),
    ) {
        let name = name.trim().trim_start_matches('/').trim().to_owned();
        prop_assume!(!name.is_empty() && part.as_ref().is_none_or(|p| !p.trim().is_empty() && p.trim() == p));
        // What could forge a line is no name.
        let id = SkillId::new(name);
        prop_assume!(id.is_ok());
        let reference = Ref::Skill {
            id: id.unwrap(),
            part,
            lines: lines.map(|(first, more)| LineRange { first, last: first + more }),
        };
        prop_assert_eq!(reference.to_string().parse::<Ref>(), Ok(reference));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}") {
        let _ = text.parse::<Ref>();
    }
}
