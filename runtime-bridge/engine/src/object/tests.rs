use bridge_core::kind::ResourceType;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::*;

fn api() -> Arc<ApiType> {
    let resource_type = ResourceType {
        group: "s3.example".into(),
        version: "v1".into(),
        kind: "Bucket".into(),
    };
    Arc::new(ApiType::new(&resource_type, "buckets", true))
}

fn whole() -> Value {
    json!({
        "apiVersion": "s3.example/v1",
        "kind": "Bucket",
        "metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "12", "generation": 3},
        "extra": {"kept": true},
        "spec": {"large": 9_007_199_254_740_993_i64},
        "status": {"x": [1.0, null]},
    })
}

#[test]
fn nothing_but_managed_fields_is_lost_on_the_way() {
    let mut with_managed_fields = whole();
    with_managed_fields["metadata"]["managedFields"] = json!([{"manager": "kubectl"}]);
    let object = Object::decode(&api(), &with_managed_fields.to_string()).unwrap();
    assert_eq!(serde_json::to_value(&object).unwrap(), whole());
    let mut without_status = whole();
    without_status.as_object_mut().unwrap().remove("status");
    assert_eq!(
        serde_json::to_value(object.without_status()).unwrap(),
        without_status
    );
}

/// A field that Kubernetes' own type has, and ours had not, would be lost with the next write.
#[test]
fn metadata_has_each_field_of_kubernetes() {
    let mut all = whole();
    all["metadata"] = json!({
        "annotations": {"b": "2", "a": "1", "c": ""},
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 30,
        "deletionTimestamp": "2026-01-02T00:00:00Z",
        "finalizers": ["first", "second"],
        "generateName": "a-",
        "generation": 3,
        "labels": {"y": "1", "x": "2"},
        "managedFields": [{"manager": "kubectl"}],
        "name": "a",
        "namespace": "ns",
        "ownerReferences": [{
            "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": true, "blockOwnerDeletion": false,
        }],
        "resourceVersion": "12",
        "selfLink": "/a",
        "uid": "u",
    });
    let kubernetes: ObjectMeta = serde_json::from_value(all["metadata"].clone()).unwrap();
    let ObjectMeta {
        annotations: Some(_),
        creation_timestamp: Some(_),
        deletion_grace_period_seconds: Some(_),
        deletion_timestamp: Some(_),
        finalizers: Some(_),
        generate_name: Some(_),
        generation: Some(_),
        labels: Some(_),
        managed_fields: Some(_),
        name: Some(_),
        namespace: Some(_),
        owner_references: Some(_),
        resource_version: Some(_),
        self_link: Some(_),
        uid: Some(_),
    } = kubernetes
    else {
        panic!("not every field: {kubernetes:?}");
    };
    let object = Object::decode(&api(), &all.to_string()).unwrap();
    all["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(object.to_value(), all);
    assert_eq!(
        (object.label("x"), object.annotation("b")),
        (Some("2"), Some("2"))
    );
    assert_eq!((object.label("z"), object.annotation("c")), (None, Some("")));
}

#[test]
fn empty_fields_of_metadata_stay_and_absent_ones_are_not_written() {
    let mut given = whole();
    let fields = given["metadata"].as_object_mut().unwrap();
    let empty =
        json!({"annotations": {}, "labels": {}, "finalizers": [], "ownerReferences": [], "generateName": ""});
    fields.extend(empty.as_object().unwrap().clone());
    let written = given.clone();
    given["metadata"]["creationTimestamp"] = Value::Null;
    given["metadata"]["deletionTimestamp"] = Value::Null;
    given["metadata"]["of a later version"] = json!([1]);
    assert_eq!(
        Object::decode(&api(), &given.to_string()).unwrap().to_value(),
        written
    );
}

#[test]
fn changes_are_written() {
    let mut object = Object::decode(&api(), &whole().to_string()).unwrap();
    object.set_spec(&json!({"size": 1}));
    object.set_status(&Value::Null);
    let written = serde_json::to_value(&object).unwrap();
    assert_eq!(
        (&written["spec"], written.get("status")),
        (&json!({"size": 1}), None)
    );
    assert_eq!(object.status_value(), Value::Null);
}

#[test]
fn invalid_objects_are_rejected() {
    let cases = [
        ("[]", "cannot read the object"),
        ("{}", "the object has no metadata"),
        (
            r#"{"metadata": {"uid": "u", "resourceVersion": "1"}}"#,
            "the object has no metadata.name",
        ),
        (
            r#"{"metadata": {"name": "a", "resourceVersion": "1"}}"#,
            "the object has no metadata.uid",
        ),
        (
            r#"{"metadata": {"name": "a", "uid": "u", "resourceVersion": "x"}}"#,
            "numeric metadata.resourceVersion",
        ),
        (
            r#"{"metadata": {"name": "a", "labels": 1}}"#,
            "cannot read the object",
        ),
    ];
    for (json, expected) in cases {
        let error = Object::decode(&api(), json).unwrap_err().to_string();
        assert!(error.contains(expected), "{json}: {error}");
    }
}

#[test]
fn paths_lead_where_they_should() {
    let api = api();
    let key = |namespace: Option<&str>, name: &str| Key::new(api.kind.clone(), namespace, name);
    let path = api.object_path(&key(Some("ns"), "a.b-c")).unwrap();
    assert_eq!(path, "/apis/s3.example/v1/namespaces/ns/buckets/a.b-c");
    assert_eq!(
        api.object_path(&key(None, "system:x")).unwrap(),
        "/apis/s3.example/v1/buckets/system:x"
    );
    let secrets = ApiType::secrets();
    assert_eq!(
        secrets.object_path(&Key::secret("ns", "s")).unwrap(),
        "/api/v1/namespaces/ns/secrets/s"
    );
    for bad in ["", ".", "..", "a/b", "../b", "a?b", "a#b", "a%2fb", "a b", "ä"] {
        assert!(api.object_path(&key(Some("ns"), bad)).is_err(), "{bad}");
        assert!(api.object_path(&key(Some(bad), "a")).is_err(), "{bad}");
    }
}

#[test]
fn a_debug_print_shows_no_content() {
    let mut secretive = whole();
    secretive["spec"] = json!({"password": "canary"});
    let object = Object::decode(&api(), &secretive.to_string()).unwrap();
    assert_eq!(format!("{object:?}"), "Bucket.s3.example ns/a uid u version 12");
}

#[test]
fn of_a_secret_only_its_identity_is_kept() {
    let kept = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": "keys", "namespace": "ns", "uid": "u", "resourceVersion": "7",
            "finalizers": ["f"], "deletionTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": true}],
            "labels": {"team": "a"},
        },
    });
    let mut all = kept.clone();
    all["metadata"]["annotations"] = json!({"copy": "canary"});
    all["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    all["data"] = json!({"password": "Y2FuYXJ5"});
    all["type"] = json!("Opaque");
    let secret = Object::decode(&Arc::new(ApiType::secrets()), &all.to_string()).unwrap();
    assert_eq!(serde_json::to_value(secret.identity()).unwrap(), kept);
}

