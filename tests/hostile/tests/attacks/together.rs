//! One hostile plugin and one hostile tenant at once, who also uses that plugin: the invariant is promised for both of them together.

use std::sync::atomic::{AtomicU64, Ordering};

use bridge_hostile::{
    Attack, CANARY, GROUP, HOSTILE, HostilePlugin, MINE, Scene, UNKNOWN_KEYS, kind, observed,
};
use crossbridge_proto::v1alpha1::{
    Document, Failure, FailureCode, FieldDiff, FieldRule, FieldViolation, GetPluginInfoResponse, Observation,
    ObserveRequest, ObserveResponse, ResourceKind, Warning, observe_response,
};
use serde_json::{Map, Value, json};
use tonic::Status;

const AT_ONCE: Option<prost_types::Duration> = Some(prost_types::Duration { seconds: 1, nanos: 0 });

/// Objects of the hostile plugin with one sensitive value, and with very many.
const TRAPS: usize = 10;
const TRAPS_OF_MANY: usize = 3;

/// Another process each time that it is asked, whose answers are as large as they may be, change all the time, and tell what it was told.
#[derive(Default)]
struct Everything {
    asked: AtomicU64,
    said: AtomicU64,
}

impl Everything {
    /// Something that was never said before.
    fn anew(&self) -> u64 {
        self.said.fetch_add(1, Ordering::Relaxed)
    }
}

fn document(json: &Value) -> Document {
    Document {
        json: json.to_string(),
    }
}

#[tonic::async_trait]
impl Attack for Everything {
    fn info(&self) -> GetPluginInfoResponse {
        struct Plain;
        impl Attack for Plain {}
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        GetPluginInfoResponse {
            instance_id: asked.to_string(),
            max_concurrent_calls: 100 + i32::try_from(asked % 100).unwrap_or(0),
            ..Plain.info()
        }
    }

    fn kinds(&self) -> Vec<ResourceKind> {
        let mut trap = kind(HOSTILE, MINE);
        let mut schema: Value = serde_json::from_str(&trap.parameters_schema_json).expect("JSON");
        schema["properties"]["keys"] =
            json!({ "type": "object", "additionalProperties": { "type": "string" } });
        trap.parameters_schema_json = schema.to_string();
        trap.field_rules.push(FieldRule {
            path: "/keys/*".into(),
            sensitive: true,
            ..FieldRule::default()
        });
        vec![trap]
    }

    async fn observe(&self, request: ObserveRequest) -> Result<ObserveResponse, Status> {
        let said = self.anew();
        let observation = match said % 5 {
            // As much as an answer may have.
            0 => Observation {
                parameters: Some(document(
                    &json!({ "many": vec![said; 30_000], "long": "x".repeat(3 << 20) }),
                )),
                ..Observation::default()
            },
            // Texts in which all sensitive values are sought, and which the API server is to store.
            1 => {
                let texts: Vec<String> = (0..8_000).map(|at| format!("value-of-{at}-{said}")).collect();
                Observation {
                    status: Some(document(&json!({ "texts": texts, "password": CANARY }))),
                    ..Observation::default()
                }
            }
            2 => {
                return Ok(ObserveResponse {
                    result: Some(observe_response::Result::Failure(Failure {
                        code: FailureCode::Internal.into(),
                        reason: "Told".into(),
                        message: format!("{said}: {CANARY}"),
                        violations: vec![FieldViolation {
                            path: format!("/{CANARY}"),
                            message: CANARY.into(),
                        }],
                        ..Failure::default()
                    })),
                });
            }
            3 => Observation {
                diffs: (0..1024)
                    .map(|at| FieldDiff {
                        path: format!("/{at}{}", "y".repeat(1000)),
                        ..FieldDiff::default()
                    })
                    .collect(),
                ..Observation::default()
            },
            _ => Observation {
                warnings: (0..16)
                    .map(|at| Warning {
                        reason: "Odd".into(),
                        message: format!("{said} {at} {CANARY}"),
                    })
                    .collect(),
                ready_message: format!("{said} {}", "z".repeat(4000)),
                ..Observation::default()
            },
        };
        let observation = Observation {
            observe_after: AT_ONCE,
            ..observation
        };
        Ok(observed(&request, observation))
    }
}

fn refs(count: usize) -> Map<String, Value> {
    let all = (0..count).map(|at| {
        (
            format!("k{at}"),
            json!({ "name": "many", "key": format!("k{at}") }),
        )
    });
    all.collect()
}

/// Whatever a tenant can write, of the good plugin's kind and of the hostile one's.
async fn plant(scene: &Scene) {
    const THEIRS: &str = "evil";
    scene.many_values(THEIRS, 8_000).await;
    let beds: Vec<String> = (0..30_000).map(|at| format!("bed-{at}")).collect();
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "deeper": inner }));
    let plants = [
        ("fern", json!({ "variety": "fern", "keysSecretRef": refs(8_000) })),
        ("moss", json!({ "variety": "moss", "beds": beds })),
        ("vine", json!({ "variety": "vine", "notes": deep })),
        ("weed", json!({ "variety": UNKNOWN_KEYS })),
    ];
    for (name, parameters) in &plants {
        let plant = json!({ "metadata": { "name": name }, "spec": { "forProvider": parameters } });
        scene.create(GROUP, "v1alpha1", "Plant", THEIRS, plant).await;
    }
    for at in 0..TRAPS_OF_MANY {
        let name = format!("many-{at}");
        let trap = json!({
            "metadata": { "name": name, "annotations": { "crossplane.io/external-name": name } },
            "spec": {
                "managementPolicies": ["Observe"],
                "providerConfigRef": { "kind": "ProviderConfig", "name": "default" },
                "forProvider": {
                    "keysSecretRef": refs(1_000),
                    "passwordSecretRef": { "name": "keys", "key": "password" },
                },
            },
        });
        scene.create(HOSTILE, "v1alpha1", MINE, THEIRS, trap).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_plugin_and_a_hostile_tenant_at_once_harm_nobody() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, Everything::default())).await;
    scene.traps(TRAPS).await;
    plant(&scene).await;
    scene.until_all(HOSTILE, MINE, "evil", "Synced", "status").await;
    scene.verdict("plugin-and-tenant").await;
}
