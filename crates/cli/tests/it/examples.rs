//! The examples that follow a procedure do what their pages say.

use serde_json::Value;

use crate::kit::{Place, names};

/// The receipts of the latest session: the tool, what it proves, and what was read.
fn receipts(place: &Place) -> Vec<Value> {
    let shown = place.json(&["audit", "show", "last", "--kind", "receipt"]);
    let records = shown["records"].as_array().unwrap().iter();
    records.map(|record| record["data"]["receipt"]["receipt"].clone()).collect()
}

#[test]
fn j03_j05_the_commit_gate_runs_up_to_the_word_of_a_person() {
    let place = Place::example("commit-gate");
    let result = place.json(&["run", ".", "--model", "scripted:models/scripted.json"]);
    assert!(result["answer"].as_str().unwrap().contains("waits for a person"), "{result}");
    let tools = names(&Value::Array(receipts(&place)), "tool");
    assert_eq!(tools, ["lint", "test"]);
    let denied = place.json(&["audit", "denials", "--session", "last"]);
    let refused = &denied["denials"][0];
    assert_eq!(refused["request"], "call git_commit");
    assert_eq!(refused["count"], 2, "before the tests, and before the person: {refused}");
    let claims = place.run(&["audit", "claims", "last"]).exits(1);
    claims.shows(&["never called", "I ran the tests"]);
    // The agent's own user cannot answer for the person.
    place.run(&["approve", "list"]).exits(0).shows(&["ship.ok"]);
    let question = place.json(&["approve", "list"])["approvals"][0]["id"].clone();
    let answer = ["approve", "grant", question.as_str().unwrap()];
    place.run(&answer).exits(3).says(&["needs somebody whom the agent cannot pass for"]);
}

#[test]
fn a16_j17_a_report_follows_the_query_and_the_analysis() {
    for task in [None, Some("查 6 月的订单，分析异常，生成报告")] {
        let place = Place::example("order-report");
        let plan = place.json(&["skill", "plan", "report-orders", "--root", "skills"]);
        let order = ["query-orders", "analyse-orders", "report-orders"];
        assert_eq!(plan["plan"], serde_json::json!(order));
        let mut arguments = vec!["run", "."];
        arguments.extend(task);
        arguments.extend(["--model", "scripted:models/scripted.json"]);
        let result = place.json(&arguments);
        let opened = ["skill:query-orders", "skill:analyse-orders", "skill:report-orders"];
        assert_eq!(result["opened"], serde_json::json!(opened), "{task:?}");
        let refused = place.json(&["audit", "denials", "--session", "last"]);
        assert_eq!(names(&refused["denials"], "code"), ["NOT_IN_STEP"], "the report came first");
        let receipts = receipts(&place);
        let proves: Vec<&Value> = receipts.iter().map(|one| &one["proves"][0]).collect();
        assert_eq!(proves, ["queried", "analysed", "reported"]);
        assert_eq!(receipts[1]["parsed"]["odd"], 3);
        let report = std::fs::read_to_string(place.work().join("out/report.md")).unwrap();
        assert_eq!(report.lines().filter(|line| line.starts_with("| 10")).count(), 3, "{report}");
    }
}

#[test]
fn j05_a_deployment_waits_for_ci_and_for_a_person() {
    let place = Place::example("deploy-gate");
    let result = place.json(&["run", ".", "--model", "scripted:models/scripted.json"]);
    assert!(result["answer"].as_str().unwrap().contains("waits for the signed word"), "{result}");
    let refused = place.json(&["audit", "denials", "--session", "last"]);
    let reason = refused["denials"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("ci.ok is not proven, go.ok is not proven"), "{reason}");
    assert!(!place.work().join("live").exists());
}
