use serde_json::json;

use crate::function::Resource;

use super::*;

#[path = "desired_properties.rs"]
mod properties;

const UID: &str = "f1c07e8e-8b17-4a3a-9a4e-0d1c2b3a4f5e";

fn context() -> DesiredContext {
    let config_map = GroupKind::new("", "ConfigMap");
    let role = GroupKind::new("rbac.authorization.k8s.io", "ClusterRole");
    DesiredContext {
        composite: CompositeIdentity {
            api_version: "example.org/v1".to_owned(),
            kind: "Site".to_owned(),
            name: "shop".to_owned(),
            namespace: Some("team".to_owned()),
            uid: UID.to_owned(),
            root: "shop".to_owned(),
            claim: None,
        },
        observed: BTreeMap::new(),
        scopes: [(config_map, Scope::Namespaced), (role, Scope::Cluster)].into(),
    }
}

fn cluster_scoped() -> DesiredContext {
    let mut context = context();
    context.composite.namespace = None;
    context
}

fn desired<const N: usize>(objects: [(&str, Value); N]) -> DesiredState {
    let resources = objects.map(|(name, object)| (name.to_owned(), Resource::of(object)));
    DesiredState {
        composite: None,
        resources: resources.into(),
    }
}

fn config_map(metadata: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

fn cluster_role(metadata: &Value) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata})
}

fn composed(object: Value, context: &DesiredContext) -> ComposedResource {
    desired_resources(&desired([("rn", object)]), context)
        .resources
        .remove("rn")
        .unwrap()
        .unwrap()
}

fn metadata(object: Value, context: &DesiredContext) -> Value {
    composed(object, context).body["metadata"].clone()
}

fn error(object: Value, context: &DesiredContext) -> String {
    let mut result = desired_resources(&desired([("rn", object)]), context);
    result.resources.remove("rn").unwrap().unwrap_err().to_string()
}

fn owner() -> Value {
    json!({
        "apiVersion": "example.org/v1", "kind": "Site", "name": "shop", "uid": UID,
        "controller": true, "blockOwnerDeletion": true,
    })
}

#[test]
fn an_unnamed_object_gets_all_its_metadata() {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}, "status": {"c": 1}});
    // `printf '%srn' UID | sha256sum`
    let name = "shop-91a18eae6688";
    let body = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "generateName": "shop-",
            "namespace": "team",
            "labels": {"crossplane.io/composite": "shop"},
            "annotations": {"crossplane.io/composition-resource-name": "rn"},
            "ownerReferences": [owner()],
        },
        "data": {"a": "b"},
        "status": {"c": 1},
    });
    let expected = ComposedResource {
        resource_name: "rn".to_owned(),
        id: ObjectId {
            group: String::new(),
            kind: "ConfigMap".to_owned(),
            namespace: Some("team".to_owned()),
            name: name.to_owned(),
        },
        api_version: "v1".to_owned(),
        body,
    };
    assert_eq!(composed(object, &context()), expected);
}

#[test]
fn a_given_name_needs_no_generate_name() {
    let metadata = metadata(config_map(&json!({"name": "mine"})), &context());
    assert_eq!(metadata["name"], "mine");
    assert!(metadata.get("generateName").is_none());
}

#[test]
fn a_given_generate_name_is_the_prefix() {
    let metadata = metadata(config_map(&json!({"generateName": "pre-"})), &context());
    assert_eq!(metadata["generateName"], "pre-");
    assert_eq!(metadata["name"], child_name("pre-", UID, "rn"));
}

#[test]
fn grandchildren_are_named_after_the_root() {
    let mut context = context();
    context.composite.root = "root".to_owned();
    let metadata = metadata(config_map(&json!({})), &context);
    assert_eq!(metadata["generateName"], "root-");
    assert_eq!(metadata["labels"]["crossplane.io/composite"], "root");
}

#[test]
fn claim_labels_are_set_together() {
    let mut context = context();
    context.composite.claim = Some(("c".to_owned(), "ns".to_owned()));
    let labels = json!({
        "crossplane.io/composite": "shop", "crossplane.io/claim-name": "c", "crossplane.io/claim-namespace": "ns",
        "a": "",
    });
    assert_eq!(
        metadata(config_map(&json!({"labels": {"a": ""}})), &context)["labels"],
        labels
    );
}

#[test]
fn what_the_server_decides_and_our_annotations_are_taken_away() {
    let given = json!({
        "name": "n", "resourceVersion": "1", "uid": "u", "managedFields": [], "creationTimestamp": null, "generation": 2,
        "annotations": {"crossbridge.dev/applied": "x", "a": "b"}, "finalizers": ["f"],
    });
    let expected = json!({
        "name": "n", "namespace": "team", "finalizers": ["f"],
        "labels": {"crossplane.io/composite": "shop"},
        "annotations": {"a": "b", "crossplane.io/composition-resource-name": "rn"},
        "ownerReferences": [owner()],
    });
    assert_eq!(metadata(config_map(&given), &context()), expected);
}

