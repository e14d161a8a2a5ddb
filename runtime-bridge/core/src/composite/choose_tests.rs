use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Choice, ChoiceChange, Library, Missing, Preferences, choose};
use crate::{
    definition::{Definition, Machinery, Terms, UpdatePolicy},
    revision::{ActiveFunction, Composition, Revision},
};

const APP: &str = include_str!("../crd/golden/definition/namespaced.yaml");

fn terms(change: impl FnOnce(&mut Value)) -> Terms {
    let mut object = serde_yaml_ng::from_str(APP).unwrap();
    change(&mut object);
    Terms::of(&Definition::read(&object).unwrap()).unwrap()
}

fn plain() -> Terms {
    terms(|_| {})
}

fn composition(name: &str, labels: &Value, version: &str) -> Arc<Composition> {
    Arc::new(Composition::read(&json!({
        "metadata": { "name": name, "uid": format!("uid-{name}"), "labels": labels },
        "spec": { "compositeTypeRef": { "apiVersion": format!("example.org/{version}"), "kind": "App" } },
    })))
}

fn revision(name: &str, of: &str, number: i64, change: impl FnOnce(&mut Value)) -> Arc<Revision> {
    let mut object = json!({
        "metadata": {
            "name": name,
            "uid": format!("uid-{name}"),
            "labels": { "crossplane.io/composition-name": of },
            "ownerReferences": [{ "kind": "Composition", "name": of, "uid": format!("uid-{of}"), "controller": true }],
        },
        "spec": { "revision": number, "compositeTypeRef": { "apiVersion": "example.org/v1", "kind": "App" } },
        "status": { "conditions": [{ "type": "ValidPipeline", "status": "True" }] },
    });
    change(&mut object);
    Arc::new(Revision::read(&object))
}

struct Stored {
    compositions: Vec<Arc<Composition>>,
    revisions: Vec<Arc<Revision>>,
    functions: Option<Vec<ActiveFunction>>,
}

impl Stored {
    /// Compositions `big` and `small`, of each two revisions, the first of channel `old`; and one of another version.
    fn usual() -> Self {
        let old = |object: &mut Value| object["metadata"]["labels"]["channel"] = json!("old");
        Self {
            compositions: vec![
                composition("small", &json!({ "size": "s" }), "v1"),
                composition("big", &json!({ "size": "b" }), "v1"),
                composition("another", &json!({ "size": "s" }), "v2"),
            ],
            revisions: vec![
                revision("small-2", "small", 2, |_| {}),
                revision("small-1", "small", 1, old),
                revision("big-1", "big", 1, old),
                revision("big-2", "big", 2, |_| {}),
            ],
            functions: None,
        }
    }

    fn choose(&self, terms: &Terms, fields: &Value) -> Choice {
        let object = json!({ "spec": { "crossplane": fields } });
        let preferences = Preferences::read(&object, Machinery::SpecCrossplane);
        let library = Library {
            compositions: &self.compositions,
            revisions: &self.revisions,
            functions: self.functions.as_deref(),
        };
        choose(terms, &preferences, library)
    }

    /// Composition and revision.
    #[track_caller]
    fn chosen(&self, terms: &Terms, fields: &Value) -> (String, String) {
        match self.choose(terms, fields) {
            Choice::Chosen(chosen) => {
                assert_eq!(chosen.revision.name, chosen.selected.revision);
                (chosen.selected.composition, chosen.selected.revision)
            }
            Choice::Missing(missing) => panic!("{missing}"),
        }
    }

    #[track_caller]
    fn missing(&self, terms: &Terms, fields: &Value) -> (&'static str, String) {
        match self.choose(terms, fields) {
            Choice::Chosen(chosen) => panic!("{:?}", chosen.selected),
            Choice::Missing(missing) => (missing.event().as_str(), missing.to_string()),
        }
    }
}

fn pair(composition: &str, revision: &str) -> (String, String) {
    (composition.to_owned(), revision.to_owned())
}

