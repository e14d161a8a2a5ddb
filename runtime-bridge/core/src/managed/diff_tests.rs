//! Table of comparisons.

use serde_json::json;

use super::*;

fn paths(schema: &Value, rules: &[FieldRule], desired: &Value, fact: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut walk = Walk {
        rules: rules.iter().map(|rule| (steps(&rule.path), rule)).collect(),
        found: &mut found,
    };
    walk.object(
        &mut Vec::new(),
        desired.as_object().unwrap(),
        fact.as_object(),
        schema,
        false,
    );
    found
        .into_iter()
        .map(|diff| {
            if diff.needs_replacement {
                format!("!{}", diff.path)
            } else {
                diff.path
            }
        })
        .collect()
}

fn rule(path: &str) -> FieldRule {
    FieldRule {
        path: path.to_owned(),
        ..FieldRule::default()
    }
}

#[test]
fn long_lists_are_compared_in_one_walk() {
    const ITEMS: u32 = 100_000;
    let schema = |list: Value| json!({"properties": {"l": list}});
    let set = schema(json!({"x-kubernetes-list-type": "set"}));
    let numbers: Vec<u32> = (0..ITEMS).collect();
    let reversed: Vec<f64> = (0..ITEMS).rev().map(f64::from).collect();
    let none: Vec<String> = Vec::new();
    assert_eq!(
        paths(&set, &[], &json!({"l": numbers}), &json!({"l": reversed})),
        none
    );
    let map = schema(json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}));
    let item = |k: u32| json!({"k": k, "v": k % 2});
    let (desired, mut fact): (Vec<Value>, Vec<Value>) = (
        numbers.iter().map(|k| item(*k)).collect(),
        (0..ITEMS).rev().map(item).collect(),
    );
    fact[0]["v"] = json!(7);
    let last = format!("/l/{}/v", ITEMS - 1);
    assert_eq!(
        paths(&map, &[], &json!({"l": desired}), &json!({"l": fact})),
        [last]
    );
}

#[test]
fn fields_outside_the_desired_state_are_ignored() {
    let none = json!({});
    let cases = [
        (json!({"a": 1}), json!({"a": 1, "b": 2}), vec![]),
        (json!({"a": 1}), json!({"a": 1.0}), vec![]),
        (
            json!({"a": 9_007_199_254_740_993_i64}),
            json!({"a": 9_007_199_254_740_992_i64}),
            vec!["/a"],
        ),
        (json!({"a": null}), json!({"a": 1}), vec![]),
        (
            json!({"a": {"b": 1, "c": 2}}),
            json!({"a": {"b": 1}}),
            vec!["/a/c"],
        ),
        (json!({"a": {"b": 1}}), json!({}), vec!["/a/b"]),
        (json!({"a": {}, "l": []}), json!({}), vec![]),
        (json!({"a": [1, 2]}), json!({"a": [2, 1]}), vec!["/a/0", "/a/1"]),
        (
            json!({"a": [{"k": 1}]}),
            json!({"a": [{"k": 1, "defaulted": true}]}),
            vec![],
        ),
        (json!({"a": [1]}), json!({"a": [1, 2]}), vec!["/a"]),
        (
            json!({"a/b": {"~": 1}}),
            json!({"a/b": {"~": 2}}),
            vec!["/a~1b/~0"],
        ),
    ];
    for (desired, fact, expected) in cases {
        assert_eq!(
            paths(&none, &[], &desired, &fact),
            expected,
            "{desired} against {fact}"
        );
    }
}

#[test]
fn list_and_map_types_are_minded() {
    let schema = json!({"properties": {
        "set": {"x-kubernetes-list-type": "set"},
        "map": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
        "tags": {"x-kubernetes-map-type": "atomic"},
    }});
    let cases = [
        (json!({"set": [1, 2]}), json!({"set": [2, 1]}), vec![]),
        (json!({"set": [1, 2]}), json!({"set": [2, 3]}), vec!["/set"]),
        (
            json!({"map": [{"k": "a", "v": 1}, {"k": "b"}]}),
            json!({"map": [{"k": "b"}, {"k": "a", "v": 2}]}),
            vec!["/map/0/v"],
        ),
        (
            json!({"tags": {"a": "1"}}),
            json!({"tags": {"a": "1", "b": "2"}}),
            vec!["/tags"],
        ),
        (json!({"tags": {}}), json!({"tags": {"a": "1"}}), vec!["/tags"]),
    ];
    for (desired, fact, expected) in cases {
        assert_eq!(
            paths(&schema, &[], &desired, &fact),
            expected,
            "{desired} against {fact}"
        );
    }
}

