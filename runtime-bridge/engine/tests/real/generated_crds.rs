//! The CRDs of definitions, as the API server stores them.

use bridge_core::{
    crd::{CrdWrite, claim, composite, plan_write},
    definition::{Definition, Terms},
};
use bridge_engine::api_error::ApiError;
use serde_json::{Value, json};

use crate::admin::{Admin, DEFINITIONS};

const LEGACY: &str = include_str!("../../../core/src/crd/golden/definition/legacy.yaml");
const NAMESPACED: &str = include_str!("../../../core/src/crd/golden/definition/namespaced.yaml");
const CLUSTER: &str = include_str!("../../../core/src/crd/golden/definition/cluster.yaml");

/// The CRDs of a definition, in a group of this test.
fn crds(definition: &Value) -> Vec<Value> {
    let definition = Definition::read(definition).unwrap();
    let terms = Terms::of(&definition).unwrap();
    let composite = composite(&definition, &terms).unwrap();
    [Some(composite), claim(&definition, &terms).unwrap()]
        .into_iter()
        .flatten()
        .collect()
}

fn object(text: &str, group: &str) -> Value {
    serde_yaml_ng::from_str(&text.replace("example.org", group)).unwrap()
}

/// A definition whose schema holds what the API server stores in another form, or not at all.
fn awkward(group: &str) -> Value {
    let mut definition = object(NAMESPACED, group);
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"] = json!({
        "type": "object",
        "description": "",
        "required": [],
        "oneOf": [],
        "x-kubernetes-validations": [{ "rule": "true", "message": "", "x-unknown": 1 }],
        "properties": {
            "flag": { "type": "boolean", "default": false, "nullable": false, "title": "" },
            "text": { "type": "string", "default": "", "x-unknown": { "a": 1 }, "enum": ["", "a"] },
            "list": { "type": "array", "default": [], "items": { "type": "string" }, "uniqueItems": false },
            "map": { "type": "object", "default": {}, "additionalProperties": { "type": "string" }, "properties": {} },
            "number": { "type": "number", "default": 1.0, "maximum": 1e3, "minimum": 0.5, "example": { "a": 2.0 } },
            "big": { "type": "number", "maximum": 1e21, "default": 1e20 },
            "whole": { "type": "integer", "format": "int64", "minimum": 0, "maximum": 9_007_199_254_740_991_i64 },
            "maybe": { "type": "string", "nullable": true, "default": null, "maxLength": 0 },
            "any": { "x-kubernetes-preserve-unknown-fields": true },
            "port": { "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] },
            "closed": { "type": "object", "not": { "required": ["a"] }, "allOf": [{ "required": [] }], "properties": { "a": { "type": "string" } } },
        },
    });
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
        { "name": "FLAG", "type": "boolean", "jsonPath": ".spec.flag", "priority": 0, "description": "", "format": "" },
    ]);
    definition["spec"]["names"]["shortNames"] = json!([]);
    definition["spec"]["names"]["singular"] = json!("");
    definition["spec"]["versions"][0]["deprecated"] = json!(false);
    definition
}

async fn create(admin: &Admin, crd: &Value) -> Value {
    assert_eq!(plan_write(crd, None), Ok(CrdWrite::Create(crd.clone())));
    admin.create(DEFINITIONS, crd).await.unwrap()
}

fn path(crd: &Value) -> String {
    format!("{DEFINITIONS}/{}", crd["metadata"]["name"].as_str().unwrap())
}

#[tokio::test]
async fn a_stored_crd_is_as_it_should_be() {
    let admin = Admin::new().await;
    let definitions = [
        object(LEGACY, "legacy.rest.example.org"),
        object(NAMESPACED, "namespaced.rest.example.org"),
        object(CLUSTER, "cluster.rest.example.org"),
        awkward("awkward.rest.example.org"),
    ];
    for crd in definitions.iter().flat_map(crds) {
        create(&admin, &crd).await;
        let stored = admin.get(&path(&crd)).await.unwrap();
        assert_eq!(
            plan_write(&crd, Some(&stored)),
            Ok(CrdWrite::Keep),
            "{}",
            path(&crd)
        );
    }
}

#[tokio::test]
async fn a_changed_crd_is_as_it_should_be_after_one_write() {
    let admin = Admin::new().await;
    let mut definition = object(LEGACY, "changed.rest.example.org");
    let before = crds(&definition).remove(0);
    create(&admin, &before).await;
    let schema = &mut definition["spec"]["versions"][1]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["properties"]["zone"] = json!({ "type": "string", "default": "" });
    definition["spec"]["versions"][0]["served"] = json!(false);
    definition["spec"].as_object_mut().unwrap().remove("conversion");
    let after = crds(&definition).remove(0);
    // The API server writes the status of a new CRD meanwhile: then it is decided anew.
    loop {
        let stored = admin.get(&path(&after)).await.unwrap();
        let Ok(CrdWrite::Update(written)) = plan_write(&after, Some(&stored)) else {
            panic!("it is not updated");
        };
        match admin.put(&path(&after), &written).await {
            Ok(_) => break,
            Err(ApiError::Conflict(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let stored = admin.get(&path(&after)).await.unwrap();
    assert_eq!(plan_write(&after, Some(&stored)), Ok(CrdWrite::Keep));
}