#[test]
fn preferences_are_read_where_the_type_has_them() {
    let fields = json!({
        "compositionRef": { "name": "small" },
        "compositionSelector": { "matchLabels": { "size": "s" } },
        "compositionRevisionRef": { "name": "small-1" },
        "compositionRevisionSelector": { "matchLabels": {} },
        "compositionUpdatePolicy": "Manual",
    });
    let expected = Preferences {
        composition: Some("small".into()),
        selector: Some([("size".to_owned(), "s".to_owned())].into()),
        revision: Some("small-1".into()),
        revision_selector: Some([].into()),
        update_policy: Some(UpdatePolicy::Manual),
    };
    let modern = json!({ "spec": { "crossplane": fields } });
    let legacy = json!({ "spec": fields });
    assert_eq!(Preferences::read(&modern, Machinery::SpecCrossplane), expected);
    assert_eq!(Preferences::read(&legacy, Machinery::Spec), expected);
    assert_eq!(
        Preferences::read(&legacy, Machinery::SpecCrossplane),
        Preferences::default()
    );
    assert_eq!(
        Preferences::read(&json!({}), Machinery::Spec),
        Preferences::default()
    );
}

#[test]
fn the_first_compatible_composition_by_name_is_chosen() {
    let stored = Stored::usual();
    assert_eq!(stored.chosen(&plain(), &json!({})), pair("big", "big-2"));
    let small = json!({ "compositionSelector": { "matchLabels": { "size": "s" } } });
    assert_eq!(stored.chosen(&plain(), &small), pair("small", "small-2"));
    let any = json!({ "compositionSelector": { "matchLabels": {} } });
    assert_eq!(stored.chosen(&plain(), &any), pair("big", "big-2"));
}

#[test]
fn a_reference_that_is_set_stays() {
    let stored = Stored::usual();
    let fields = json!({
        "compositionRef": { "name": "small" },
        "compositionSelector": { "matchLabels": { "size": "b" } },
    });
    let with_default = terms(|file| file["spec"]["defaultCompositionRef"] = json!({ "name": "big" }));
    assert_eq!(stored.chosen(&with_default, &fields), pair("small", "small-2"));
}

#[test]
fn the_default_is_for_those_without_reference_and_selector() {
    let stored = Stored::usual();
    let terms = terms(|file| file["spec"]["defaultCompositionRef"] = json!({ "name": "small" }));
    assert_eq!(stored.chosen(&terms, &json!({})), pair("small", "small-2"));
    let any = json!({ "compositionSelector": { "matchLabels": {} } });
    assert_eq!(stored.chosen(&terms, &any), pair("big", "big-2"));
}

#[test]
fn an_enforced_composition_overrides_every_reference() {
    let stored = Stored::usual();
    let terms = terms(|file| {
        file["spec"]["enforcedCompositionRef"] = json!({ "name": "small" });
        file["spec"]["defaultCompositionRef"] = json!({ "name": "big" });
    });
    let big = json!({ "compositionRef": { "name": "big" }, "compositionRevisionRef": { "name": "big-2" } });
    assert_eq!(stored.chosen(&terms, &big), pair("small", "small-2"));
}

#[test]
fn a_manual_reference_to_a_revision_never_moves() {
    let stored = Stored::usual();
    let fields = |policy: &str| {
        json!({
            "compositionRef": { "name": "small" },
            "compositionRevisionRef": { "name": "small-1" },
            "compositionUpdatePolicy": policy,
        })
    };
    assert_eq!(
        stored.chosen(&plain(), &fields("Manual")),
        pair("small", "small-1")
    );
    assert_eq!(
        stored.chosen(&plain(), &fields("Automatic")),
        pair("small", "small-2")
    );
    let manual = terms(|file| file["spec"]["defaultCompositionUpdatePolicy"] = json!("Manual"));
    assert_eq!(stored.chosen(&manual, &fields("")), pair("small", "small-1"));
}

#[test]
fn a_selector_of_revisions_is_for_those_that_move() {
    let stored = Stored::usual();
    let fields = |policy: &str| {
        json!({
            "compositionRef": { "name": "small" },
            "compositionRevisionSelector": { "matchLabels": { "channel": "old" } },
            "compositionUpdatePolicy": policy,
        })
    };
    assert_eq!(
        stored.chosen(&plain(), &fields("Automatic")),
        pair("small", "small-1")
    );
    assert_eq!(
        stored.chosen(&plain(), &fields("Manual")),
        pair("small", "small-2")
    );
}

