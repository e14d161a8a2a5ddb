//! What functions may answer wrongly: each has a message that says what to do, writes nothing again and again, and is no other order's trouble.

use bridge_core::function::{
    Readiness, Requirements, Resource, ResourceMatch, ResourceSelector, ResultTarget, RunRequest,
    RunResponse, RunResult, Severity,
};
use serde_json::{Value, json};

use super::stage::{Bridge, Stage, order, orders};

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": "bad"}})
}

/// The order says in `spec.values.case` what its function does wrong.
pub fn respond(case: &str, request: &RunRequest) -> RunResponse {
    let mut response = RunResponse {
        desired: request.desired.clone(),
        ..RunResponse::default()
    };
    let mut desire = |name: &str, object: Value| {
        let resource = Resource {
            ready: Readiness::Ready,
            ..Resource::of(object)
        };
        response.desired.resources.insert(name.to_owned(), resource);
    };
    match case {
        "no-kind" => desire("bad", json!({"apiVersion": "v1"})),
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
        "fatal" => {
            response.results = vec![RunResult {
                severity: Severity::Fatal,
                message: "there is no size 7".to_owned(),
                reason: None,
                target: ResultTarget::Composite,
            }];
        }
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

/// What the order says: in `Synced`, or in an event where that only names the resource, as Crossplane's does.
const CASES: [(&str, &[&str]); 11] = [
    (
        "no-kind",
        &["desired resource \"bad\" has no kind: the function must set apiVersion and kind"],
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

#[tokio::test]
async fn a_wrong_answer_is_named_and_troubles_nobody_else() {
    let stage = Stage::new().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.install().await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = |name: &str| format!("{}/{name}", orders(&namespace));
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
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
    for (case, _) in CASES {
        stage.admin.delete(&path(case)).await.unwrap();
        stage.gone(&path(case)).await;
    }
    assert_eq!(stage.values(&namespace).await, ["1"]);
    let left = stage.admin.get(&format!("{maps}/theirs")).await.unwrap();
    assert_eq!(left["metadata"], theirs["metadata"]);
    bridge.end().await;
}
