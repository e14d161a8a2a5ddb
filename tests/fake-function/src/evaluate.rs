//! What comes out of a call: a function of the request alone.

use std::{collections::BTreeMap, time::Duration};

use bridge_core::function::{
    Condition as SetCondition, ConditionStatus, HiddenMap, Observed, Readiness, Requirements, Resource,
    ResourceMatch, ResourceSelector, ResultTarget, RunRequest, RunResponse, RunResult, SchemaSelector,
    SecretData, Severity,
};
use serde_json::{Map, Value, json};

use crate::program::{
    Condition, ConditionEntry, CopyEntry, Entry, Program, RequiredEntry, ResultEntry, SeverityEntry,
};

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
        if !holds(&entry.when, request) {
            continue;
        }
        let ready = match &entry.ready {
            None => Readiness::Unspecified,
            Some(condition) if holds(condition, request) => Readiness::Ready,
            Some(_) => Readiness::NotReady,
        };
        let resource = Resource {
            ready,
            ..Resource::of(with_copies(entry, request))
        };
        desired.resources.insert(name.clone(), resource);
    }
    let mut status = program.status.clone();
    if program.reports_shown {
        let status = status.get_or_insert_default();
        status.insert("shown".to_owned(), shown(request));
    }
    if let Some(status) = &status {
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
    let messages = program.messages.iter().map(normal);
    let results = program.results.iter();
    let results = results.filter(|entry| holds(&entry.when, request)).map(result);
    let mut context = request.context.clone();
    if !program.context.is_empty() {
        let HiddenMap(fields) = context.get_or_insert_default();
        fields.extend(program.context.clone());
    }
    RunResponse {
        results: messages.chain(results).collect(),
        conditions: program.conditions.iter().map(condition).collect(),
        requirements: requirements(program),
        ttl: program.ttl_seconds.map(Duration::from_secs),
        desired,
        context,
        kept: false,
    }
}

fn with_copies(entry: &Entry, request: &RunRequest) -> Value {
    let mut object = entry.object.clone();
    for (to, CopyEntry { of, path }) in &entry.copies {
        let required = request.required_resources.get(of).into_iter().flatten();
        let texts: Vec<&str> = required
            .filter_map(|one| one.object.pointer(path)?.as_str())
            .collect();
        let place = to.rsplit_once('/');
        if let Some((parent, key)) = place
            && let Some(Value::Object(fields)) = object.pointer_mut(parent)
        {
            fields.insert(key.to_owned(), texts.join(",").into());
        }
    }
    object
}

fn target(on_claim: bool) -> ResultTarget {
    if on_claim {
        ResultTarget::CompositeAndClaim
    } else {
        ResultTarget::Composite
    }
}

fn result(entry: &ResultEntry) -> RunResult {
    RunResult {
        severity: match entry.severity {
            SeverityEntry::Fatal => Severity::Fatal,
            SeverityEntry::Warning => Severity::Warning,
            SeverityEntry::Normal => Severity::Normal,
            SeverityEntry::Unspecified => Severity::Unknown,
        },
        message: entry.message.clone(),
        reason: entry.reason.clone(),
        target: target(entry.on_claim),
    }
}

fn condition(entry: &ConditionEntry) -> SetCondition {
    SetCondition {
        type_: entry.type_.clone(),
        status: match entry.status.as_str() {
            "True" => ConditionStatus::True,
            "False" => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        },
        reason: entry.reason.clone(),
        message: entry.message.clone(),
        target: target(entry.on_claim),
    }
}

fn requirements(program: &Program) -> Requirements {
    let selector = |entry: &RequiredEntry| ResourceSelector {
        api_version: entry.api_version.clone(),
        kind: entry.kind.clone(),
        matching: match &entry.match_name {
            Some(name) => ResourceMatch::Name(name.clone()),
            None => ResourceMatch::Labels(entry.match_labels.clone()),
        },
        namespace: entry.namespace.clone(),
    };
    let resources = program.requires.iter();
    let schemas = program.requires_schemas.iter();
    Requirements {
        extra_resources: BTreeMap::new(),
        resources: resources
            .map(|(name, entry)| (name.clone(), selector(entry)))
            .collect(),
        schemas: schemas
            .map(|(name, entry)| {
                let selector = SchemaSelector {
                    api_version: entry.api_version.clone(),
                    kind: entry.kind.clone(),
                };
                (name.clone(), selector)
            })
            .collect(),
    }
}

