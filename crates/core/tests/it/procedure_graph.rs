//! Procedures as pictures.

use concertina_core::procedure::{GraphFormat, graph};
use concertina_format::procedure::{Procedure, parse};

fn gate() -> Procedure {
    parse(include_str!("../../../../fixtures/procedures/commit-gate.yaml")).procedure.unwrap()
}

/// States and tools whose names mean something to whoever draws them.
fn hostile() -> Procedure {
    let text = "sop: \"a</title><script>x</script>\"\n\
        checkpoints: {ok: {tool: \"t\"}}\n\
        states:\n\
        \x20 one: {show: {tools: [\"<b>&\\\"];%%{init}\", {\"t\": {when: ok}}]}, next: [{to: two, when: 'receipt(t).exit < 1 && receipt(t).exit != 7'}]}\n\
        \x20 two: {final: true}\n";
    parse(text).procedure.unwrap()
}

#[test]
fn j01_a_procedure_is_drawn_for_mermaid() {
    insta::assert_snapshot!(graph(&gate(), GraphFormat::Mermaid));
}

#[test]
fn j01_a_procedure_is_drawn_as_svg() {
    insta::assert_snapshot!(graph(&gate(), GraphFormat::Svg));
}

#[test]
fn a_picture_holds_names_as_names() {
    let mermaid = graph(&hostile(), GraphFormat::Mermaid);
    assert!(mermaid.contains("s0 : #60;b#62;&#34;#93;#59;#37;#37;#123;init#125;"), "{mermaid}");
    assert!(mermaid.contains("s0 --> s1 : receipt(t).exit #60; 1 && receipt(t).exit != 7"));
    let svg = graph(&hostile(), GraphFormat::Svg);
    assert!(!svg.contains("<script") && !svg.contains("<b>"), "{svg}");
    assert!(svg.contains("receipt(t).exit &lt; 1 &amp;&amp; receipt(t).exit != 7"), "{svg}");
}

#[test]
fn wires_of_one_side_never_lie_on_each_other() {
    // A chain with ways forward over many states, and back.
    let states: Vec<String> = (0..12)
        .map(|number| {
            let far = (number * 5 + 3) % 12;
            format!("  s{number}: {{show: {{tools: [t]}}, next: [{{to: s{}, when: ok}}, {{to: s{far}, when: '!ok'}}], on_fail: {{then: s{}}}}}\n", number + 1, (number * 7) % 12)
        })
        .collect();
    let text = format!(
        "sop: chain\ncheckpoints: {{ok: {{tool: t}}}}\nstates:\n{}  s12: {{final: true}}\n",
        states.concat()
    );
    let svg = graph(&parse(&text).procedure.unwrap(), GraphFormat::Svg);
    // Each wire is `M x y H lane V y H tip`: its lane, its class, its target and what it covers.
    let wires: Vec<(&str, u32, u32, u32, u32)> = svg
        .lines()
        .filter_map(|line| {
            let class = line.strip_prefix("<path class=\"wire ")?.split('"').next()?;
            let path = line.split(" d=\"M").nth(1)?;
            let numbers: Vec<u32> = path
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|number| number.parse().ok())
                .collect();
            let (from, lane, to) = (numbers[1], numbers[2], numbers[3]);
            Some((class, lane, to, from.min(to), from.max(to)))
        })
        .collect();
    assert_eq!(wires.len(), 36);
    for (number, one) in wires.iter().enumerate() {
        for other in &wires[number + 1..] {
            let is_same_wire = (one.0, one.2) == (other.0, other.2);
            let meet = one.1 == other.1 && one.3 <= other.4 && other.3 <= one.4;
            assert!(is_same_wire || !meet, "{one:?} {other:?}");
        }
    }
}

#[test]
fn a_long_guard_is_cut_and_whole_in_its_tooltip() {
    let guard = vec!["ok"; 60].join(" && ");
    let text = format!(
        "sop: long\ncheckpoints: {{ok: {{tool: t}}}}\nstates: {{one: {{show: {{tools: [t]}}, next: [{{to: two, when: {guard}}}]}}, two: {{final: true}}}}\n"
    );
    let svg = graph(&parse(&text).procedure.unwrap(), GraphFormat::Svg);
    let whole = format!("<title>→ two when {}</title>", guard.replace('&', "&amp;"));
    assert!(svg.contains(&whole), "{svg}");
    assert!(svg.contains("…</text>"));
}