#[test]
fn the_default_selector_of_revisions_is_stored() {
    let stored = Stored::usual();
    let terms = terms(|file| {
        file["spec"]["defaultCompositionRevisionSelector"] = json!({ "matchLabels": { "channel": "old" } });
    });
    let Choice::Chosen(chosen) = stored.choose(&terms, &json!({ "compositionRef": { "name": "small" } }))
    else {
        panic!("nothing is chosen");
    };
    assert_eq!(
        chosen.selected.machinery(),
        [
            ("compositionRef", json!({ "name": "small" })),
            ("compositionRevisionRef", json!({ "name": "small-1" })),
            (
                "compositionRevisionSelector",
                json!({ "matchLabels": { "channel": "old" } })
            ),
        ]
    );
    for has in [
        json!({ "compositionRef": { "name": "small" }, "compositionRevisionRef": { "name": "small-1" } }),
        json!({ "compositionRef": { "name": "small" }, "compositionRevisionSelector": { "matchLabels": {} } }),
    ] {
        assert_eq!(stored.chosen(&terms, &has), pair("small", "small-2"));
    }
}

#[test]
fn each_change_is_an_event_once() {
    let stored = Stored::usual();
    let terms = terms(|file| {
        file["spec"]["defaultCompositionRef"] = json!({ "name": "small" });
        file["spec"]["defaultCompositionRevisionSelector"] = json!({ "matchLabels": {} });
    });
    let Choice::Chosen(chosen) = stored.choose(&terms, &json!({})) else {
        panic!("nothing is chosen");
    };
    let events: Vec<(&str, String)> = chosen
        .selected
        .changes
        .iter()
        .map(|change| (change.event().as_str(), change.message()))
        .collect();
    let event = |reason, message: &str| (reason, message.to_owned());
    assert_eq!(
        events,
        [
            event("CompositionSelection", "Default composition has been selected"),
            event("SelectComposition", "Successfully selected composition: small"),
            event(
                "CompositionSelection",
                "Default revision selector has been selected"
            ),
            event("SelectComposition", "Selected composition revision: small-2"),
        ]
    );
    let mut stored_fields = json!({});
    for (field, value) in chosen.selected.machinery() {
        stored_fields[field] = value;
    }
    let Choice::Chosen(again) = stored.choose(&terms, &stored_fields) else {
        panic!("nothing is chosen");
    };
    assert_eq!(again.selected.changes, []);
    assert_eq!(again.selected.revision_selector, None);
    let enforced =
        super::choose_tests::terms(|file| file["spec"]["enforcedCompositionRef"] = json!({ "name": "big" }));
    let Choice::Chosen(chosen) = stored.choose(&enforced, &json!({})) else {
        panic!("nothing is chosen");
    };
    assert_eq!(chosen.selected.changes[0], ChoiceChange::Enforced);
}

#[test]
fn what_is_missing_is_told_as_by_crossplane() {
    let mut stored = Stored::usual();
    let plain = plain();
    let small = || json!({ "compositionRef": { "name": "small" } });
    let none = json!({ "compositionSelector": { "matchLabels": { "size": "none" } } });
    let missing = |event: &'static str, message: &str| (event, message.to_owned());
    assert_eq!(
        stored.missing(&plain, &none),
        missing(
            "SelectComposition",
            "cannot select Composition: no compatible Compositions found"
        )
    );
    assert_eq!(
        stored.missing(&plain, &json!({ "compositionRef": { "name": "gone" } })),
        missing(
            "ComposeResources",
            "cannot fetch Composition: cannot get Composition: Composition.apiextensions.crossplane.io \"gone\" not found"
        )
    );
    assert_eq!(
        stored.missing(
            &plain,
            &json!({ "compositionRef": { "name": "small" }, "compositionRevisionRef": { "name": "gone" }, "compositionUpdatePolicy": "Manual" })
        ),
        missing(
            "ComposeResources",
            "cannot fetch Composition: cannot get CompositionRevision: CompositionRevision.apiextensions.crossplane.io \"gone\" not found"
        )
    );
    assert_eq!(
        stored.missing(&plain, &json!({ "compositionRef": { "name": "another" } })),
        missing(
            "ComposeResources",
            "cannot fetch Composition: no compatible CompositionRevisions found"
        )
    );
    let with = |stored: &mut Stored, status: Value| {
        stored.revisions[0] = revision("small-2", "small", 2, |object| object["status"] = status);
    };
    with(&mut stored, json!({}));
    assert_eq!(
        stored.missing(&plain, &small()),
        missing(
            "ComposeResources",
            "selected CompositionRevision small-2 does not have a valid function pipeline: pipeline status unknown"
        )
    );
    with(
        &mut stored,
        json!({ "conditions": [{ "type": "ValidPipeline", "status": "False", "message": "why" }] }),
    );
    assert_eq!(
        stored.missing(&plain, &small()),
        missing(
            "ComposeResources",
            "selected CompositionRevision small-2 does not have a valid function pipeline: why"
        )
    );
    stored.revisions[0] = revision("small-2", "small", 2, |object| {
        object["spec"]["compositeTypeRef"]["apiVersion"] = json!("example.org/v2");
    });
    assert_eq!(
        stored.missing(&plain, &small()),
        missing(
            "ComposeResources",
            "cannot configure composite resource: referenced composition is not compatible with this composite resource"
        )
    );
}