mod observed {
    use super::*;

    fn observing(kind: &GroupKind, namespace: Option<&str>, generate_name: Option<&str>) -> DesiredContext {
        let name = ObservedName {
            namespace: namespace.map(str::to_owned),
            name: "old".to_owned(),
            generate_name: generate_name.map(str::to_owned),
        };
        let key = ("rn".to_owned(), kind.clone());
        DesiredContext {
            observed: [(key, name)].into(),
            ..cluster_scoped()
        }
    }

    #[test]
    fn name_namespace_and_generate_name_stay() {
        let given = config_map(&json!({"name": "new", "namespace": "new", "generateName": "new-"}));
        let kind = GroupKind::new("", "ConfigMap");
        let kept = metadata(given.clone(), &observing(&kind, Some("ns"), Some("g-")));
        assert_eq!(
            (&kept["name"], &kept["namespace"], &kept["generateName"]),
            (&json!("old"), &json!("ns"), &json!("g-"))
        );
        let kept = metadata(given, &observing(&kind, Some("ns"), None));
        assert!(kept.get("generateName").is_none());
    }

    #[test]
    fn another_kind_inherits_the_name_alone() {
        let context = observing(&GroupKind::new("example.org", "Bucket"), Some("ns"), Some("g-"));
        let given = config_map(&json!({"name": "new", "namespace": "new"}));
        let inherited = metadata(given, &context);
        let expected = (&json!("old"), &json!("new"), &json!("g-"));
        assert_eq!(
            (
                &inherited["name"],
                &inherited["namespace"],
                &inherited["generateName"]
            ),
            expected
        );
    }

    #[test]
    fn another_resource_name_inherits_nothing() {
        let mut context = observing(&GroupKind::new("", "ConfigMap"), Some("ns"), None);
        let (_, name) = context.observed.pop_first().unwrap();
        for other in ["rm", "rn2", "ro"] {
            context
                .observed
                .insert((other.to_owned(), GroupKind::new("", "ConfigMap")), name.clone());
        }
        let given = config_map(&json!({"name": "new", "namespace": "new"}));
        assert_eq!(composed(given, &context).id.to_string(), r#"ConfigMap "new/new""#);
    }

    #[test]
    fn a_move_to_another_namespace_warns_of_nothing() {
        let mut context = observing(&GroupKind::new("", "ConfigMap"), Some("team"), None);
        context.composite.namespace = Some("team".to_owned());
        let given = config_map(&json!({"namespace": "other"}));
        assert_eq!(
            desired_resources(&desired([("rn", given)]), &context).warnings,
            []
        );
    }
}

mod home {
    use super::*;

    #[test]
    fn a_namespaced_composite_composes_nothing_cluster_scoped() {
        for metadata in [json!({"name": "r"}), json!({"name": "r", "namespace": "team"})] {
            assert_eq!(
                error(cluster_role(&metadata), &context()),
                r#"cannot apply cluster scoped composed resource "rn" (a ClusterRole named r) for a namespaced composite resource."#
            );
        }
    }

    #[test]
    fn another_namespace_gives_way_and_is_reported() {
        for (namespace, kind) in [("other", "ConfigMap"), ("other", "NotServed")] {
            let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": namespace}});
            let result = desired_resources(&desired([("rn", object)]), &context());
            let composed = result.resources["rn"].as_ref().unwrap();
            assert_eq!(composed.id.namespace.as_deref(), Some("team"));
            assert_eq!(composed.body["metadata"]["namespace"], "team");
            let warnings: Vec<String> = result.warnings.iter().map(ToString::to_string).collect();
            assert_eq!(
                warnings,
                [
                    r#"cannot create composed resource "rn" in namespace "other", using XR namespace "team" instead"#
                ]
            );
        }
        let result = desired_resources(
            &desired([("rn", config_map(&json!({"namespace": "team"})))]),
            &context(),
        );
        assert_eq!(result.warnings, []);
    }

    #[test]
    fn a_cluster_scoped_composite_composes_where_functions_say() {
        let id = |object: Value| composed(object, &cluster_scoped()).id;
        let in_namespace = id(config_map(&json!({"namespace": "a"})));
        assert_eq!(in_namespace.namespace.as_deref(), Some("a"));
        let role = composed(
            cluster_role(&json!({"name": "x:y", "namespace": "a"})),
            &cluster_scoped(),
        );
        assert_eq!(
            role.id.to_string(),
            r#"ClusterRole.rbac.authorization.k8s.io "x:y""#
        );
        assert!(role.body["metadata"].get("namespace").is_none());
        let unknown = id(json!({"apiVersion": "x/v1", "kind": "Unknown", "metadata": {"namespace": "a"}}));
        assert_eq!(unknown.namespace.as_deref(), Some("a"));
    }

