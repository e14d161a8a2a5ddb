//! What refuses deletions of what is in use, on a control plane of its own.

mod certificates;
mod policy;
mod replay;
mod stale_label;
mod webhook;

use std::{process::Output, sync::Arc};

use bridge_control_plane::Options;
use bridge_control_planes::TestPlane;
use bridge_core::lease::Timing;
use bridge_engine::{
    api_error::ApiError,
    clock::SystemClock,
    engine::Engine,
    lease::{ElectionOptions, Elector, Leadership},
    protection::{Guard, GuardOptions, GuardState, UsageGuard, WebhookOptions},
};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::stage::Stage;
use crate::{
    admin::Admin,
    harness::{engine, within},
};

/// The bridge's own namespace.
const SYSTEM: &str = "system";
const MAPS: &str = "/api/v1/namespaces/shop/configmaps";

struct GuardStage {
    admin: Admin,
    plane: TestPlane,
}

/// Waits until a guard is in force.
async fn proved(guard: &UsageGuard) {
    let mut changes = guard.changes();
    within(changes.wait_for(|state| *state == GuardState::Proved))
        .await
        .unwrap();
}

/// One process.
struct Replica {
    guard: UsageGuard,
    // After the guard, which uses it.
    engine: Engine,
    _gate: watch::Sender<bool>,
}

impl GuardStage {
    async fn new(options: Options) -> Self {
        let Stage { admin, plane } = Stage::with(options).await;
        admin.namespace(SYSTEM).await;
        admin.namespace("shop").await;
        Self { admin, plane }
    }

    async fn policy(&self) -> Replica {
        let (engine, gate) = engine(self.plane.kubeconfig()).await;
        Replica {
            guard: UsageGuard::policy(&engine, options(Leadership::unopposed())),
            engine,
            _gate: gate,
        }
    }

    async fn webhook(&self, webhook: WebhookOptions) -> Replica {
        let (engine, gate) = engine(self.plane.kubeconfig()).await;
        Replica {
            guard: UsageGuard::webhook(&engine, options(Leadership::unopposed()), webhook),
            engine,
            _gate: gate,
        }
    }

    /// Likewise, of one that never leads.
    async fn standby(&self, webhook: WebhookOptions) -> Replica {
        let (engine, gate) = engine(self.plane.kubeconfig()).await;
        let election = ElectionOptions {
            namespace: SYSTEM.to_owned(),
            name: "bridge".to_owned(),
            identity: "standby".to_owned(),
            timing: Timing::default(),
        };
        let (_, leadership) = Elector::new(&engine.clients.write, Arc::new(SystemClock), &election);
        Replica {
            guard: UsageGuard::webhook(&engine, options(leadership), webhook),
            engine,
            _gate: gate,
        }
    }

    /// Somebody makes a `ConfigMap` that is in use, or is not.
    async fn map(&self, name: &str, in_use: bool) -> Value {
        let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        if in_use {
            map["metadata"]["labels"] = json!({"crossplane.io/in-use": "true", "set": "a"});
            let text = format!("Usage shop/protect-{name}: app uses {name}");
            map["metadata"]["annotations"] = json!({"crossbridge.dev/in-use-by": text});
        }
        self.admin.create(MAPS, &map).await.unwrap()
    }

    async fn delete(&self, name: &str) -> Result<Value, ApiError> {
        self.admin.delete(&format!("{MAPS}/{name}")).await
    }

    /// Why it is not deleted.
    async fn refusal(&self, name: &str) -> String {
        let refused = self.delete(name).await.map(|_| "it was deleted");
        assert!(self.admin.get(&format!("{MAPS}/{name}")).await.is_ok());
        refused.unwrap_err().to_string()
    }

    async fn kubectl(&self, words: &[&str]) -> Output {
        let mut kubectl = tokio::process::Command::new(self.plane.kubectl());
        kubectl
            .arg("--kubeconfig")
            .arg(self.plane.kubeconfig())
            .args(words);
        kubectl.output().await.unwrap()
    }
}

impl Replica {
    async fn proved(&self) {
        proved(&self.guard).await;
    }

    /// Waits until it says why it is not proved, in these words.
    async fn says(&self, words: &str) {
        let mut changes = self.guard.changes();
        let says = async {
            let says_so = |state: &GuardState| matches!(state, GuardState::NotProved { message } if message.contains(words));
            changes.wait_for(says_so).await.unwrap();
        };
        let said = tokio::time::timeout(crate::harness::LIMIT, says).await;
        assert!(said.is_ok(), "{words}: it says {:?}", self.guard.proved());
    }
}

fn options(leadership: Leadership) -> GuardOptions {
    GuardOptions {
        namespace: SYSTEM.to_owned(),
        leadership,
    }
}
