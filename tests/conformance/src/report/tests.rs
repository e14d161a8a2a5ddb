//! The outcome in every format.

use super::{Format, rule_place, write};
use crate::{
    assertion::{Assertion, Level},
    run::{Report, Selection},
    suites,
    verdict::{Finding, Verdict},
};

const RULE: &Assertion = &Assertion {
    id: "area/rule",
    level: Level::Core,
    title: "It holds.",
    rule: "ResourceService.Observe",
    fix: "Do it.",
};

const OTHER: &Assertion = &Assertion {
    id: "area/other",
    level: Level::Core,
    title: "It holds, too.",
    rule: "ResourceService.Observe",
    fix: "Do it.",
};

fn report(verdicts: Vec<Verdict>) -> Report {
    Report {
        plugin: "example 1.0.0".to_owned(),
        findings: verdicts
            .into_iter()
            .map(|verdict| Finding {
                assertion: RULE,
                subject: "Kind".to_owned(),
                verdict,
            })
            .collect(),
        selection: Selection::default(),
        unsearched_secrets: Vec::new(),
        left_behind: Vec::new(),
    }
}

fn everything() -> Report {
    report(vec![
        Verdict::Passed,
        Verdict::Failed("seen <that> & \"this\"\u{7}".to_owned()),
        Verdict::Blocked("first\nthis".to_owned()),
        Verdict::Skipped,
        Verdict::NotApplicable("no # such resource".to_owned()),
    ])
}

#[test]
fn tap_has_a_plan_and_one_line_per_finding() {
    let place = rule_place(RULE.rule);
    assert!(place.contains("resource_service.proto:"), "{place}");
    assert_eq!(
        write(&everything(), Format::Tap).replace(&place, "RULE_PLACE"),
        "TAP version 13\n1..5\n\
         ok 1 - area/rule (Kind)\n\
         not ok 2 - area/rule (Kind)\n# seen: seen <that> & \"this\"\u{7}\n# rule: RULE_PLACE\n# fix: Do it.\n\
         not ok 3 - area/rule (Kind)\n# blocked: first this\n\
         ok 4 - area/rule (Kind) # SKIP on demand\n\
         ok 5 - area/rule (Kind) # SKIP no \\# such resource\n"
    );
}

#[test]
fn junit_is_well_formed_and_counts() {
    let text = write(&everything(), Format::Junit);
    let document = roxmltree::Document::parse(&text).expect("XML");
    let suite = document
        .descendants()
        .find(|node| node.has_tag_name("testsuite"))
        .expect("a suite");
    let counts: Vec<_> = ["tests", "failures", "errors", "skipped"]
        .iter()
        .map(|name| suite.attribute(*name).unwrap_or_default())
        .collect();
    assert_eq!(counts, ["5", "1", "1", "2"]);
    let failure = document
        .descendants()
        .find(|node| node.has_tag_name("failure"))
        .expect("a failure");
    assert_eq!(failure.attribute("message"), Some("seen <that> & \"this\""));
    let describe = failure.text().unwrap_or_default();
    assert!(
        describe.contains("resource_service.proto:") && describe.ends_with("Do it."),
        "{describe}"
    );
}

#[test]
fn json_holds_every_finding() {
    let text = write(&everything(), Format::Json);
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["conforms"], false);
    assert_eq!(document["counts"]["failed"], 1);
    assert_eq!(document["findings"][1]["verdict"], "failed");
    assert_eq!(document["findings"][1]["why"], "seen <that> & \"this\"\u{7}");
    assert_eq!(document["findings"][0]["verdict"], "passed");
    assert_eq!(document["findings"][0]["place"], rule_place(RULE.rule));
    assert_eq!(document["complete"], false, "something was skipped");
}

