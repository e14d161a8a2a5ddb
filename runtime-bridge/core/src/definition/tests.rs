use serde_json::{Value, json};

use super::{
    ClaimTerms, Definition, DefinitionRejected, DeletePolicy, Machinery, Scope, Terms, UpdatePolicy,
};
use crate::watch_plan::GroupKind;

const LEGACY: &str = include_str!("../crd/golden/definition/legacy.yaml");
const NAMESPACED: &str = include_str!("../crd/golden/definition/namespaced.yaml");

fn object(text: &str) -> Value {
    serde_yaml_ng::from_str(text).unwrap()
}

fn terms(object: &Value) -> Result<Terms, DefinitionRejected> {
    Definition::read(object).and_then(|definition| Terms::of(&definition))
}

fn rejection(text: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut object = object(text);
    change(&mut object);
    terms(&object).unwrap_err().to_string()
}

#[test]
fn a_legacy_definition_has_all_its_terms() {
    let expected = Terms {
        definition: "xdatabases.example.org".into(),
        definition_uid: "6f0b8c1e-0000-4000-8000-000000000001".into(),
        kind: GroupKind::new("example.org", "XDatabase"),
        plural: "xdatabases".into(),
        version: "v1".into(),
        served: vec!["v1alpha1".into(), "v1".into()],
        scope: Scope::LegacyCluster,
        machinery: Machinery::Spec,
        claim: Some(ClaimTerms {
            kind: GroupKind::new("example.org", "Database"),
            plural: "databases".into(),
            default_delete_policy: Some(DeletePolicy::Foreground),
        }),
        connection_keys: ["username".to_owned(), "password".to_owned()].into(),
        default_composition: Some("small".into()),
        enforced_composition: None,
        default_revision_selector: Some([("channel".to_owned(), "stable".to_owned())].into()),
        default_update_policy: Some(UpdatePolicy::Manual),
    };
    let terms = terms(&object(LEGACY)).unwrap();
    assert_eq!(terms, expected);
    assert_eq!(terms.api_version(), "example.org/v1");
}

#[test]
fn a_file_without_defaults_gets_those_of_its_version() {
    let mut file = object(NAMESPACED);
    let read = |file: &Value| {
        let read = Definition::read(file).unwrap();
        (read.scope, read.default_update_policy, read.default_delete_policy)
    };
    let automatic = Some(UpdatePolicy::Automatic);
    assert_eq!(read(&file), (Scope::Namespaced, automatic, None));
    assert_eq!(terms(&file).unwrap().machinery, Machinery::SpecCrossplane);
    file["apiVersion"] = json!("apiextensions.crossplane.io/v1");
    let background = Some(DeletePolicy::Background);
    assert_eq!(read(&file), (Scope::LegacyCluster, automatic, background));
    assert_eq!(terms(&file).unwrap().machinery, Machinery::Spec);
}

#[test]
fn null_fields_count_as_absent() {
    let mut file = object(NAMESPACED);
    for field in [
        "scope",
        "claimNames",
        "conversion",
        "metadata",
        "enforcedCompositionRef",
    ] {
        file["spec"][field] = Value::Null;
    }
    assert_eq!(terms(&file), terms(&object(NAMESPACED)));
}

#[test]
fn an_enforced_composition_is_a_term() {
    let mut file = object(NAMESPACED);
    file["spec"]["enforcedCompositionRef"] = json!({ "name": "only" });
    assert_eq!(
        terms(&file).unwrap().enforced_composition.as_deref(),
        Some("only")
    );
}

