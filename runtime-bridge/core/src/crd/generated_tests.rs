use serde_json::{Value, json};

use super::{CrdConflict, CrdWrite, claim, composite, plan_write, stored_form::stored_form};
use crate::{
    controller_ref::ControllerRef,
    definition::{Definition, DefinitionRejected, Terms},
};

const LEGACY: &str = include_str!("golden/definition/legacy.yaml");
const NAMESPACED: &str = include_str!("golden/definition/namespaced.yaml");
const CLUSTER: &str = include_str!("golden/definition/cluster.yaml");

fn object(text: &str) -> Value {
    serde_yaml_ng::from_str(text).unwrap()
}

fn render(object: &Value) -> Result<(Value, Option<Value>), DefinitionRejected> {
    let definition = Definition::read(object)?;
    let terms = Terms::of(&definition)?;
    Ok((composite(&definition, &terms)?, claim(&definition, &terms)?))
}

/// As text, so that a difference is shown as lines.
fn yaml(mut value: Value) -> String {
    value.sort_all_objects();
    serde_yaml_ng::to_string(&value).unwrap()
}

#[track_caller]
fn assert_same(rendered: Value, golden: &str) {
    assert_eq!(yaml(rendered), yaml(object(golden)));
}

#[test]
fn a_legacy_definition_gives_two_crds() {
    let (composite, claim) = render(&object(LEGACY)).unwrap();
    assert_same(composite, include_str!("golden/legacy_composite.yaml"));
    assert_same(claim.unwrap(), include_str!("golden/legacy_claim.yaml"));
}

#[test]
fn a_namespaced_definition_gives_one_crd() {
    let (composite, claim) = render(&object(NAMESPACED)).unwrap();
    assert_same(composite, include_str!("golden/namespaced_composite.yaml"));
    assert_eq!(claim, None);
}

#[test]
fn a_cluster_scoped_definition_gives_one_crd() {
    let (composite, claim) = render(&object(CLUSTER)).unwrap();
    assert_same(composite, include_str!("golden/cluster_composite.yaml"));
    assert_eq!(claim, None);
}

#[test]
fn both_versions_of_a_definition_give_the_same_crd() {
    for (text, scope) in [(NAMESPACED, "Namespaced"), (CLUSTER, "Cluster")] {
        let mut stored = object(text);
        stored["apiVersion"] = json!("apiextensions.crossplane.io/v1");
        stored["spec"]["scope"] = json!(scope);
        assert_eq!(render(&stored).unwrap(), render(&object(text)).unwrap());
    }
}

#[test]
fn a_version_without_schema_is_named() {
    let mut file = object(LEGACY);
    file["spec"]["versions"][0]
        .as_object_mut()
        .unwrap()
        .remove("schema");
    assert_eq!(
        render(&file).unwrap_err().to_string(),
        "cannot generate CRD for \"Composite Resource\" \"xdatabases.example.org\": custom resource validation \
         cannot be nil (version \"v1alpha1\" has no schema)"
    );
    file["spec"]["versions"][0]["schema"] = json!({});
    assert!(render(&file).is_err());
}

#[test]
fn a_schema_of_another_form_is_named() {
    let rejection = |pointer: &str, value: Value| {
        let mut file = object(LEGACY);
        let schema = "/spec/versions/1/schema/openAPIV3Schema";
        *file.pointer_mut(&format!("{schema}{pointer}")).unwrap() = value;
        render(&file).unwrap_err().to_string()
    };
    let message = |path: &str| {
        format!(
            "cannot generate CRD for \"Composite Resource\" \"xdatabases.example.org\": cannot parse validation \
             schema: openAPIV3Schema{path} of version \"v1\" must be an object"
        )
    };
    assert_eq!(rejection("", json!([])), message(""));
    assert_eq!(rejection("/properties", json!([])), message("/properties"));
    assert_eq!(
        rejection("/properties/spec", json!("text")),
        message("/properties/spec")
    );
    assert_eq!(
        rejection("/properties/status/properties", json!(1)),
        message("/properties/status/properties")
    );
}

