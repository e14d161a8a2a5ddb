//! What functions may answer wrongly: each has a message that says what to do, writes nothing again and again, and is no other order's trouble.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bridge_core::{
    function::{
        FunctionFailure, Readiness, Requirements, Resource, ResourceMatch, ResourceSelector, ResultTarget,
        RunRequest, RunResponse, RunResult, Severity,
    },
    watch_plan::GroupKind,
};
use bridge_engine::object::Key;
use serde_json::{Value, json};

use super::stage::{Bridge, GROUP, Stage, order, orders};
use crate::harness::{LIMIT, within};

/// Calls for the case `ttl`.
pub static TTL_CALLS: AtomicU64 = AtomicU64::new(0);

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": "bad"}})
}

/// Why a function does not answer, as its client says it.
pub fn failure(case: &str) -> Option<FunctionFailure> {
    Some(match case {
        "no-endpoint" => FunctionFailure::NoEndpoint("say where it listens by --function".to_owned()),
        "unreachable" => FunctionFailure::Unreachable("connection refused".to_owned()),
        "silent" => FunctionFailure::TimedOut(Duration::from_mins(1)),
        "garbage" => FunctionFailure::Invalid("it is no message".to_owned()),
        "too-large" => FunctionFailure::Status {
            code: "ResourceExhausted".to_owned(),
            message: "65 MiB are more than 64 MiB".to_owned(),
        },
        _ => return None,
    })
}

/// Of a function that desires nothing.
fn results(case: &str) -> Option<Vec<RunResult>> {
    let result = |severity, message: &str, target| RunResult {
        severity,
        message: message.to_owned(),
        reason: Some("Sizing".to_owned()),
        target,
    };
    Some(match case {
        "fatal" => vec![result(
            Severity::Fatal,
            "there is no size 7",
            ResultTarget::Composite,
        )],
        "for-claim" => vec![
            result(
                Severity::Warning,
                "there is no size 7",
                ResultTarget::CompositeAndClaim,
            ),
            result(Severity::Normal, "size 6 it is", ResultTarget::Composite),
        ],
        _ => return None,
    })
}

/// Of what cannot be composed: another resource of the same order is.
const SPARES: [&str; 6] = ["bad-name", "itself", "rejected", "denied", "not-served", "theirs"];

/// Name of what is composed beside it.
fn sound(case: &str) -> String {
    format!("beside-{case}")
}

/// The order says in `spec.values.case` what its function does wrong.
pub fn respond(case: &str, request: &RunRequest) -> RunResponse {
    let mut response = RunResponse {
        desired: request.desired.clone(),
        ..RunResponse::default()
    };
    if let Some(results) = results(case) {
        response.results = results;
        return response;
    }
    let mut desire = |name: &str, object: Value| {
        let resource = Resource {
            ready: Readiness::Ready,
            ..Resource::of(object)
        };
        response.desired.resources.insert(name.to_owned(), resource);
    };
    if SPARES.contains(&case) {
        desire("sound", config_map(&sound(case)));
    }
    match case {
        "no-kind" => desire("bad", json!({"apiVersion": "v1"})),
        "no-version" => desire("bad", json!({"kind": "ConfigMap"})),
        "kind" => {
            let kind = request.observed.composite.object["spec"]["values"]["kind"].clone();
            desire("first", json!({"apiVersion": "v1", "kind": kind}));
        }
        "restless" => {
            static CALLS: AtomicU64 = AtomicU64::new(0);
            let call = CALLS.fetch_add(1, Ordering::Relaxed);
            desire(
                "first",
                json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"call": call.to_string()}}),
            );
        }
        "ttl" => {
            TTL_CALLS.fetch_add(1, Ordering::Relaxed);
            desire("first", config_map("kept"));
            response.ttl = Some(Duration::from_secs(1));
        }
        "elsewhere" => {
            let mut object = config_map("elsewhere");
            object["metadata"]["namespace"] = "kube-system".into();
            desire("bad", object);
        }
        "denied" => desire("bad", config_map("denied")),
        "bad-name" => desire("bad", config_map("Not_valid")),
        "cluster-scoped" => {
            desire(
                "bad",
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bad"}}),
            );
        }
        "same-object" => {
            desire("one", config_map("same"));
            desire("two", config_map("same"));
        }
        "itself" => {
            let name = request.observed.composite.object["metadata"]["name"].clone();
            desire(
                "bad",
                json!({"apiVersion": "shop.example.org/v1", "kind": "Order", "metadata": {"name": name}}),
            );
        }
        "too-many" => {
            (0..=2000).for_each(|number| desire(&number.to_string(), config_map(&format!("n{number}"))));
        }
        "rejected" => {
            let mut object = config_map("rejected");
            object["data"] = json!({"not a key": "1"});
            desire("bad", object);
        }
        "not-served" => desire(
            "bad",
            json!({"apiVersion": "nobody.example.org/v1", "kind": "Nothing"}),
        ),
        "theirs" => desire("bad", config_map("theirs")),
        "unsettled" => {
            let seen = request.required_resources.len();
            let selector = |number: usize| ResourceSelector {
                api_version: "v1".to_owned(),
                kind: "ConfigMap".to_owned(),
                matching: ResourceMatch::Name(format!("n{number}")),
                namespace: None,
            };
            response.requirements = Requirements {
                resources: (0..=seen)
                    .map(|number| (number.to_string(), selector(number)))
                    .collect(),
                ..Requirements::default()
            };
        }
        case => panic!("no case {case}"),
    }
    response
}