#[test]
fn a_revision_is_judged_before_its_status_says_anything() {
    let plain = plain();
    let small = json!({ "compositionRef": { "name": "small" } });
    let mut stored = Stored::usual();
    let with = |status: Value| {
        revision("small-2", "small", 2, |object| {
            object["spec"]["pipeline"] = json!([{ "step": "one", "functionRef": { "name": "audit" } }]);
            object["status"] = status;
        })
    };
    let audit = |capability: &str| {
        Some(vec![ActiveFunction {
            function: "audit".to_owned(),
            revision: "audit-1".to_owned(),
            capabilities: vec![capability.to_owned()],
        }])
    };
    stored.revisions[0] = with(json!({}));
    for functions in [Some(vec![]), audit("composition")] {
        stored.functions = functions;
        assert_eq!(stored.chosen(&plain, &small), pair("small", "small-2"));
    }
    stored.functions = audit("operation");
    let lacks = r#"selected CompositionRevision small-2 does not have a valid function pipeline: function "audit" (active revision "audit-1") is missing required capabilities: composition"#;
    assert_eq!(
        stored.missing(&plain, &small),
        ("ComposeResources", lacks.to_owned())
    );
    // What is written counts.
    stored.revisions[0] = with(json!({ "conditions": [{ "type": "ValidPipeline", "status": "True" }] }));
    assert_eq!(stored.chosen(&plain, &small), pair("small", "small-2"));
}

#[test]
fn a_revision_of_another_owner_is_never_chosen() {
    let mut stored = Stored::usual();
    stored.revisions[0] = revision("small-2", "small", 2, |object| {
        object["metadata"]["ownerReferences"][0]["uid"] = json!("other");
    });
    let small = json!({ "compositionRef": { "name": "small" } });
    assert_eq!(stored.chosen(&plain(), &small), pair("small", "small-1"));
    stored.revisions.clear();
    let small = json!({ "compositionRef": { "name": "small" } });
    assert_eq!(
        stored.choose(&plain(), &small),
        Choice::Missing(Missing::CompatibleRevision {
            composition: "small".into()
        })
    );
}

proptest! {
    #[test]
    fn any_order_gives_one_choice(
        by in 0..4_usize,
        reversed in any::<bool>(),
        set in any::<bool>(),
        policy in prop_oneof![Just("Automatic"), Just("Manual"), Just("")],
        channel in prop_oneof![Just(None), Just(Some("old"))],
    ) {
        let mut fields = json!({ "compositionUpdatePolicy": policy });
        if set {
            fields["compositionRef"] = json!({ "name": "small" });
        }
        if let Some(channel) = channel {
            fields["compositionRevisionSelector"] = json!({ "matchLabels": { "channel": channel } });
        }
        let mut stored = Stored::usual();
        // Two of one number.
        stored.revisions.push(revision("small-0", "small", 2, |_| {}));
        stored.revisions.push(revision("big-0", "big", 2, |_| {}));
        let expected = stored.choose(&plain(), &fields);
        stored.compositions.rotate_left(by % 3);
        stored.revisions.rotate_left(by);
        if reversed {
            stored.compositions.reverse();
            stored.revisions.reverse();
        }
        prop_assert_eq!(stored.choose(&plain(), &fields), expected.clone());
        // What is stored of it leads to the same again.
        let Choice::Chosen(chosen) = expected else { return Ok(()) };
        for (field, value) in chosen.selected.machinery() {
            fields[field] = value;
        }
        let Choice::Chosen(again) = stored.choose(&plain(), &fields) else {
            return Err(TestCaseError::fail("nothing is chosen"));
        };
        prop_assert_eq!(again.selected.changes, vec![]);
        prop_assert_eq!(again.revision, chosen.revision);
    }
}
