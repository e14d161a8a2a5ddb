use proptest::prelude::*;
use serde_json::json;

use super::{super::sample, *};

#[test]
fn a_mark_is_written_and_read() {
    let digest = BodyDigest::of(&json!({"b": 1, "a": "x"}));
    // `printf '{"a":"x","b":1}' | sha256sum`
    assert_eq!(
        digest.0,
        "v1:cdab067e9f3beb32d1252cfd63e492592fecbf591b0d08cadb24bb17f3864246"
    );
    for (written, word) in [(Written::Created, "created"), (Written::Applied, "applied")] {
        let mark = AppliedMark {
            written,
            digest: digest.clone(),
        };
        assert_eq!(mark.to_string(), format!("{word}/{}", digest.0));
        assert_eq!(AppliedMark::parse(&mark.to_string()), Some(mark));
    }
}

#[test]
fn an_unknown_mark_counts_as_none() {
    for text in ["", "created", "v1:00", "Created/v1:00", "/", "deleted/v1:00"] {
        assert_eq!(AppliedMark::parse(text), None, "{text}");
    }
}

#[test]
fn a_digest_of_another_form_differs() {
    let body = json!({});
    let mark = AppliedMark {
        written: Written::Applied,
        digest: BodyDigest::of(&body),
    };
    let other = AppliedMark::parse(&mark.to_string().replace("v1:", "v2:")).unwrap();
    assert_ne!(other.digest, mark.digest);
}

#[test]
fn numbers_count_by_their_value() {
    let same = |a: &Value, b: &Value| BodyDigest::of(a) == BodyDigest::of(b);
    assert!(same(&json!(1.0), &json!(1)));
    assert!(same(&json!(-0.0), &json!(0)));
    assert!(same(
        &json!(9_007_199_254_740_992.0),
        &json!(9_007_199_254_740_992_u64)
    ));
    assert!(same(&json!(u64::MAX), &json!(u64::MAX)));
    assert!(!same(&json!(1.5), &json!(1)));
    assert!(!same(&json!(1), &json!("1")));
    assert!(!same(
        &json!(9_007_199_254_740_993_u64),
        &json!(9_007_199_254_740_992.0)
    ));
    assert!(!same(&json!(1e300), &json!(1e301)));
}

#[test]
fn nulls_and_order_of_lists_count() {
    let differ = |a: &Value, b: &Value| BodyDigest::of(a) != BodyDigest::of(b);
    assert!(differ(&json!({"a": null}), &json!({})));
    assert!(differ(&json!([1, 2]), &json!([2, 1])));
    assert!(differ(&json!({"a": ["b"]}), &json!({"a": "b"})));
}

#[test]
fn content_is_what_is_left_without_the_servers_bookkeeping() {
    let seen = json!({
        "kind": "ConfigMap", "data": {"a": "b"},
        "metadata": {
            "name": "n", "resourceVersion": "7", "managedFields": [{"manager": "x"}],
            "annotations": {"crossbridge.dev/applied": "created/v1:00"},
        },
    });
    let digest = ContentDigest::of_object(&seen);
    let plain = json!({"kind": "ConfigMap", "data": {"a": "b"}, "metadata": {"name": "n"}});
    assert_eq!(digest, ContentDigest::of_object(&plain));
    let with = |pointer: &str, value: Value| {
        let mut other = seen.clone();
        *other.pointer_mut(pointer).unwrap() = value;
        ContentDigest::of_object(&other)
    };
    assert_eq!(digest, with("/metadata/resourceVersion", json!("8")));
    assert_ne!(digest, with("/metadata/name", json!("m")));
    assert_ne!(digest, with("/metadata/annotations", json!({"a": "b"})));
    assert_ne!(digest, with("/data/a", json!("c")));
}

#[test]
fn functions_see_neither_managed_fields_nor_our_annotations() {
    let object = json!({"metadata": {
        "name": "n", "resourceVersion": "7", "managedFields": [],
        "annotations": {"crossbridge.dev/requires": "[]", "a": "b"},
    }});
    let shown = json!({"metadata": {"name": "n", "resourceVersion": "7", "annotations": {"a": "b"}}});
    assert_eq!(for_functions(object), shown);
    assert_eq!(
        for_functions(json!({"metadata": "text"})),
        json!({"metadata": "text"})
    );
}

#[test]
fn a_digest_of_secret_content_does_not_print() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "Y2FuYXJ5"}});
    let digest = ContentDigest::of_object(&secret);
    let value = ContentDigest::of_value(&json!(1));
    assert_eq!(format!("{digest:?}"), "[redacted]");
    assert_eq!(
        format!("{:?}", ContentDigest::of_all([value, digest])),
        "[redacted]"
    );
    assert_eq!(
        format!("{:?}", ContentDigest::of_secret(&SecretData::default())),
        "[redacted]"
    );
    assert_eq!(format!("{value:?}").len(), 16);
}

#[test]
fn order_and_number_of_parts_count() {
    let [a, b] = [1, 2].map(|n| ContentDigest::of_value(&json!(n)));
    assert_ne!(ContentDigest::of_all([a, b]), ContentDigest::of_all([b, a]));
    assert_ne!(ContentDigest::of_all([a]), a);
}

proptest! {
    #[test]
    fn a_digest_does_not_depend_on_the_order_of_keys(value in sample::json()) {
        prop_assert_eq!(BodyDigest::of(&value), BodyDigest::of(&sample::reversed(&value)));
    }

    #[test]
    fn a_digest_survives_being_written_and_read(value in sample::json()) {
        let read: Value = serde_json::from_str(&value.to_string()).unwrap();
        prop_assert_eq!(BodyDigest::of(&value), BodyDigest::of(&read));
    }

    #[test]
    fn a_change_of_a_leaf_changes_the_digest(value in sample::object(), leaf in any::<u32>()) {
        let mut other = value.clone();
        other["changed"] = leaf.into();
        prop_assert_ne!(BodyDigest::of(&value), BodyDigest::of(&other));
    }
}