const CANNOT_RUN: &str = "cannot compose resources: cannot run Composition pipeline step \"config-maps\": cannot run Function \"function-config-maps\": ";

/// What the order says: in `Synced`, or in an event where that only names the resource, as Crossplane's does.
const CASES: [(&str, &[&str]); 18] = [
    (
        "no-kind",
        &["desired resource \"bad\" has no kind: the function must set apiVersion and kind"],
    ),
    (
        "no-version",
        &["desired resource \"bad\" has no apiVersion: the function must set apiVersion and kind"],
    ),
    ("bad-name", &["it has an invalid name \"Not_valid\"", "RFC 1123"]),
    (
        "cluster-scoped",
        &["cannot apply cluster scoped composed resource \"bad\" (a Namespace named bad)"],
    ),
    (
        "same-object",
        &[
            "ConfigMap \"one/same\" is desired as",
            "give it one composition resource name",
        ],
    ),
    ("itself", &["it is the composite resource itself"]),
    (
        "too-many",
        &["it desires 2001 composed resources, more than 2000: compose fewer"],
    ),
    (
        "rejected",
        &["cannot apply composed resource \"bad\"", "not a key"],
    ),
    (
        "denied",
        &[
            "cannot apply composed resource \"bad\"",
            "no maps of that name here",
        ],
    ),
    (
        "no-endpoint",
        &[
            CANNOT_RUN,
            "no endpoint is known: say where it listens by --function",
        ],
    ),
    (
        "unreachable",
        &[CANNOT_RUN, "cannot reach it: connection refused"],
    ),
    ("silent", &[CANNOT_RUN, "no answer within 60s"]),
    ("garbage", &[CANNOT_RUN, "unusable response: it is no message"]),
    (
        "too-large",
        &[CANNOT_RUN, "ResourceExhausted: 65 MiB are more than 64 MiB"],
    ),
    (
        "not-served",
        &["cannot apply composed resource \"bad\"", "nobody.example.org"],
    ),
    (
        "theirs",
        &[
            "cannot apply composed resource \"bad\"",
            "ConfigMap \"one/theirs\"",
        ],
    ),
    (
        "fatal",
        &["pipeline step \"config-maps\" returned a fatal result: there is no size 7"],
    ),
    (
        "unsettled",
        &["requirements didn't stabilize after the maximum number of iterations (5)"],
    ),
];