#[test]
fn field_rules_say_how_and_what_it_means() {
    let rules = [
        FieldRule {
            comparison: Comparison::CaseInsensitive,
            ..rule("/case")
        },
        FieldRule {
            comparison: Comparison::JsonText,
            ..rule("/policy")
        },
        FieldRule {
            comparison: Comparison::Quantity,
            ..rule("/size")
        },
        FieldRule {
            comparison: Comparison::WriteOnly,
            ..rule("/secretish")
        },
        FieldRule {
            mutability: Mutability::Immutable,
            ..rule("/region")
        },
        FieldRule {
            mutability: Mutability::SetOnce,
            ..rule("/once")
        },
        FieldRule {
            mutability: Mutability::Immutable,
            ..rule("/disks/*/id")
        },
    ];
    let cases = [
        (json!({"case": "ABC"}), json!({"case": "abc"}), vec![]),
        (
            json!({"policy": "{\"a\": 1}"}),
            json!({"policy": "{ \"a\":1 }"}),
            vec![],
        ),
        (
            json!({"policy": "{\"a\": 1}"}),
            json!({"policy": "{\"a\":2}"}),
            vec!["/policy"],
        ),
        (json!({"size": "1Gi"}), json!({"size": "1024Mi"}), vec![]),
        (json!({"size": "1.5"}), json!({"size": "1500m"}), vec![]),
        (json!({"size": "1G"}), json!({"size": "1Gi"}), vec!["/size"]),
        (json!({"secretish": "x"}), json!({}), vec![]),
        (json!({"region": "a"}), json!({"region": "b"}), vec!["!/region"]),
        (json!({"once": "a"}), json!({}), vec!["/once"]),
        (json!({"once": "a"}), json!({"once": "b"}), vec!["!/once"]),
        (
            json!({"disks": [{"id": 1}]}),
            json!({"disks": [{"id": 2}]}),
            vec!["!/disks/0/id"],
        ),
    ];
    for (desired, fact, expected) in cases {
        assert_eq!(
            paths(&json!({}), &rules, &desired, &fact),
            expected,
            "{desired} against {fact}"
        );
    }
}

#[test]
fn in_plugin_diff_mode_the_plugins_verdict_counts() {
    let observation = |up_to_date, diffs: &[FieldDiff]| {
        of_the_plugin(up_to_date, diffs)
            .into_iter()
            .map(|diff| (diff.path, diff.needs_replacement))
            .collect::<Vec<_>>()
    };
    let region = FieldDiff {
        path: "/region".to_owned(),
        desired: Some(json!("b")),
        observed: Some(json!("a")),
        needs_replacement: true,
    };
    let reported = std::slice::from_ref(&region);
    assert_eq!(observation(Some(true), &[]), []);
    assert_eq!(observation(Some(true), reported), [], "what it would not change");
    assert_eq!(
        observation(Some(false), &[]),
        [(String::new(), false)],
        "it does not say what"
    );
    assert_eq!(observation(Some(false), reported), [("/region".to_owned(), true)]);
}

#[test]
fn fields_kept_as_observed_ask_for_nothing() {
    let replaced = |path: &str, observed: Value| FieldDiff {
        path: path.to_owned(),
        desired: Some(json!("new")),
        observed: Some(observed),
        needs_replacement: true,
    };
    let absent = FieldDiff {
        observed: None,
        ..replaced("/disk/i~1d", json!(null))
    };
    let diffs = [
        replaced("/region", json!("old")),
        absent,
        replaced("/zones/1", json!("b")),
        replaced("/not/there", json!(1)),
    ];
    let desired =
        json!({"size": 2, "region": "new", "disk": {"i/d": "new", "kind": "k"}, "zones": ["a", "new"]});
    let mut desired = desired.as_object().cloned().unwrap();
    keep_observed(&mut desired, diffs.iter(), &Document::new());
    assert_eq!(
        Value::Object(desired),
        json!({"size": 2, "region": "old", "disk": {"kind": "k"}, "zones": ["a", "b"]})
    );
}
