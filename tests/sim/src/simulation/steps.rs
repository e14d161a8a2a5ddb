//! What a step of the plan does.

use std::{sync::Arc, time::Duration};

use bridge_core::managed::names;
use bridge_engine::clock::Clock;
use serde_json::{Value, json};

use super::{
    plan::{Step, UserAction},
    plugin_host::PluginHost,
    run::Run,
    user::ManifestFields,
};

impl Run {
    /// Returns whether it ends the bridge.
    pub(super) fn take(&mut self, step: Step, host: &Arc<PluginHost>) -> bool {
        if self.takes_effect(step) {
            self.environment.coverage.count("step", step);
        }
        let environment = &self.environment;
        let object = |number: usize| {
            let (kind, name) = &self.plan.objects[number];
            environment.object(kind, name)
        };
        match step {
            Step::Apply(number) => self.apply(number),
            Step::TerminateOne(number) => environment.process(number).stop.cancel(),
            Step::KillOne(number) => environment.process(number).kill(),
            Step::Stall(number, seconds) => {
                let (environment, valve) = (Arc::clone(environment), environment.process(number).valve);
                valve.close();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
                    valve.open(environment.time.now());
                });
            }
            Step::Rotate => {
                self.size += 1;
                environment.make_password(self.size);
            }
            Step::Resize(number) => {
                self.size += 1;
                object(number).patch(&json!({"spec": {"forProvider": {"size": self.size}}}));
            }
            Step::Delete(number) => object(number).delete(),
            Step::Pause(number) => object(number).annotate(names::PAUSED, "true".into()),
            Step::Unpause(number) => object(number).annotate(names::PAUSED, Value::Null),
            Step::RemoveByHand(number) => {
                if object(number).remove_by_hand() {
                    environment.coverage.count("step", step);
                }
            }
            Step::Foreign(number) => {
                if object(number).foreign() {
                    environment.coverage.count("step", step);
                }
            }
            Step::Usurp(number) => {
                let removed = object(number).remove_by_hand();
                if object(number).foreign() && removed {
                    environment.coverage.count("step", step);
                }
            }
            Step::Spoil(number) => {
                object(number).patch(&json!({"spec": {"forProvider": {"invalid": true}}}));
            }
            Step::KillBridge | Step::TerminateBridge => return true,
            Step::KillBridgeAt(requests, side, action) => {
                self.action = action;
                environment.crash.arm(requests, side);
            }
            Step::KillPlugin => host.die(),
            Step::ApiDown(seconds) => {
                environment.kube.state().down = true;
                let environment = Arc::clone(environment);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
                    environment.kube.state().down = false;
                });
            }
            Step::CloudDown(seconds) => {
                environment.cloud.lock().profile.down = true;
                let environment = Arc::clone(environment);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
                    environment.cloud.lock().profile.down = false;
                });
            }
            Step::CutWatches => environment.kube.state().cut_watches(),
            Step::Compact => environment.kube.state().compact(),
            Step::ForgetOperations => environment.cloud.lock().profile.forgets_operations = true,
        }
        environment.watch_api(None);
        false
    }

    /// Whether there is anything for it to do, as far as is known before it is taken.
    fn takes_effect(&self, step: Step) -> bool {
        let exists = |number: usize| {
            let (kind, name) = &self.plan.objects[number];
            self.environment.object(kind, name).get().is_some()
        };
        match step {
            Step::Apply(number) => !exists(number),
            Step::Resize(number)
            | Step::Delete(number)
            | Step::Pause(number)
            | Step::Unpause(number)
            | Step::Spoil(number) => exists(number),
            Step::TerminateOne(number) | Step::KillOne(number) | Step::Stall(number, _) => {
                number < self.environment.bridges
            }
            Step::Rotate => self.plan.password,
            // These return it themselves.
            Step::RemoveByHand(_) | Step::Foreign(_) | Step::Usurp(_) => false,
            Step::KillBridge
            | Step::KillBridgeAt(..)
            | Step::TerminateBridge
            | Step::KillPlugin
            | Step::ApiDown(_)
            | Step::CloudDown(_)
            | Step::CutWatches
            | Step::Compact
            | Step::ForgetOperations => true,
        }
    }

    pub(super) fn do_user_action(&self) {
        self.environment.coverage.count("and then", self.action);
        self.environment.log.note(|| format!("{:?}", self.action));
        for (kind, name) in &self.plan.objects {
            let object = self.environment.object(kind, name);
            match self.action {
                UserAction::Nothing => {}
                UserAction::Resize => {
                    object.patch(&json!({"spec": {"forProvider": {"size": self.size + 1}}}));
                }
                UserAction::Pause => object.annotate(names::PAUSED, "true".into()),
                UserAction::Delete => object.delete(),
            }
        }
        self.environment.watch_api(None);
    }

    fn apply(&self, number: usize) {
        let plan = &self.plan;
        let (kind, name) = &plan.objects[number];
        let rival = (plan.rivals && number == 1).then(|| plan.objects[0].1.as_str());
        let fields = ManifestFields {
            password: plan.password,
            policies: plan.policies,
            external_name: rival,
        };
        self.environment.object(kind, name).apply(&fields);
    }
}
