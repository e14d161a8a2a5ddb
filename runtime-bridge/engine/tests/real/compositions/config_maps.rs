//! A function in this process: what it desires stands in the values of its composite resource.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use bridge_core::function::{
    DesiredState, FunctionFailure, Functions, Readiness, Requirements, Resource, ResourceMatch,
    ResourceSelector, RunRequest, RunResponse, SchemaSelector,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    bad_input::{failure, respond},
    deployments::deployment,
    kinds_that_go, other_version,
};

/// Desires a `ConfigMap` for each entry of `spec.values`. Of the entry `require` it holds what bears that label, and what the schema of its
/// kind says of the data.
pub struct ConfigMaps;

#[async_trait]
impl Functions for ConfigMaps {
    async fn run(
        &self,
        function: &str,
        request: &RunRequest,
        deadline: Timestamp,
    ) -> Result<RunResponse, FunctionFailure> {
        assert_eq!(function, "function-config-maps");
        // That of the run: how long one call may take is the client's to say, which else never knows a function that hangs.
        let left = deadline.duration_since(Timestamp::now()).unsigned_abs();
        assert!(left > Duration::from_mins(1), "{left:?}");
        let case = &request.observed.composite.object["spec"]["values"]["case"];
        if let Some(case) = case.as_str() {
            if case == "hang" {
                std::future::pending::<()>().await;
            }
            return match failure(case) {
                Some(failure) => Err(failure),
                None => Ok(respond(case, request)),
            };
        }
        let mut desired = request.desired.clone();
        let values = request.observed.composite.object["spec"]["values"].as_object();
        let mut requirements = Requirements::default();
        for (name, value) in values.into_iter().flatten() {
            if name == "usage" {
                let usage = Resource {
                    ready: Readiness::Ready,
                    ..Resource::of(usage(value, request))
                };
                desired.resources.insert(name.clone(), usage);
                continue;
            }
            if name == "bucket" {
                desired
                    .resources
                    .insert(name.clone(), kinds_that_go::bucket(value));
                continue;
            }
            if name == "deployment" {
                desired.resources.insert(name.clone(), deployment(value));
                continue;
            }
            if ["connect", "nest"].contains(&name.as_str()) {
                connect(name, value, request, &mut desired);
                continue;
            }
            let own = &request.observed.composite.connection_details.0;
            let value = match name.as_str() {
                "require" => {
                    requirements = required(value);
                    shown(request)
                }
                // All objects of a kind of the core group, in its namespace or none.
                "kind" => {
                    requirements = super::at_rest::of_kind(value.as_str().unwrap_or_default());
                    json!(
                        request
                            .required_resources
                            .get("kind")
                            .map_or(0, Vec::len)
                            .to_string()
                    )
                }
                "autoscaler" => {
                    let namespace = &request.observed.composite.object["metadata"]["namespace"];
                    let version = value.as_str().unwrap_or_default();
                    requirements = other_version::autoscaler(version, namespace.as_str().unwrap_or_default());
                    let found = request.required_resources.get("autoscaler");
                    other_version::shown(found.and_then(|found| found.first()).map(|one| &one.object))
                }
                // What the schema of the kind says of itself.
                "schema" => {
                    requirements.schemas = [("schema".to_owned(), super::schemas::selector())].into();
                    let schema = request.required_schemas.get("schema").cloned().flatten();
                    json!(
                        schema.unwrap_or_default()["description"]
                            .as_str()
                            .unwrap_or_default()
                    )
                }
                // What it is shown of its own connection details.
                "own" => json!(own.keys().cloned().collect::<Vec<_>>().join(",")),
                _ => value.clone(),
            };
            let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": value}});
            if let Some(external_name) = value.as_str().and_then(|value| value.strip_prefix("outside:")) {
                object["metadata"]["annotations"] = json!({"crossplane.io/external-name": external_name});
            }
            // So that a usage can name them.
            if name == "app" || name == "db" {
                object["metadata"]["name"] = format!("shop-{name}").into();
            }
            // What is cluster-scoped composes where its claim is, or its Secret.
            let spec = &request.observed.composite.object["spec"];
            let places =
                ["claimRef", "writeConnectionSecretToRef"].map(|field| spec[field]["namespace"].as_str());
            if let Some(namespace) = places.into_iter().flatten().next() {
                object["metadata"]["namespace"] = namespace.into();
            }
            let resource = Resource {
                ready: Readiness::Ready,
                ..Resource::of(object)
            };
            desired.resources.insert(name.clone(), resource);
        }
        Ok(RunResponse {
            desired,
            requirements,
            ..RunResponse::default()
        })
    }
}

/// Of `connect` it publishes the value; of `nest` what a composed composite resource publishes, which connects.
fn connect(name: &str, value: &Value, request: &RunRequest, desired: &mut DesiredState) {
    let mut details = BTreeMap::from([("hidden".to_owned(), b"hidden".to_vec())]);
    if name == "connect" {
        details.insert("user".to_owned(), value.as_str().unwrap().into());
    } else {
        let xr = &request.observed.composite.object;
        let object = json!({
            "apiVersion": xr["apiVersion"], "kind": xr["kind"],
            "spec": {
                "values": {"connect": value},
                "writeConnectionSecretToRef": {"name": "nested", "namespace": xr["spec"]["claimRef"]["namespace"]},
            },
        });
        let nested = Resource {
            ready: Readiness::Ready,
            ..Resource::of(object)
        };
        desired.resources.insert(name.to_owned(), nested);
        let seen = request.observed.resources.get(name);
        let user = seen.and_then(|nested| nested.connection_details.0.get("user"));
        details.extend(user.map(|user| ("seen".to_owned(), user.clone())));
    }
    let composite = desired.composite.get_or_insert_default();
    composite.connection_details.0.extend(details);
}

/// A usage of the composed `db` by `app`, or by the composite resource.
fn usage(by: &Value, request: &RunRequest) -> Value {
    let composite = &request.observed.composite.object;
    let by = if by == "parent" {
        json!({
            "apiVersion": composite["apiVersion"], "kind": composite["kind"],
            "resourceRef": {"name": composite["metadata"]["name"]},
        })
    } else {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "shop-app"}})
    };
    json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "metadata": {"name": "shop-usage"},
        "spec": {"of": {"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "shop-db"}}, "by": by},
    })
}

fn required(label: &Value) -> Requirements {
    let label = label.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = ("v1".to_owned(), "ConfigMap".to_owned());
    let selector = ResourceSelector {
        api_version: api_version.clone(),
        kind: kind.clone(),
        matching: ResourceMatch::Labels([("shared".to_owned(), label)].into()),
        namespace: None,
    };
    Requirements {
        resources: [("shared".to_owned(), selector)].into(),
        schemas: [("schema".to_owned(), SchemaSelector { api_version, kind })].into(),
        ..Requirements::default()
    }
}

fn shown(request: &RunRequest) -> Value {
    let shared = request.required_resources.get("shared").into_iter().flatten();
    let values = shared.map(|one| one.object["data"]["value"].as_str().unwrap_or_default());
    let schema = request.required_schemas.get("schema").cloned().flatten();
    let data = schema.unwrap_or_default()["properties"]["data"]["type"].clone();
    let values: Vec<&str> = values.collect();
    json!(format!(
        "{} of {}",
        values.join(","),
        data.as_str().unwrap_or("nothing")
    ))
}
