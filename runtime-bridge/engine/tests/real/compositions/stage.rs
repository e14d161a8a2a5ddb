//! A composition layer at work on a real control plane.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use bridge_control_plane::{ControlPlane, Options};
use bridge_control_planes::{ControlPlanes, TestPlane};
use bridge_core::{composite::Settings, crd::CROSSPLANE};
use bridge_engine::{
    api_error::ApiError,
    composition_layer::{CompositionLayer, CompositionOptions},
    engine::Engine,
    lease::Leadership,
    protection::{FixedGuard, Guard, GuardState},
    shell::Detached,
};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::config_maps::ConfigMaps;
use crate::{
    admin::Admin,
    harness::{LIMIT, engine, within},
};

pub const GROUP: &str = "shop.example.org";
pub const DEFINITIONS: &str = "/apis/apiextensions.crossplane.io/v2/compositeresourcedefinitions";
pub const COMPOSITIONS: &str = "/apis/apiextensions.crossplane.io/v1/compositions";
pub const REVISIONS: &str = "/apis/apiextensions.crossplane.io/v1/compositionrevisions";

pub const CLAIM: &str = "Purchase";

/// One process: an engine with the composition layer.
pub struct Bridge {
    pub engine: Arc<Engine>,
    // Before the engine: it serves by it.
    layer: Option<CompositionLayer>,
    _gate: watch::Sender<bool>,
}

impl Bridge {
    pub async fn start(plane: &ControlPlane) -> Self {
        Self::start_as(plane.kubeconfig(), Settings::default()).await
    }

    pub async fn start_with(plane: &ControlPlane, settings: Settings) -> Self {
        Self::start_as(plane.kubeconfig(), settings).await
    }

    /// With the rights of a user.
    pub async fn start_as(kubeconfig: PathBuf, settings: Settings) -> Self {
        Self::start_electing(kubeconfig, settings, Leadership::unopposed()).await
    }

    /// As a candidate of an election.
    pub async fn start_electing(kubeconfig: PathBuf, settings: Settings, leadership: Leadership) -> Self {
        let proved = FixedGuard::new(GuardState::Proved);
        Self::start_whole(kubeconfig, settings, leadership, |_| Arc::new(proved)).await
    }

    /// With a guard of its own.
    pub async fn start_guarded(
        kubeconfig: PathBuf,
        settings: Settings,
        guard: impl FnOnce(&Engine) -> Arc<dyn Guard>,
    ) -> Self {
        Self::start_whole(kubeconfig, settings, Leadership::unopposed(), guard).await
    }

    async fn start_whole(
        kubeconfig: PathBuf,
        settings: Settings,
        leadership: Leadership,
        guard: impl FnOnce(&Engine) -> Arc<dyn Guard>,
    ) -> Self {
        let (engine, gate) = engine(kubeconfig).await;
        let engine = Arc::new(engine);
        let options = CompositionOptions {
            settings: Settings {
                // The API server runs beside it.
                clock_skew: Duration::ZERO,
                // No write of a former process is under way for long.
                late_create: Duration::from_secs(3),
                ..settings
            },
            revision_history_limit: 2,
            leadership,
            detached: Detached::default(),
            guard: guard(&engine),
        };
        Self {
            layer: Some(CompositionLayer::start(&engine, Arc::new(ConfigMaps), options)),
            engine,
            _gate: gate,
        }
    }

    /// Its writes so far, by verb and resource.
    pub fn writes(&self) -> BTreeMap<String, u64> {
        let metrics = self.engine.encode_metrics();
        let mut writes = BTreeMap::new();
        for line in metrics
            .lines()
            .filter(|line| line.contains("api_requests_total{"))
        {
            let label = |name: &str| line.split(&format!("{name}=\"")).nth(1)?.split('"').next();
            let (Some(verb), Some(resource)) = (label("verb"), label("resource")) else {
                continue;
            };
            if ["get", "list", "watch"].contains(&verb) || resource == "events" {
                continue;
            }
            let count: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
            *writes.entry(format!("{verb} {resource}")).or_default() += count;
        }
        writes
    }