/// Nobody creates a `ConfigMap` of the name `denied`.
async fn deny(stage: &Stage) {
    let folder = "/apis/admissionregistration.k8s.io/v1";
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "deny"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
            }]},
            "validations": [{"expression": "object.metadata.name != 'denied'", "message": "no maps of that name here"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "deny"}, "spec": {"policyName": "deny", "validationActions": ["Deny"]},
    });
    stage
        .create(&format!("{folder}/validatingadmissionpolicies"), &policy)
        .await;
    stage
        .create(&format!("{folder}/validatingadmissionpolicybindings"), &binding)
        .await;
    let maps = "/api/v1/namespaces/default/configmaps?dryRun=All";
    within(async {
        while stage.admin.create(maps, &config_map("denied")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

/// How many runs of an order have failed in a row.
async fn failed_runs(bridge: &Bridge, order: &Value) -> u64 {
    let text = |field: &str| order["metadata"][field].as_str().unwrap();
    let key = Key::new(
        GroupKind::new(GROUP, "Order"),
        Some(text("namespace")),
        text("name"),
    );
    within(async {
        loop {
            // While it is reconciled, nobody else sees what is remembered of it.
            let report = bridge.engine.report(&key, text("uid"));
            if let Some(failed) = report.and_then(|report| report["memory"]["failedRuns"].as_u64()) {
                return failed;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_wrong_answer_is_named_and_troubles_nobody_else() {
    let stage = Stage::bare().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.install().await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = |name: &str| format!("{}/{name}", orders(&namespace));
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    deny(&stage).await;
    let theirs = stage.create(&maps, &config_map("theirs")).await;
    stage
        .create(&orders(&namespace), &order("good", &json!({"first": "1"})))
        .await;
    let good = stage.ready(&path("good")).await;
    for (case, _) in CASES {
        stage
            .create(&orders(&namespace), &order(case, &json!({ "case": case })))
            .await;
    }
    for case in SPARES {
        stage.object(&format!("{maps}/{}", sound(case)), |_| true).await;
    }
    let events = format!("/api/v1/namespaces/{namespace}/events");
    for (case, parts) in CASES {
        let synced = |order: &Value| {
            let conditions = order["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions
                .find(|condition| condition["type"] == "Synced" && condition["status"] == "False")
                .cloned()
        };
        let order = stage.object(&path(case), |order| synced(order).is_some()).await;
        let has_all = |said: &Value| {
            let message = said["message"].as_str().unwrap_or_default();
            parts.iter().all(|part| message.contains(part))
        };
        if synced(&order).is_some_and(|synced| has_all(&synced)) {
            continue;
        }
        let is_told = |events: &Value| {
            let events = events["items"].as_array();
            let mut events = events.into_iter().flatten();
            events.any(|event| {
                event["involvedObject"]["name"] == case && event["type"] == "Warning" && has_all(event)
            })
        };
        stage.object(&events, is_told).await;
    }
    bridge.rests().await;
    assert_eq!(stage.admin.get(&path("good")).await.unwrap(), good);
    // They run again and again, and say the same.
    let mut stored = Vec::new();
    for (case, _) in CASES {
        stored.push(stage.admin.get(&path(case)).await.unwrap());
    }
    let mut before = Vec::new();
    for order in &stored {
        before.push(failed_runs(&bridge, order).await);
    }
    let failing = before.iter().filter(|failed| **failed > 0);
    assert_eq!(failing.count(), 10, "{before:?}");
    for (order, before) in stored.iter().zip(before).filter(|(_, before)| *before > 0) {
        let runs_again = async {
            while failed_runs(&bridge, order).await <= before {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let runs_again = tokio::time::timeout(2 * LIMIT, runs_again).await;
        assert!(runs_again.is_ok(), "{order:#}");
    }
    for ((case, _), order) in CASES.iter().zip(&stored) {
        assert_eq!(&stage.admin.get(&path(case)).await.unwrap(), order);
    }
    for (case, _) in CASES {
        stage.admin.delete(&path(case)).await.unwrap();
        stage.gone(&path(case)).await;
    }
    assert_eq!(stage.values(&namespace).await, ["1"]);
    let left = stage.admin.get(&format!("{maps}/theirs")).await.unwrap();
    assert_eq!(left["metadata"], theirs["metadata"]);
    bridge.end().await;
}

#[tokio::test]
async fn a_function_that_hangs_holds_up_no_other_order_and_no_deletion() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = |name: &str| format!("{}/{name}", orders(&namespace));
    // More than may be reconciled at once in one namespace.
    let hanging: Vec<String> = (0..40).map(|number| format!("hang-{number}")).collect();
    for name in &hanging {
        stage
            .create(&orders(&namespace), &order(name, &json!({"case": "hang"})))
            .await;
    }
    stage
        .create(&orders(&namespace), &order("good", &json!({"first": "1"})))
        .await;
    stage.ready(&path("good")).await;
    for name in &hanging {
        stage.admin.delete(&path(name)).await.unwrap();
    }
    for name in &hanging {
        stage.gone(&path(name)).await;
    }
    bridge.end().await;
}

#[tokio::test]
async fn an_object_elsewhere_is_composed_at_home_and_reported() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    stage
        .create(&orders(&namespace), &order("a", &json!({"case": "elsewhere"})))
        .await;
    stage.ready(&format!("{}/a", orders(&namespace))).await;
    assert_eq!(stage.values(&namespace).await, ["bad"]);
    let elsewhere = "/api/v1/namespaces/kube-system/configmaps/elsewhere";
    assert!(stage.admin.get(elsewhere).await.is_err());
    let is_told = |events: &Value| {
        let events = events["items"].as_array();
        let mut events = events.into_iter().flatten();
        events.any(|event| event["reason"] == "NamespaceOverridden" && event["type"] == "Warning")
    };
    stage
        .object(&format!("/api/v1/namespaces/{namespace}/events"), is_told)
        .await;
    bridge.end().await;
}