#[test]
fn text_shows_the_fix_and_the_rule_of_a_failure() {
    let text = write(&everything(), Format::Text);
    for part in [
        "area/rule (Kind, Core)",
        "resource_service.proto:",
        "fix:  Do it.",
        "skipped on demand: area/rule",
        "  blocked area/rule (Kind): first\nthis\n",
        "DOES NOT CONFORM",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn where_many_rules_fail_three_are_to_be_fixed_first() {
    let of_plugins = suites::assertions();
    let feature = of_plugins.iter().find(|rule| rule.level == Level::Feature);
    let mut core: Vec<_> = of_plugins
        .iter()
        .filter(|rule| rule.level == Level::Core)
        .collect();
    core.truncate(4);
    let mut many = report(vec![Verdict::Failed("seen".to_owned()); 5]);
    for (finding, rule) in many
        .findings
        .iter_mut()
        .zip(feature.into_iter().chain(core.iter().copied().rev()))
    {
        finding.assertion = rule;
    }
    let text = write(&many, Format::Text);
    let first: String = core[..3]
        .iter()
        .map(|rule| format!("  {} (Kind): {}\n", rule.id, rule.fix))
        .collect();
    assert!(
        text.contains(&format!(
            "fix these first, others of the 5 may follow from them:\n{first}\n"
        )),
        "{text}"
    );
    many.findings.truncate(3);
    assert!(
        !write(&many, Format::Text).contains("fix these first"),
        "they are all there are"
    );
}

#[test]
fn rules_that_one_cause_blocks_are_one_line() {
    let mut blocked = report(vec![Verdict::Blocked("the upstream is away".to_owned()); 3]);
    blocked.findings[2].assertion = OTHER;
    let text = write(&blocked, Format::Text);
    assert_eq!(text.matches("the upstream is away").count(), 1, "{text}");
    assert!(
        text.contains("blocked 3 rules of Kind: the upstream is away"),
        "{text}"
    );
    assert!(text.contains("area/other"), "{text}");
}

#[test]
fn what_no_caller_can_see_is_named_in_the_verdict() {
    let unseen = report(vec![
        Verdict::Passed,
        Verdict::NotApplicable("cannot be seen: there may be a second one".to_owned()),
    ]);
    let text = write(&unseen, Format::Text);
    let line = "not judged of Kind, as a caller cannot see it: there may be a second one: area/rule\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn the_exit_code_shows_conformance() {
    let code = |verdicts| report(verdicts).exit_code();
    assert_eq!(code(vec![Verdict::Passed, Verdict::Skipped]), 0);
    assert_eq!(code(vec![Verdict::Passed, Verdict::Failed(String::new())]), 1);
    assert_eq!(code(vec![Verdict::Passed, Verdict::Blocked(String::new())]), 3);
    assert_eq!(code(vec![]), 3, "nothing was judged");
    let mut left = report(vec![Verdict::Passed]);
    left.left_behind.push("Kind \"x\"".to_owned());
    assert_eq!(left.exit_code(), 3);
}

/// The last line of the verdict, up to the name.
fn word(report: &Report) -> String {
    let text = write(report, Format::Text);
    let line = text.lines().last().unwrap_or_default();
    line.split(':').next().unwrap_or_default().to_owned()
}

fn not_applicable(why: &str) -> Verdict {
    Verdict::NotApplicable(why.to_owned())
}

#[test]
fn every_format_shows_the_selection_with_the_verdict() {
    let mut part = report(vec![Verdict::Passed]);
    part.selection.only = vec!["info".to_owned()];
    part.selection.kinds = vec!["Note".to_owned()];
    assert_eq!(word(&part), "CONFORMS, as far as it was judged");
    for format in [Format::Text, Format::Tap, Format::Junit] {
        let text = write(&part, format);
        assert!(text.contains("--only info --kind Note"), "{text}");
    }
    let text = write(&part, Format::Json);
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["selection"]["only"][0], "info");
    assert_eq!(document["complete"], false);
    assert_eq!(document["conforms"], true);
}

#[test]
fn missing_flags_are_listed_with_the_assertions_they_enable() {
    let all = report(vec![Verdict::Passed, not_applicable("names are derived")]);
    assert_eq!(word(&all), "CONFORMS");
    let wanting = report(vec![not_applicable("give --dead-setting")]);
    let text = write(&wanting, Format::Text);
    assert!(
        text.contains("Core: none of 1 rules judged\n  give --dead-setting: area/rule\n"),
        "{text}"
    );
    // Judged about one kind is judged.
    let elsewhere = report(vec![Verdict::Passed, not_applicable("give --dead-setting")]);
    assert_eq!(word(&elsewhere), "CONFORMS");
    let text = write(&elsewhere, Format::Text);
    assert!(text.contains("Core: 1 of 1 rules judged\n"), "{text}");
}

#[test]
fn a_secret_too_short_to_search_for_is_listed() {
    let mut short = report(vec![Verdict::Passed]);
    short.unsearched_secrets.push("credential \"pin\"".to_owned());
    for (format, describe) in [
        (Format::Text, "credential \"pin\""),
        (Format::Json, "credential \\\"pin\\\""),
    ] {
        let text = write(&short, format);
        assert!(text.contains(describe), "{text}");
    }
}

#[test]
fn leftover_resources_do_not_fail_the_plugin() {
    let mut left = report(vec![Verdict::Passed]);
    left.left_behind.push("Kind \"x\"".to_owned());
    assert_eq!(word(&left), "CONFORMS, but left something behind");
    let unjudged = report(vec![Verdict::Passed, Verdict::Blocked(String::new())]);
    assert_eq!(word(&unjudged), "COULD NOT BE JUDGED");
}

#[test]
fn a_plugin_that_never_answered_has_a_verdict_without_a_name() {
    let mut silent = report(Vec::new());
    silent.plugin.clear();
    assert_eq!(
        write(&silent, Format::Text).trim_start(),
        "COULD NOT BE JUDGED: nothing judged\n"
    );
}