    /// Waits until it writes nothing for a while, which is longer than any wait of a change; one that writes on and on
    /// never does. What a test waited for before may be followed by a write of its own: a reference by a status.
    pub async fn rests(&self) {
        let rest = async {
            loop {
                let before = self.writes();
                tokio::time::sleep(Duration::from_secs(2)).await;
                if self.writes() == before {
                    return;
                }
            }
        };
        let rests = tokio::time::timeout(LIMIT, rest).await;
        assert!(rests.is_ok(), "it still writes: {:?}", self.writes());
    }

    pub async fn end(mut self) {
        if let Some(layer) = self.layer.take() {
            assert_eq!(layer.drain(LIMIT).await, 0);
        }
        self.engine.drain(LIMIT).await;
    }
}

pub struct Stage {
    pub admin: Admin,
    pub plane: TestPlane,
}

impl Stage {
    /// With Crossplane's kinds, for tests that make no role, webhook or policy: another test gets the control plane after them.
    pub async fn installed() -> Self {
        static PLANES: ControlPlanes = ControlPlanes::new(&CROSSPLANE);
        Self::on(PLANES.take().await.unwrap()).await
    }

    /// With nothing yet, on a control plane of its own.
    pub async fn bare() -> Self {
        Self::with(Options::default()).await
    }

    pub async fn with(options: Options) -> Self {
        Self::on(TestPlane::start(options).await.unwrap()).await
    }

    async fn on(plane: TestPlane) -> Self {
        let admin = Admin::of(&plane).await;
        Self { admin, plane }
    }

    /// The kinds that Crossplane defines.
    pub async fn install(&self) {
        for text in CROSSPLANE {
            let crd: Value = serde_yaml_ng::from_str(text).unwrap();
            self.admin.create(crate::admin::DEFINITIONS, &crd).await.unwrap();
        }
    }

    /// A definition and a composition of `Order`s.
    pub async fn define(&self) {
        self.create(DEFINITIONS, &definition()).await;
        self.create(COMPOSITIONS, &composition("1")).await;
        self.condition(&definition_path(), "Established", "WatchingCompositeResource")
            .await;
    }

    /// A definition of `XPurchase`s that are claimed by `Purchase`s, and a composition of them.
    pub async fn define_claimed(&self) {
        self.create(&DEFINITIONS.replace("/v2/", "/v1/"), &claimed_definition())
            .await;
        let mut composition = composition("1");
        composition["metadata"]["name"] = "purchases".into();
        composition["spec"]["compositeTypeRef"]["kind"] = "XPurchase".into();
        self.create(COMPOSITIONS, &composition).await;
        let path = format!("{DEFINITIONS}/xpurchases.{GROUP}");
        self.condition(&path, "Offered", "WatchingCompositeResourceClaim")
            .await;
        let has_one = |list: &Value| list["items"].as_array().is_some_and(|items| items.len() == 1);
        let revisions = format!("{REVISIONS}?labelSelector=crossplane.io/composition-name=purchases");
        self.object(&revisions, has_one).await;
    }

