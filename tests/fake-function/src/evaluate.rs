//! What comes out of a call: a function of the request alone.

use std::time::Duration;

use bridge_core::function::{
    Observed, Readiness, Resource, ResultTarget, RunRequest, RunResponse, RunResult, SecretData, Severity,
};
use serde_json::{Map, Value, json};

use crate::program::{Condition, Program};

/// The response to a request whose input is a [`Program`]; to any other input a fatal result.
pub fn evaluate(request: &RunRequest) -> RunResponse {
    let input = request.input.clone().unwrap_or_else(|| json!({}));
    match serde_json::from_value::<Program>(input) {
        Ok(program) => run(&program, request),
        Err(error) => RunResponse {
            desired: request.desired.clone(),
            results: vec![RunResult {
                severity: Severity::Fatal,
                message: format!("the input is no program: {error}"),
                reason: None,
                target: ResultTarget::Composite,
            }],
            context: request.context.clone(),
            ..RunResponse::default()
        },
    }
}

fn run(program: &Program, request: &RunRequest) -> RunResponse {
    let observed = &*request.observed;
    let mut desired = request.desired.clone();
    for (name, entry) in &program.resources {
        if !holds(&entry.when, observed) {
            continue;
        }
        let ready = match &entry.ready {
            None => Readiness::Unspecified,
            Some(condition) if holds(condition, observed) => Readiness::Ready,
            Some(_) => Readiness::NotReady,
        };
        let resource = Resource {
            ready,
            ..Resource::of(entry.object.clone())
        };
        desired.resources.insert(name.clone(), resource);
    }
    if let Some(status) = &program.status {
        set_status(desired.composite.get_or_insert_default(), status);
    }
    let normal = |message: &String| RunResult {
        severity: Severity::Normal,
        message: message.clone(),
        reason: None,
        target: ResultTarget::Composite,
    };
    if let Some(credential) = &program.credential {
        let secret = request.credentials.get(credential).cloned().unwrap_or_default();
        desired
            .resources
            .insert(credential.clone(), composed_secret(&secret, observed));
        let composite = desired.composite.get_or_insert_default();
        composite.connection_details.0.extend(secret.0);
    }
    RunResponse {
        results: program.messages.iter().map(normal).collect(),
        ttl: program.ttl_seconds.map(Duration::from_secs),
        desired,
        context: request.context.clone(),
        ..RunResponse::default()
    }
}

/// In the namespace of the Secret in which the composite resource publishes.
fn composed_secret(secret: &SecretData, observed: &Observed) -> Resource {
    let data: Map<String, Value> = secret
        .0
        .iter()
        .map(|(name, value)| (name.clone(), String::from_utf8_lossy(value).into()))
        .collect();
    let reference = &observed.composite.object["spec"]["writeConnectionSecretToRef"];
    Resource {
        ready: Readiness::Ready,
        ..Resource::of(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": reference["namespace"]}, "data": data,
        }))
    }
}

fn set_status(composite: &mut Resource, status: &Map<String, Value>) {
    match &mut composite.object {
        Value::Object(object) => {
            object.insert("status".into(), Value::Object(status.clone()));
        }
        other => *other = json!({"status": status}),
    }
}

fn holds(condition: &Condition, observed: &Observed) -> bool {
    match condition {
        Condition::Always => true,
        Condition::Never => false,
        Condition::Exists(name) => observed.resources.contains_key(name),
        Condition::Equals { of, path, value } => {
            let object = match of {
                None => Some(&observed.composite),
                Some(name) => observed.resources.get(name),
            };
            object
                .and_then(|resource| resource.object.pointer(path))
                .unwrap_or(&Value::Null)
                == value
        }
        Condition::IsTrue { of, condition } => {
            let found = observed.resources.get(of);
            let conditions = found.and_then(|found| found.object.pointer("/status/conditions"));
            let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
            conditions.any(|one| one["type"] == condition.as_str() && one["status"] == "True")
        }
        Condition::Not(other) => !holds(other, observed),
        Condition::All(all) => all.iter().all(|one| holds(one, observed)),
        Condition::Any(any) => any.iter().any(|one| holds(one, observed)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn request(input: Value) -> RunRequest {
        let database = json!({"status": {"phase": "Available"}});
        let observed = Observed {
            composite: Resource::of(json!({"spec": {"size": 2}})),
            resources: [("database".to_owned(), Resource::of(database))].into(),
        };
        RunRequest {
            observed: Arc::new(observed),
            input: Some(input),
            ..RunRequest::default()
        }
    }

    #[test]
    fn a_resource_is_desired_while_its_condition_holds() {
        let large = json!({"equals": {"path": "/spec/size", "value": 2}});
        let response = evaluate(&request(json!({"resources": {
            "always": {"object": {"kind": "A"}},
            "when-large": {"object": {"kind": "B"}, "when": large},
            "when-small": {"object": {"kind": "C"}, "when": {"not": large}},
            "after-database": {"object": {"kind": "D"}, "when": {"all": [{"exists": "database"}, {"any": ["never", "always"]}]}},
            "after-queue": {"object": {"kind": "E"}, "when": {"exists": "queue"}},
        }})));
        let names: Vec<&String> = response.desired.resources.keys().collect();
        assert_eq!(names, ["after-database", "always", "when-large"]);
    }

    #[test]
    fn readiness_follows_what_is_observed() {
        let available =
            |value: &str| json!({"equals": {"of": "database", "path": "/status/phase", "value": value}});
        let response = evaluate(&request(json!({"resources": {
            "none": {"object": {}},
            "no": {"object": {}, "ready": available("Creating")},
            "yes": {"object": {}, "ready": available("Available")},
        }})));
        let ready: Vec<Readiness> = response.desired.resources.values().map(|one| one.ready).collect();
        assert_eq!(
            ready,
            [Readiness::NotReady, Readiness::Unspecified, Readiness::Ready]
        );
    }

    #[test]
    fn an_input_of_another_form_is_fatal() {
        let response = evaluate(&request(json!({"resorces": {}})));
        assert_eq!(response.results[0].severity, Severity::Fatal);
        assert!(response.results[0].message.contains("resorces"));
    }
}