    #[test]
    fn a_namespaced_object_needs_a_namespace() {
        assert_eq!(
            error(config_map(&json!({"name": "m"})), &cluster_scoped()),
            r#"cannot apply composed resource "rn" (a ConfigMap named m) without a namespace: the function that desires it must set metadata.namespace, as the composite resource has none"#
        );
    }
}

mod owners {
    use super::*;

    #[test]
    fn other_owners_stay_beside_the_composite() {
        let other = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"});
        let given = config_map(&json!({"ownerReferences": [other]}));
        assert_eq!(
            metadata(given, &context())["ownerReferences"],
            json!([other, owner()])
        );
    }

    #[test]
    fn the_composites_own_reference_is_completed_in_its_place() {
        let other = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "controller": false});
        let given = config_map(&json!({"ownerReferences": [{"uid": UID, "controller": true}, other]}));
        assert_eq!(
            metadata(given, &context())["ownerReferences"],
            json!([owner(), other])
        );
    }

    #[test]
    fn another_controller_is_an_error() {
        let other =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1", "controller": true});
        let given = |name: &str| config_map(&json!({"name": name, "ownerReferences": [other.clone()]}));
        let text = "is already controlled by ConfigMap o (UID 1)";
        assert_eq!(
            error(given("n"), &context()),
            format!(r#"cannot apply composed resource "rn": cannot set controller reference: n {text}"#)
        );
        assert_eq!(
            error(given(""), &context()),
            format!(r#"cannot apply composed resource "rn": cannot set controller reference: it {text}"#)
        );
    }
}

mod bad_input {
    use super::*;

    #[test]
    fn an_invalid_name_is_named() {
        let text = |name: &str| {
            format!(
                r#"cannot apply composed resource "rn" because it has an invalid name "{name}". Must be a valid RFC 1123 subdomain name."#
            )
        };
        assert_eq!(
            error(config_map(&json!({"name": "A_b"})), &context()),
            text("A_b")
        );
        assert_eq!(error(config_map(&json!("text")), &context()), text(""));
        let generated = child_name("pre.", UID, "rn");
        assert_eq!(
            error(config_map(&json!({"generateName": "pre."})), &context()),
            text(&generated)
        );
    }

    #[test]
    fn an_invalid_namespace_is_named() {
        assert_eq!(
            error(
                config_map(&json!({"name": "m", "namespace": "../x"})),
                &cluster_scoped()
            ),
            r#"cannot apply composed resource "rn" because it has an invalid namespace "../x". Must be a valid RFC 1123 label."#
        );
    }

    #[test]
    fn an_object_without_kind_or_version_is_named() {
        let text = |missing: &str| {
            format!(
                r#"cannot apply composed resource "rn": it has no {missing}: the function that desires it must set apiVersion and kind"#
            )
        };
        assert_eq!(error(json!({"apiVersion": "v1"}), &context()), text("kind"));
        assert_eq!(error(json!({"kind": "Pod"}), &context()), text("apiVersion"));
        assert_eq!(error(Value::Null, &context()), text("apiVersion"));
    }

    #[test]
    fn two_names_for_one_object_spare_the_others() {
        let same = || config_map(&json!({"name": "same"}));
        let other_version = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "same"}});
        let result = desired_resources(
            &desired([
                ("a", same()),
                ("b", same()),
                ("c", config_map(&json!({}))),
                ("d", other_version),
            ]),
            &context(),
        );
        let errors: Vec<String> = result
            .resources
            .values()
            .filter_map(|composed| composed.as_ref().err().map(ToString::to_string))
            .collect();
        let text = |name: &str, other: &str| {
            format!(
                r#"cannot apply composed resource "{name}": ConfigMap "team/same" is desired as "{other}" too: give it one composition resource name, or each its own metadata.name"#
            )
        };
        assert_eq!(errors, [text("a", "b"), text("b", "a")]);
        assert!(result.resources["c"].is_ok() && result.resources["d"].is_ok());
    }

    #[test]
    fn a_composite_does_not_compose_itself() {
        let site = |version: &str, name: &str| json!({"apiVersion": format!("example.org/{version}"), "kind": "Site", "metadata": {"name": name}});
        for version in ["v1", "v2"] {
            assert_eq!(
                error(site(version, "shop"), &context()),
                r#"cannot apply composed resource "rn": it is the composite resource itself: the function that desires it must return it as desired composite, or under another name"#
            );
        }
        assert_eq!(composed(site("v1", "other"), &context()).id.name, "other");
    }

    #[test]
    fn the_content_of_an_object_is_not_printed() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "canary"}});
        let result = desired_resources(&desired([("rn", secret)]), &context());
        assert!(!format!("{result:?}").contains("canary"));
    }
}
