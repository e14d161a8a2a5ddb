//! A plugin whose kind is served, and whose answers are too large, too many, or tell what they must not.

use std::sync::atomic::{AtomicU64, Ordering};

use bridge_hostile::{Attack, CANARY, HOSTILE, HostilePlugin, MINE, Scene, kind, observed};
use crossbridge_proto::v1alpha1::{
    Absent, Completed, CreateRecovery, CreateRequest, CreateResponse, Document, ExternalNameRules,
    ExternalNameSource, Failure, FailureCode, KindCapabilities, KindExample, Observation, ObserveRequest,
    ObserveResponse, Outcome, ResourceKind, Warning, observe_response, outcome,
};
use serde_json::json;
use tonic::Status;

/// Objects of the hostile plugin.
const TRAPS: usize = 30;

/// Something that was never said before.
fn anew() -> u64 {
    static SAID: AtomicU64 = AtomicU64::new(0);
    SAID.fetch_add(1, Ordering::Relaxed)
}

const AT_ONCE: Option<prost_types::Duration> = Some(prost_types::Duration { seconds: 1, nanos: 0 });

/// Values under new keys, each time.
struct NewKeys;

#[tonic::async_trait]
impl Attack for NewKeys {
    async fn observe(&self, request: ObserveRequest) -> Result<ObserveResponse, Status> {
        let observation = Observation {
            connection_details: [(format!("key-{}", anew()), vec![b'x'; 900 << 10])].into(),
            observe_after: AT_ONCE,
            ..Observation::default()
        };
        Ok(observed(&request, observation))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connection_details_do_not_grow_without_end() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, NewKeys)).await;
    scene.traps(TRAPS).await;
    scene.until_all(HOSTILE, MINE, "evil", "Synced", "True").await;
    scene.verdict("new-connection-keys").await;
}

/// Sixteen new warnings in each answer, which become events.
struct Warnings;

#[tonic::async_trait]
impl Attack for Warnings {
    async fn observe(&self, request: ObserveRequest) -> Result<ObserveResponse, Status> {
        let warnings = (0..16).map(|_| Warning {
            reason: "Odd".into(),
            message: format!("{} {}", anew(), "x".repeat(1000)),
        });
        let observation = Observation {
            warnings: warnings.collect(),
            ready_message: format!("{} {}", anew(), "y".repeat(1 << 20)),
            observe_after: AT_ONCE,
            ..Observation::default()
        };
        Ok(observed(&request, observation))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_warnings_fills_nothing() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, Warnings)).await;
    scene.traps(TRAPS).await;
    scene.until_all(HOSTILE, MINE, "evil", "Synced", "True").await;
    scene.verdict("warnings").await;
    let events = scene.list("", "v1", "Event").await;
    let odd = events["items"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|event| event["reason"] == "Odd")
        .count();
    assert!(odd <= TRAPS * 30, "{odd} events of {TRAPS} objects");
    let traps = scene.list(HOSTILE, "v1alpha1", MINE).await;
    for trap in traps["items"].as_array().unwrap() {
        let size = trap["status"].to_string().len();
        assert!(size < 16 << 10, "a status of {size} bytes");
    }
}

/// Says in every text what it was told in confidence.
struct Telltale;

impl Telltale {
    /// A credential and a sensitive value.
    fn told(request: &ObserveRequest) -> (String, String) {
        let target = request.target.clone().unwrap_or_default();
        let config = target.config.unwrap_or_default();
        let token = config.credentials.get("token").cloned().unwrap_or_default();
        let desired = request.desired.clone().unwrap_or_default();
        let password = desired.sensitive_values.get("/password").cloned();
        (
            String::from_utf8_lossy(&token).into_owned(),
            password.unwrap_or_default(),
        )
    }
}

#[tonic::async_trait]
impl Attack for Telltale {
    async fn observe(&self, request: ObserveRequest) -> Result<ObserveResponse, Status> {
        let (token, password) = Self::told(&request);
        assert_eq!((token.as_str(), password.as_str()), (CANARY, CANARY));
        let told = format!("{token} and {password}");
        match anew() % 3 {
            0 => Err(Status::internal(format!("at {told}\n\u{1b}[2J"))),
            1 => Ok(ObserveResponse {
                result: Some(observe_response::Result::Failure(Failure {
                    code: FailureCode::Internal.into(),
                    reason: "Told".into(),
                    message: told.clone(),
                    upstream_code: told.clone(),
                    upstream_request_id: told,
                    ..Failure::default()
                })),
            }),
            _ => {
                let document = Document {
                    json: json!({ "told": [format!("<{password}>")], "password": password }).to_string(),
                };
                let observation = Observation {
                    parameters: Some(document.clone()),
                    status: Some(document),
                    ready_message: told.clone(),
                    warnings: vec![Warning {
                        reason: "Told".into(),
                        message: told,
                    }],
                    ..Observation::default()
                };
                Ok(observed(&request, observation))
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_in_confidence_is_told_nowhere() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, Telltale)).await;
    scene.traps(TRAPS).await;
    scene.until_all(HOSTILE, MINE, "evil", "Synced", "reason").await;
    scene.verdict("tells-secrets").await;
}

/// Creates what it is asked for, under a name that no annotation has room for.
struct LongName;

#[tonic::async_trait]
impl Attack for LongName {
    fn kinds(&self) -> Vec<ResourceKind> {
        vec![ResourceKind {
            capabilities: Some(KindCapabilities {
                can_create: true,
                can_delete: true,
                create_recovery: vec![CreateRecovery::ClientToken.into()],
                token_retention: Some(prost_types::Duration {
                    seconds: 3600,
                    nanos: 0,
                }),
                ..KindCapabilities::default()
            }),
            external_name: Some(ExternalNameRules {
                source: ExternalNameSource::Provider.into(),
                example: "a".into(),
                ..ExternalNameRules::default()
            }),
            examples: vec![KindExample {
                name: "a".into(),
                create_parameters: Some(Document { json: "{}".into() }),
                ..KindExample::default()
            }],
            ..kind(HOSTILE, MINE)
        }]
    }

    async fn observe(&self, _: ObserveRequest) -> Result<ObserveResponse, Status> {
        Ok(ObserveResponse {
            result: Some(observe_response::Result::Absent(Absent::default())),
        })
    }

    async fn create(&self, _: CreateRequest) -> Result<CreateResponse, Status> {
        Ok(CreateResponse {
            outcome: Some(Outcome {
                external_name: "x".repeat(300 << 10),
                result: Some(outcome::Result::Completed(Completed::default())),
                ..Outcome::default()
            }),
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_cannot_be_stored_holds_up_no_stop() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, LongName)).await;
    scene.namespace("evil").await;
    scene.config_of(HOSTILE, "evil").await;
    for at in 0..TRAPS {
        let trap = json!({
            "metadata": {"name": format!("trap-{at}")},
            "spec": {
                "providerConfigRef": {"kind": "ProviderConfig", "name": "default"},
                "forProvider": {},
            },
        });
        scene.create(HOSTILE, "v1alpha1", MINE, "evil", trap).await;
    }
    scene
        .until_all(HOSTILE, MINE, "evil", "Synced", "external_name has 307200 bytes")
        .await;
    scene.verdict("long-name").await;
    assert_eq!(scene.stop().await, Some(0), "all that was begun is stored");
}