#[test]
fn a_longer_name_than_a_label_is_never_allowed() {
    let mut file = object(LEGACY);
    let length = "/spec/versions/1/schema/openAPIV3Schema/properties/metadata/properties/name/maxLength";
    *file.pointer_mut(length).unwrap() = json!(200);
    let (composite, _) = render(&file).unwrap();
    assert_eq!(composite.pointer(length), Some(&json!(63)));
}

/// The legacy CRD, and as the API server would store and return it.
fn rendered_and_stored() -> (Value, Value) {
    let (rendered, _) = render(&object(LEGACY)).unwrap();
    let mut stored = rendered.clone();
    stored["metadata"]["uid"] = json!("1");
    stored["metadata"]["resourceVersion"] = json!("42");
    stored["metadata"]["generation"] = json!(1);
    stored["metadata"]["managedFields"] = json!([{
        "manager": "crossplane",
        "operation": "Update",
        "fieldsV1": { "f:metadata": {
            "f:labels": { ".": {}, "f:team": {}, "f:tier": {} },
            "f:annotations": { "f:cert-manager.io/inject-ca-from": {} },
        } },
    }]);
    stored["spec"]["names"]["listKind"] = json!("XDatabaseList");
    stored["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] = json!(443);
    stored["status"] = json!({ "storedVersions": ["v1"] });
    (rendered, stored)
}

fn write(wanted: &Value, found: &Value) -> CrdWrite {
    plan_write(wanted, Some(found)).unwrap()
}

#[test]
fn a_missing_crd_is_created() {
    let (rendered, _) = rendered_and_stored();
    assert_eq!(plan_write(&rendered, None), Ok(CrdWrite::Create(rendered)));
}

#[test]
fn an_equal_crd_is_not_written() {
    let (rendered, stored) = rendered_and_stored();
    assert_eq!(write(&rendered, &stored), CrdWrite::Keep);
}

#[test]
fn what_others_put_on_a_crd_stays() {
    let (rendered, mut stored) = rendered_and_stored();
    stored["metadata"]["labels"]["argocd"] = json!("app");
    stored["metadata"]["annotations"]["seen"] = json!("yes");
    stored["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = json!("Q0E=");
    assert_eq!(write(&rendered, &stored), CrdWrite::Keep);
    stored["spec"]["names"]["shortNames"] = json!(["other"]);
    let mut expected = stored.clone();
    expected["spec"] = rendered["spec"].clone();
    expected["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = json!("Q0E=");
    assert_eq!(write(&rendered, &stored), CrdWrite::Update(expected));
}

#[test]
fn a_label_that_the_definition_lost_is_removed() {
    let (_, stored) = rendered_and_stored();
    let mut file = object(LEGACY);
    file["metadata"]["labels"].as_object_mut().unwrap().remove("team");
    file["spec"].as_object_mut().unwrap().remove("metadata");
    let (rendered, _) = render(&file).unwrap();
    let CrdWrite::Update(written) = write(&rendered, &stored) else {
        panic!("it is not updated");
    };
    assert_eq!(written["metadata"]["labels"], json!({ "tier": "gold" }));
    assert_eq!(written["metadata"].get("annotations"), None);
    assert_eq!(written["metadata"]["resourceVersion"], "42");
    assert_eq!(written["status"], stored["status"]);
}

#[test]
fn each_changed_field_leads_to_a_write() {
    let (rendered, stored) = rendered_and_stored();
    let schema = "/spec/versions/1/schema/openAPIV3Schema";
    let changes = [
        ("/spec/scope", json!("Namespaced")),
        ("/spec/names/categories", json!(["databases"])),
        ("/spec/versions/0/deprecationWarning", json!("other")),
        ("/spec/versions/0/served", json!(false)),
        ("/spec/versions/1/additionalPrinterColumns/0/name", json!("OTHER")),
        ("/spec/versions/1/subresources", json!({ "status": {} })),
        ("/spec/conversion/webhook/clientConfig/service/port", json!(8443)),
        ("/metadata/labels/team", json!("other")),
    ];
    for (pointer, value) in changes {
        let mut found = stored.clone();
        *found.pointer_mut(pointer).unwrap() = value;
        assert!(
            matches!(write(&rendered, &found), CrdWrite::Update(_)),
            "{pointer}"
        );
    }
    // What is empty says something here.
    let defaulted = format!("{schema}/properties/spec/properties/size");
    for value in [json!(""), json!(false), json!([]), json!({}), json!(0)] {
        let mut wanted = rendered.clone();
        wanted.pointer_mut(&defaulted).unwrap()["default"] = value.clone();
        let mut found = stored.clone();
        found
            .pointer_mut(&defaulted)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove("default");
        assert!(matches!(write(&wanted, &found), CrdWrite::Update(_)), "{value}");
    }
}

#[test]
fn a_crd_of_another_owner_is_left_alone() {
    let (rendered, mut stored) = rendered_and_stored();
    stored["metadata"]["ownerReferences"][0]["uid"] = json!("another");
    stored["metadata"]["ownerReferences"][0]["name"] = json!("other.example.org");
    let conflict = plan_write(&rendered, Some(&stored)).unwrap_err();
    assert_eq!(
        conflict.to_string(),
        "the CustomResourceDefinition \"xdatabases.example.org\" is controlled by CompositeResourceDefinition \
         \"other.example.org\" (uid another), and is left as it is: delete one of the two, or rename this type"
    );
}

#[test]
fn a_crd_of_a_plugin_is_left_alone() {
    let (rendered, mut stored) = rendered_and_stored();
    stored["metadata"]["ownerReferences"] = Value::Null;
    stored["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("crossbridge");
    let conflict = plan_write(&rendered, Some(&stored)).unwrap_err();
    assert_eq!(
        conflict,
        CrdConflict::OfPlugin {
            crd: "xdatabases.example.org".into()
        }
    );
}

#[test]
fn an_uncontrolled_crd_is_taken_over() {
    let (rendered, mut stored) = rendered_and_stored();
    stored["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("ownerReferences");
    let CrdWrite::Update(written) = write(&rendered, &stored) else {
        panic!("it is not updated");
    };
    assert_eq!(ControllerRef::of(&written), ControllerRef::of(&rendered));
}

#[test]
fn a_crd_that_is_being_deleted_is_awaited() {
    let (rendered, mut stored) = rendered_and_stored();
    stored["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(write(&rendered, &stored), CrdWrite::Await);
}

#[test]
fn the_stored_form_drops_what_the_api_server_drops() {
    let sent = json!({
        "group": "example.org",
        "names": { "kind": "App", "plural": "apps", "shortNames": [], "singular": "" },
        "conversion": null,
        "preserveUnknownFields": false,
        "versions": [{
            "name": "v1",
            "deprecated": false,
            "deprecationWarning": null,
            "additionalPrinterColumns": [{ "name": "A", "priority": 0, "description": "", "format": "" }],
            "schema": { "openAPIV3Schema": {
                "type": "object",
                "x-unknown": 1,
                "title": "",
                "nullable": false,
                "required": [],
                "default": { "a": 1.0, "b": 1.5 },
                "maximum": 10.0,
                "not": { "description": "" },
                "allOf": [{ "required": [] }],
                "additionalProperties": false,
                "properties": { "a": { "properties": {}, "default": false, "example": null, "enum": [1.0, null] } },
                "x-kubernetes-validations": [{ "rule": "true", "message": "", "unknown": 1 }],
            } },
        }],
    });
    let stored = json!({
        "group": "example.org",
        "names": { "kind": "App", "plural": "apps", "singular": "app", "listKind": "AppList" },
        "conversion": { "strategy": "None" },
        "versions": [{
            "name": "v1",
            "additionalPrinterColumns": [{ "name": "A" }],
            "schema": { "openAPIV3Schema": {
                "type": "object",
                "default": { "a": 1, "b": 1.5 },
                "maximum": 10,
                "not": {},
                "allOf": [{}],
                "additionalProperties": false,
                "properties": { "a": { "default": false, "enum": [1, null] } },
                "x-kubernetes-validations": [{ "rule": "true" }],
            } },
        }],
    });
    assert_eq!(stored_form(&sent), stored);
    assert_eq!(stored_form(&stored), stored);
}