    /// The API server itself takes a moment to serve a new kind.
    pub async fn create(&self, collection: &str, object: &Value) -> Value {
        within(async {
            loop {
                match self.admin.create(collection, object).await {
                    Ok(created) => return created,
                    Err(error) => assert!(error.is_transient(), "{error}"),
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }

    /// Why an object is refused: likewise.
    pub async fn refusal(&self, collection: &str, object: &Value) -> String {
        within(async {
            loop {
                let error = self.admin.create(collection, object).await.unwrap_err();
                if !error.is_transient() {
                    return error.to_string();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }

    /// Waits until what is there is as it should be.
    pub async fn object(&self, path: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let wait = async {
            loop {
                if let Ok(object) = self.admin.get(path).await {
                    if is_it(&object) {
                        return object;
                    }
                    last = object;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let found = tokio::time::timeout(LIMIT, wait).await;
        found.unwrap_or_else(|_| panic!("{path} is not as it should be: {last:#}"))
    }

    /// Waits until a condition has a reason.
    pub async fn condition(&self, path: &str, type_: &str, reason: &str) -> Value {
        let has_it = |object: &Value| {
            let conditions = object["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|condition| condition["type"] == type_ && condition["reason"] == reason)
        };
        self.object(path, has_it).await
    }

    /// Waits until an event of a namespace has this reason, and a message that contains this.
    pub async fn event(&self, namespace: &str, reason: &str, part: &str) {
        let path = format!("/api/v1/namespaces/{namespace}/events?fieldSelector=reason={reason}");
        let has_it = |events: &Value| {
            let mut events = events["items"].as_array().into_iter().flatten();
            events.any(|event| {
                event["message"]
                    .as_str()
                    .is_some_and(|message| message.contains(part))
            })
        };
        self.object(&path, has_it).await;
    }

    pub async fn ready(&self, path: &str) -> Value {
        self.condition(path, "Synced", "ReconcileSuccess").await;
        self.condition(path, "Ready", "Available").await
    }

    pub async fn gone(&self, path: &str) {
        let gone = async {
            while self.admin.get(path).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let gone = tokio::time::timeout(LIMIT, gone).await;
        assert!(
            gone.is_ok(),
            "{path} is still there: {:#}",
            self.admin.get(path).await.unwrap()
        );
    }

    /// Waits until a deletion, which is a dry run, is refused by a policy.
    pub async fn until_refused(&self, path: &str) {
        let wait = async {
            loop {
                match self.admin.try_delete(path).await {
                    Ok(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                    Err(error) => return error,
                }
            }
        };
        let error = tokio::time::timeout(LIMIT, wait).await;
        assert!(matches!(error, Ok(ApiError::Denied(_))), "{path}: {error:?}");
    }

    /// Waits until the composed `ConfigMap`s of a namespace have these values.
    pub async fn values_become(&self, namespace: &str, expected: &[&str]) {
        let wait = async {
            while self.values(namespace).await != expected {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let became = tokio::time::timeout(LIMIT, wait).await;
        assert!(became.is_ok(), "they are {:?}", self.values(namespace).await);
    }

    /// Values of the `ConfigMap`s of a namespace.
    pub async fn values(&self, namespace: &str) -> Vec<String> {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps?labelSelector=crossplane.io/composite");
        let list = self.admin.get(&path).await.unwrap();
        let items = list["items"].as_array().unwrap().iter();
        let mut values: Vec<String> = items
            .map(|item| item["data"]["value"].as_str().unwrap_or_default().to_owned())
            .collect();
        values.sort();
        values
    }
}

pub fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v2",
        "kind": "CompositeResourceDefinition",
        "metadata": {"name": format!("orders.{GROUP}")},
        "spec": {
            "group": GROUP,
            "names": {"kind": "Order", "plural": "orders"},
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "referenceable": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {"type": "object", "properties": {
                        "values": {"type": "object", "additionalProperties": {"type": "string"}},
                    }}},
                }},
            }],
        },
    })
}

fn claimed_definition() -> Value {
    let mut definition = definition();
    definition["apiVersion"] = "apiextensions.crossplane.io/v1".into();
    definition["metadata"]["name"] = format!("xpurchases.{GROUP}").into();
    let spec = &mut definition["spec"];
    spec["scope"] = "LegacyCluster".into();
    spec["names"] = json!({"kind": "XPurchase", "plural": "xpurchases"});
    spec["connectionSecretKeys"] = json!(["user", "seen"]);
    spec["claimNames"] = json!({"kind": CLAIM, "plural": "purchases"});
    let schema = &mut spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    schema["spec"]["x-kubernetes-preserve-unknown-fields"] = true.into();
    definition
}

pub fn definition_path() -> String {
    format!("{DEFINITIONS}/orders.{GROUP}")
}

pub fn crd_path() -> String {
    format!("{}/orders.{GROUP}", crate::admin::DEFINITIONS)
}

pub fn composition(input: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": {"name": "orders"},
        "spec": {
            "compositeTypeRef": {"apiVersion": format!("{GROUP}/v1"), "kind": "Order"},
            "mode": "Pipeline",
            "pipeline": [{
                "step": "config-maps",
                "functionRef": {"name": "function-config-maps"},
                "input": {"apiVersion": "fn.example.org/v1", "kind": "Input", "value": input},
            }],
        },
    })
}

pub fn orders(namespace: &str) -> String {
    format!("/apis/{GROUP}/v1/namespaces/{namespace}/orders")
}

pub fn order(name: &str, values: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Order",
        "metadata": {"name": name}, "spec": {"values": values},
    })
}
