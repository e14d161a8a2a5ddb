//! The list of assertions: stable, documented, each with a place in the contract.

use std::{collections::BTreeSet, fs, path::Path};

use provider_conformance::{
    assertions,
    report::{assertions_markdown, rule_place},
};

#[test]
fn ids_are_unique_slugs() {
    let mut seen = BTreeSet::new();
    for assertion in assertions() {
        let parts: Vec<&str> = assertion.id.split('/').collect();
        let is_slug = |part: &&str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        assert!(parts.len() == 2 && parts.iter().all(is_slug), "{}", assertion.id);
        assert!(seen.insert(assertion.id), "{} is there twice", assertion.id);
    }
}

#[test]
fn every_rule_exists_in_the_contract() {
    for assertion in assertions() {
        let place = rule_place(assertion.rule);
        assert!(
            place.starts_with("crossbridge/provider/v1alpha1/"),
            "{}: {} is nowhere",
            assertion.id,
            assertion.rule
        );
    }
}

/// Written anew by: `cargo run -p provider-conformance -- --list --format markdown`.
#[test]
fn the_documented_list_matches_the_kit() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/contract.md");
    let text = fs::read_to_string(&path).expect("docs/contract.md");
    let begin = "<!-- provider-conformance --list --format markdown -->\n";
    let end = "<!-- end of the list -->";
    let listed = text
        .split_once(begin)
        .and_then(|(_, rest)| rest.split_once(end))
        .map(|(listed, _)| listed.trim().to_owned())
        .expect("the list's marks");
    assert!(
        listed == assertions_markdown().trim(),
        "docs/contract.md does not hold what `provider-conformance --list --format markdown` prints"
    );
}
