//! Each reason of a condition or an event is one that the bridge gives: the documents list no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bridge_core::reasons::{
    ClaimEvent, CompositeEvent, ConditionReason, DefinitionEvent, DefinitionReason, DeletionReason,
    FunctionReason, NormalEvent, ProblemReason, StopReason, UsageEvent, UsageReason, WarningEvent,
};

use super::root;
use super::tokens::tokens;

/// Where reasons are given.
const SOURCES: [&str; 4] = [
    "runtime-bridge/core/src",
    "runtime-bridge/engine/src",
    "runtime-bridge/src",
    "runtime-bridge/plugin/src",
];
/// Where they are declared.
const DECLARED: &str = "runtime-bridge/core/src/reasons";

/// `StopReason::DoublyOwned`, as it stands in the source outside of tests.
fn named_in(folder: &Path, named: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if name == "tests" || name.ends_with("_tests") || path == root().join(DECLARED) {
            continue;
        }
        if path.is_dir() {
            named_in(&path, named);
        } else {
            let tokens = tokens(&fs::read_to_string(&path).unwrap());
            named.extend(
                tokens
                    .windows(3)
                    .map(|three| three.iter().map(|token| token.text.as_str()).collect::<String>()),
            );
        }
    }
}

#[test]
fn every_reason_is_given_somewhere() {
    let mut named = BTreeSet::new();
    for folder in SOURCES {
        named_in(&root().join(folder), &mut named);
    }
    let mut declared = Vec::new();
    macro_rules! declare {
        ($($reasons:ident),+) => {
            $(declared.extend($reasons::ALL.iter().map(|one| format!("{}::{}", stringify!($reasons), one.as_str())));)+
        };
    }
    declare!(
        ClaimEvent,
        CompositeEvent,
        ConditionReason,
        DefinitionEvent,
        DefinitionReason,
        DeletionReason,
        FunctionReason,
        NormalEvent,
        ProblemReason,
        StopReason,
        UsageEvent,
        UsageReason,
        WarningEvent
    );
    let unused: Vec<&String> = declared.iter().filter(|one| !named.contains(*one)).collect();
    assert!(unused.is_empty(), "nothing gives these reasons: {unused:?}");
}
