//! Gathers what a decision is made from.

use std::{sync::Arc, time::Duration};

use bridge_core::{
    external::Config,
    managed::{Found, Fresh, Hold, Memory, Problem, World},
};

use super::{holds::Gate, reconciler::ManagedReconciler, view};
use crate::object::Object;

/// How long a trial of a config may take.
const TRIAL_DEADLINE: Duration = Duration::from_secs(10);

impl ManagedReconciler {
    /// The world as it is now.
    pub(super) async fn gather(&self, object: &Object, memory: &Memory) -> World {
        let shared = &self.shared;
        let config = self.configs.resolve(object).await;
        let wish = super::wish::read(&self.kind, object, &shared.secrets, &shared.digester).await;
        let hold = match &config {
            Ok(config) => self.hold(config).await,
            Err(_) => None,
        };
        World {
            kind: Arc::clone(&self.kind),
            managed: view::managed(object),
            wish,
            bare: super::wish::bare(&self.kind, object),
            config,
            hold,
            blocker: None,
            rival: self.rival(object, memory),
            may_act: self.may_go_on(memory),
            marker: view::ownership_marker(&shared.cluster_id, object.uid()),
            plugin_version: self.plugin_version.clone(),
            settings: Arc::clone(&shared.settings),
            fresh: Fresh {
                token: uuid::Uuid::new_v4().to_string(),
                question: format!("{:08x}", rand::random::<u32>()),
                jitter: fastrand::f64(),
            },
            now: shared.clock.now(),
        }
    }

    /// While draining, a call whose intent stands is sent all the same: else nobody would know what became of it.
    fn may_go_on(&self, memory: &Memory) -> bool {
        self.shared.may_begin() || self.shared.leads() && memory.may_send.is_some()
    }

    async fn hold(&self, config: &Config) -> Option<Hold> {
        let group = &self.kind.capabilities.rate_limit_group;
        let holds = &self.shared.holds;
        match holds.gate(config, group, self.shared.clock.now()) {
            Gate::Open => return None,
            Gate::Held(hold) => return Some(hold),
            Gate::Try => {}
        }
        let deadline = self.shared.clock.now() + TRIAL_DEADLINE;
        let tried = self.external.check_config(config, deadline).await;
        let now = self.shared.clock.now();
        match tried {
            Ok(Ok(_)) => {
                holds.worked(config, group);
                None
            }
            Ok(Err(failure)) => {
                holds.learn(config, group, &failure, now, fastrand::f64());
                match holds.gate(config, group, now) {
                    Gate::Held(hold) => Some(hold),
                    // It failed for a reason that is no fault of the config.
                    Gate::Open | Gate::Try => None,
                }
            }
            Err(error) => Some(Hold {
                until: now + TRIAL_DEADLINE,
                problem: Problem {
                    reason: "ConfigNotChecked".to_owned(),
                    message: error.to_string(),
                },
            }),
        }
    }

    fn rival(&self, object: &Object, memory: &Memory) -> Option<String> {
        let Some(Found::There(observation)) = memory.looked.as_ref().map(|looked| &looked.found) else {
            return None;
        };
        let name = match object.namespace() {
            Some(namespace) => format!("{} {namespace}/{}", self.kind.resource_type.kind, object.name()),
            None => format!("{} {}", self.kind.resource_type.kind, object.name()),
        };
        self.shared
            .claims
            .claim(&observation.canonical_id, object.uid(), &name)
    }
}