fn shown(request: &RunRequest) -> Value {
    let place = |resource: &Resource| {
        let text = |field: &str| resource.object["metadata"][field].as_str().unwrap_or_default();
        format!("{}/{}", text("namespace"), text("name"))
    };
    let required = request.required_resources.iter().map(|(name, items)| {
        let items: Vec<String> = items.iter().map(place).collect();
        (name.clone(), json!(items))
    });
    let schemas = request
        .required_schemas
        .iter()
        .map(|(name, schema)| (name.clone(), schema.is_some().into()));
    let keys = |resource: &Resource| json!(resource.connection_details.0.keys().collect::<Vec<_>>());
    let observed = request.observed.resources.iter();
    let details = observed.map(|(name, resource)| (name.clone(), keys(resource)));
    json!({
        "required": required.collect::<Map<_, _>>(),
        "schemas": schemas.collect::<Map<_, _>>(),
        "composition": request.observed.composite.object.pointer("/spec/crossplane/compositionRef/name"),
        "compositeDetails": keys(&request.observed.composite),
        "details": details.collect::<Map<_, _>>(),
    })
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

fn holds(condition: &Condition, request: &RunRequest) -> bool {
    let observed = &request.observed;
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
        Condition::Required(name) => {
            let shown = request.required_resources.get(name);
            shown.is_some_and(|shown| !shown.is_empty())
        }
        Condition::Not(other) => !holds(other, request),
        Condition::All(all) => all.iter().all(|one| holds(one, request)),
        Condition::Any(any) => any.iter().any(|one| holds(one, request)),
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
    fn results_conditions_and_requirements_are_those_of_the_program() {
        let response = evaluate(&request(json!({
            "messages": ["a"],
            "results": [{"severity": "warning", "message": "b", "onClaim": true}],
            "conditions": [{"type": "Ok", "status": "False", "reason": "Because"}],
            "requires": {"maps": {"apiVersion": "v1", "kind": "ConfigMap", "matchLabels": {"a": "b"}}},
            "requiresSchemas": {"map": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "context": {"key": 1},
            "reportsShown": true,
        })));
        let messages: Vec<&str> = response.results.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(messages, ["a", "b"]);
        assert_eq!(response.results[1].target, ResultTarget::CompositeAndClaim);
        assert_eq!(response.conditions[0].status, ConditionStatus::False);
        assert_eq!(response.requirements.resources["maps"].kind, "ConfigMap");
        assert_eq!(response.requirements.schemas["map"].kind, "ConfigMap");
        assert_eq!(response.context.unwrap().0["key"], 1);
        let status = &response.desired.composite.unwrap().object["status"];
        assert_eq!(status["shown"]["details"], json!({"database": []}));
    }

    #[test]
    fn texts_of_required_objects_are_copied() {
        let object = json!({"kind": "A", "data": {"own": "x"}});
        let copies = json!({"/data/copied": {"of": "maps", "path": "/data/value"}});
        let mut request = request(json!({"resources": {"one": {"object": object, "copies": copies}}}));
        let map = |value: &str| Resource::of(json!({"data": {"value": value}}));
        let copied = |request: &RunRequest| evaluate(request).desired.resources["one"].object["data"].clone();
        assert_eq!(copied(&request), json!({"own": "x", "copied": ""}));
        let maps = vec![map("a"), map("b")];
        request.required_resources.insert("maps".to_owned(), maps);
        assert_eq!(copied(&request), json!({"own": "x", "copied": "a,b"}));
    }

    #[test]
    fn a_result_may_depend_on_what_is_required() {
        let missing =
            json!({"severity": "fatal", "message": "it is missing", "when": {"not": {"required": "map"}}});
        let mut request = request(json!({"results": [missing]}));
        assert_eq!(evaluate(&request).results[0].severity, Severity::Fatal);
        request.required_resources = [("map".to_owned(), Vec::new())].into();
        assert_eq!(evaluate(&request).results.len(), 1);
        let map = Resource::of(json!({"kind": "ConfigMap"}));
        request.required_resources = [("map".to_owned(), vec![map])].into();
        assert_eq!(evaluate(&request).results, []);
    }

    #[test]
    fn an_input_of_another_form_is_fatal() {
        let response = evaluate(&request(json!({"resorces": {}})));
        assert_eq!(response.results[0].severity, Severity::Fatal);
        assert!(response.results[0].message.contains("resorces"));
    }
}
