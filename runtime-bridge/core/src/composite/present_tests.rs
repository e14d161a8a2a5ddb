use proptest::prelude::*;
use serde_json::json;

use super::{super::sample, *};

fn printed(desired: &Value, observed: &Value) -> Vec<String> {
    differences(desired, observed)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn fields_that_nobody_desires_do_not_count() {
    let desired = json!({"spec": {"a": 1}});
    let observed = json!({"spec": {"a": 1, "b": 2}, "status": {}});
    assert_eq!(printed(&desired, &observed), [""; 0]);
}

#[test]
fn each_differing_leaf_is_named_with_what_exists() {
    let desired = json!({"spec": {"a": 1, "b": {"c/d": "x"}, "e": true, "g": {"h": 0}}});
    let observed = json!({"spec": {"a": 2, "b": {"c/d": "y"}, "g": []}});
    let expected = [
        "/spec/a is 2",
        "/spec/b/c~1d is \"y\"",
        "/spec/e is absent",
        "/spec/g is []",
    ];
    assert_eq!(printed(&desired, &observed), expected);
}

#[test]
fn null_is_as_good_as_absent() {
    let desired = json!({"metadata": {"creationTimestamp": null}, "spec": {"a": null}});
    assert_eq!(printed(&desired, &json!({"spec": {"a": null}})), [""; 0]);
    assert_eq!(printed(&desired, &json!({"spec": {"a": 1}})), ["/spec/a is 1"]);
}

#[test]
fn empty_maps_and_lists_desire_nothing() {
    let desired = json!({"spec": {"selector": {"matchLabels": {}}, "list": []}});
    assert_eq!(printed(&desired, &json!({})), [""; 0]);
    assert_eq!(printed(&desired, &json!({"spec": {"list": [1]}})), [""; 0]);
    assert_eq!(printed(&json!({"a": {}}), &json!({"a": 1})), ["/a is 1"]);
}

#[test]
fn an_empty_text_is_a_leaf() {
    let desired = json!({"metadata": {"labels": {"a": ""}}});
    assert_eq!(
        printed(&desired, &json!({"metadata": {"labels": {"a": ""}}})),
        [""; 0]
    );
    assert_eq!(printed(&desired, &json!({})), ["/metadata/labels/a is absent"]);
}

#[test]
fn numbers_are_equal_by_value_and_quantities_are_texts() {
    assert_eq!(printed(&json!({"a": 1}), &json!({"a": 1.0})), [""; 0]);
    assert_eq!(
        printed(&json!({"a": "1000m"}), &json!({"a": "1"})),
        ["/a is \"1\""]
    );
    assert_eq!(printed(&json!({"a": "1"}), &json!({"a": 1})), ["/a is 1"]);
}

#[test]
fn lists_hold_what_is_desired_in_its_order() {
    let observed = json!({"l": [1, 2, 3]});
    assert_eq!(printed(&json!({"l": [1, 3]}), &observed), [""; 0]);
    assert_eq!(printed(&json!({"l": [3, 1]}), &observed), ["/l is [1,2,3]"]);
    assert_eq!(printed(&json!({"l": [1, 1]}), &observed), ["/l is [1,2,3]"]);
    assert_eq!(printed(&json!({"l": [1]}), &json!({})), ["/l is absent"]);
}

#[test]
fn lists_of_maps_match_by_their_desired_fields() {
    let desired = json!({"c": [{"name": "a"}, {"name": "b", "image": "x"}]});
    let more = json!({"c": [
        {"name": "sidecar"}, {"name": "a", "pull": true}, {"name": "b", "image": "x", "pull": true},
    ]});
    assert_eq!(printed(&desired, &more), [""; 0]);
    let other = json!({"c": [{"name": "a"}, {"name": "b", "image": "y"}]});
    assert_eq!(printed(&desired, &other), ["/c/1/image is \"y\""]);
}

#[test]
fn the_status_of_a_composed_resource_does_not_count() {
    assert_eq!(printed(&json!({"status": {"a": 1}}), &json!({})), [""; 0]);
}

#[test]
fn nothing_of_a_secrets_content_is_kept() {
    let desired = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"a": "eA=="}, "stringData": {"b": "y"},
    });
    let canary = BASE64_STANDARD.encode("canary");
    let observed = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Other", "data": {"a": canary, "b": canary},
    });
    let found = differences(&desired, &observed);
    let texts = [
        "/data/a is [redacted]",
        "/data/b is [redacted]",
        "/type is \"Other\"",
    ];
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), texts);
    assert!(!format!("{found:?}").contains(&canary));
    let mut changed = observed.clone();
    changed["data"]["a"] = BASE64_STANDARD.encode("other").into();
    assert_ne!(differences(&desired, &changed), found);
}

#[test]
fn string_data_is_present_in_data() {
    let desired =
        json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "eA=="}, "stringData": {"a": "y"}});
    let observed = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "eQ=="}});
    assert_eq!(printed(&desired, &observed), [""; 0]);
}

#[test]
fn long_values_are_cut_where_they_are_printed() {
    let text = printed(&json!({"a": 1}), &json!({"a": "ä".repeat(200)})).remove(0);
    assert_eq!(text.chars().count(), "/a is ".len() + PRINTED + 1);
}

#[test]
fn deeply_nested_lists_are_compared_in_time() {
    let nested = |leaf: i32| (0..90).fold(json!(leaf), |inner, _| json!([inner]));
    let found = differences(&json!({"a": nested(1)}), &json!({"a": nested(2)}));
    assert_eq!(found[0].path, format!("/a{}", "/0".repeat(90)));
}

/// What an API server may make of an object: other fields beside, nulls dropped.
fn stored(desired: &Value, extra: &Value) -> Value {
    match desired {
        Value::Object(object) => {
            let kept = object.iter().filter(|(_, value)| !value.is_null());
            let mut object: Map<_, _> = kept
                .map(|(key, value)| (key.clone(), stored(value, extra)))
                .collect();
            object.insert("zz".to_owned(), extra.clone());
            object.into()
        }
        Value::Array(elements) => elements.iter().map(|element| stored(element, extra)).collect(),
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn what_is_desired_is_present_in_itself(desired in sample::object()) {
        prop_assert_eq!(differences(&desired, &desired), []);
    }

    #[test]
    fn what_is_desired_is_present_in_what_is_stored(desired in sample::object(), extra in sample::json()) {
        prop_assert_eq!(differences(&desired, &stored(&desired, &extra)), []);
    }

    #[test]
    fn differences_agree_with_presence(desired in sample::object(), observed in sample::object()) {
        prop_assert_eq!(differences(&desired, &observed).is_empty(), is_present(&desired, &observed));
    }

    #[test]
    fn differences_do_not_depend_on_order(desired in sample::object(), observed in sample::object()) {
        let reversed = differences(&sample::reversed(&desired), &sample::reversed(&observed));
        prop_assert_eq!(differences(&desired, &observed), reversed);
    }
}