#[test]
fn a_pod_in_its_grace_and_a_namespace_are_not_gone() {
    let deleting = |kind: &str, grace: i64| {
        let api = ApiType {
            kind: bridge_core::watch_plan::GroupKind::new("", kind),
            version: "v1".to_owned(),
            plural: "x".to_owned(),
            namespaced: false,
        };
        let json = json!({"metadata": {
            "name": "a", "uid": "u", "resourceVersion": "7", "deletionTimestamp": "2026-01-01T00:00:00Z",
            "deletionGracePeriodSeconds": grace,
        }});
        Object::decode(&Arc::new(api), &json.to_string()).unwrap()
    };
    assert!(!deleting("Pod", 30).is_finally_deleted());
    assert!(deleting("Pod", 0).is_finally_deleted());
    assert!(!deleting("Namespace", 0).is_finally_deleted());
}

#[test]
fn an_object_is_readable_if_all_its_parts_are() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let with = |part: &str| {
        let text = format!(r#"{{"metadata": {{"name": "a", "uid": "u", "resourceVersion": "1"}}, {part}}}"#);
        Object::decode(&api(), &text).unwrap()
    };
    assert!(with(r#""spec": {"a": 1}"#).is_readable());
    for part in ["spec", "status", "extra"] {
        let object = with(&format!(r#""{part}": {{"a": {deep}}}"#));
        assert!(!object.is_readable() && object.to_value().is_null(), "{part}");
        for inner in ["[1]", "no JSON"] {
            let reserved = r#""$serde_json::private::RawValue""#;
            let object = with(&format!(r#""{part}": {{"a": {{{reserved}: "{inner}"}}}}"#));
            assert!(!object.is_readable(), "{part}");
            assert_eq!(object.has_readable_spec(), part != "spec");
            assert_eq!(object.has_readable_status(), part != "status");
        }
    }
}

#[test]
fn managed_fields_are_skipped_at_any_depth() {
    let deep = format!("{}{{}}{}", r#"{"f:a":"#.repeat(200), "}".repeat(200));
    let unescaped = format!(r#""managedFields": [{{"manager": "m", "fieldsV1": {deep}}}]"#);
    let escaped = unescaped.replace("managedFields", r"managed\u0046ields");
    for managed in [unescaped, escaped, r#""managedFields": null"#.to_owned()] {
        for metadata in [
            format!(
                r#"{{{managed}, "name": "a", "uid": "u", "resourceVersion": "1", "labels": {{"managedFields": "x"}}}}"#
            ),
            format!(
                r#"{{"name": "a", "uid": "u", "resourceVersion": "1", "labels": {{"managedFields": "x"}}, {managed}}}"#
            ),
        ] {
            let object =
                Object::decode(&api(), &format!(r#"{{"metadata": {metadata}, "spec": {{}}}}"#)).unwrap();
            assert!(!object.to_value().to_string().contains("fieldsV1"));
            assert_eq!((object.name(), object.label("managedFields")), ("a", Some("x")));
            assert!(object.is_readable());
        }
    }
}

#[test]
fn a_digest_is_kept_until_the_spec_changes() {
    let object = Object::decode(&api(), &whole().to_string()).unwrap();
    let mut copy = object.clone();
    assert_eq!(object.spec_digest(|| "first".to_owned()), "first");
    copy.set_status(&json!({"changed": true}));
    assert_eq!(copy.spec_digest(|| "second".to_owned()), "first");
    copy.set_spec(&json!({"changed": true}));
    assert_eq!(copy.spec_digest(|| "third".to_owned()), "third");
    assert_eq!(object.spec_digest(|| "fourth".to_owned()), "first");
}