#[test]
fn an_unreadable_field_is_named() {
    let read = |change: fn(&mut Value)| rejection(LEGACY, change);
    assert_eq!(
        read(|file| file["spec"]["scope"] = json!("Galaxy")),
        "cannot read CompositeResourceDefinition: spec.scope: unknown variant `Galaxy`, expected one of \
         `LegacyCluster`, `Namespaced`, `Cluster`"
    );
    assert_eq!(
        read(|file| {
            file["spec"]["versions"][1]
                .as_object_mut()
                .unwrap()
                .remove("served");
        }),
        "cannot read CompositeResourceDefinition: spec.versions[1]: missing field `served`"
    );
    assert_eq!(
        read(|file| file["spec"]["names"]["plural"] = json!(7)),
        "cannot read CompositeResourceDefinition: spec.names.plural: invalid type: integer `7`, expected a string"
    );
    assert_eq!(
        read(|file| {
            file["spec"]["defaultCompositionRevisionSelector"] =
                json!({ "matchExpressions": [{ "key": "a", "operator": "Exists" }] });
        }),
        "cannot read CompositeResourceDefinition: spec.defaultCompositionRevisionSelector.matchExpressions: \
         composite resources select revisions by matchLabels alone"
    );
}

#[test]
fn a_definition_is_named_by_plural_and_group() {
    assert_eq!(
        rejection(LEGACY, |file| file["metadata"]["name"] = json!("databases")),
        r#"the name must be "xdatabases.example.org", that is <plural>.<group>: create it anew under that name"#
    );
}

#[test]
fn exactly_one_version_is_referenceable() {
    let set = |zero: bool, one: bool| {
        move |file: &mut Value| {
            file["spec"]["versions"][0]["referenceable"] = json!(zero);
            file["spec"]["versions"][1]["referenceable"] = json!(one);
        }
    };
    assert_eq!(
        rejection(LEGACY, set(false, false)),
        "no version is referenceable: set referenceable: true on exactly one version"
    );
    assert_eq!(
        rejection(LEGACY, set(true, true)),
        "versions v1alpha1, v1 are referenceable: set referenceable: true on exactly one version"
    );
    assert_eq!(
        rejection(LEGACY, |file| file["spec"]["versions"][1]["served"] =
            json!(false)),
        r#"version "v1" is referenceable and not served: set served: true, or make another version referenceable"#
    );
}

#[test]
fn claims_need_names_of_their_own() {
    for (field, name) in [
        ("kind", "XDatabase"),
        ("plural", "xdatabases"),
        ("singular", "xdatabase"),
        ("listKind", "XDatabaseList"),
    ] {
        let message = rejection(LEGACY, |file| {
            file["spec"]["names"]["listKind"] = json!("XDatabaseList");
            file["spec"]["claimNames"][field] = json!(name);
        });
        let expected =
            format!(r#"invalid resource claim names: "{name}" conflicts with composite resource name"#);
        assert_eq!(message, expected);
    }
    let empty = |file: &mut Value| {
        file["spec"]["names"]["singular"] = json!("");
        file["spec"]["claimNames"]["singular"] = json!("");
    };
    let mut file = object(LEGACY);
    empty(&mut file);
    assert!(terms(&file).is_ok());
}

#[test]
fn claims_are_offered_for_legacy_types_alone() {
    assert_eq!(
        rejection(LEGACY, |file| file["spec"]["scope"] = json!("Cluster")),
        "Only LegacyCluster composite resources can offer claims"
    );
}

#[test]
fn a_type_is_served_as_its_crd_stores_it() {
    let mut file = object(LEGACY);
    // An edit that no CRD follows.
    file["spec"]["versions"][0]["referenceable"] = json!(true);
    file["spec"]["claimNames"]["kind"] = json!("XDatabase");
    let definition = Definition::read(&file).unwrap();
    assert!(Terms::of(&definition).is_err());
    let versions = |stored: bool| {
        json!({"spec": {"versions": [
            {"name": "v1alpha1", "served": true, "storage": false},
            {"name": "v1beta1", "served": stored, "storage": true},
        ]}})
    };
    let terms = Terms::as_served(&definition, &versions(true)).unwrap();
    assert_eq!(terms.version, "v1beta1");
    assert_eq!(terms.served, ["v1alpha1", "v1beta1"]);
    assert_eq!((terms.scope, terms.claim), (Scope::LegacyCluster, None));
    let terms = Terms::as_served(&definition, &versions(false)).unwrap();
    assert_eq!((terms.version.as_str(), terms.served.len()), ("v1alpha1", 1));
    assert_eq!(
        Terms::as_served(&definition, &json!({"spec": {"versions": []}})),
        None
    );
}
