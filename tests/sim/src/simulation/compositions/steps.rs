//! What a step of the plan does.

use std::{sync::Arc, time::Duration};

use bridge_core::composite::names;
use bridge_engine::clock::Clock;
use serde_json::{Value, json};

use super::{
    plan::{Propagation, Step},
    run::Run,
    user::Object,
};
use crate::simulation::function_host::FunctionHost;

impl Run {
    pub(super) fn object(&self, number: usize) -> Object<'_> {
        let (kind, name) = &self.plan.objects[number];
        Object {
            environment: &self.environment,
            kind: *kind,
            name,
        }
    }

    /// Returns whether it ends the bridge.
    pub(super) fn take(&mut self, step: Step, function: &Arc<FunctionHost>) -> bool {
        let environment = Arc::clone(&self.environment);
        let paused = |value: Value| json!({"metadata": {"annotations": {names::PAUSED: value}}});
        let mut takes_effect = true;
        match step {
            Step::Apply(number) => {
                takes_effect = self.object(number).get().is_none();
                self.object(number).apply();
            }
            Step::Resize(number, size) => self.object(number).patch(&json!({"spec": {"size": size}})),
            Step::Delete(number, propagation) => {
                takes_effect = self.object(number).get().is_some();
                // Without a collector nothing would take the finalizer of the other one off.
                let propagation = if self.plan.no_collector {
                    Propagation::Background
                } else {
                    propagation
                };
                self.object(number).delete(propagation);
            }
            Step::Pause(number) => self.object(number).patch(&paused("true".into())),
            Step::Unpause(number) => self.object(number).patch(&paused(Value::Null)),
            Step::DeleteComposed(number, which) => takes_effect = self.object(number).delete_composed(which),
            Step::Compose(kind) => {
                let variant = self.variants.entry(kind).or_default();
                *variant += 1;
                environment.compose(kind, *variant);
            }
            Step::KillBridge | Step::TerminateBridge => {}
            Step::KillBridgeAt(requests, side) => environment.crash.arm(requests, side),
            Step::TerminateOne(number) => environment.process(number).stop.cancel(),
            Step::KillOne(number) => environment.process(number).kill(),
            Step::Stall(number, seconds) => {
                let valve = environment.process(number).valve;
                valve.close();
                let environment = Arc::clone(&environment);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
                    valve.open(environment.time.now());
                });
            }
            Step::KillFunction => function.die(),
            Step::HangFunction(seconds) => function.hang(Duration::from_secs(seconds.into())),
            Step::ApiDown(seconds) => {
                environment.kube.state().down = true;
                let environment = Arc::clone(&environment);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
                    environment.kube.state().down = false;
                });
            }
            Step::CutWatches => environment.kube.state().cut_watches(),
            Step::Compact => environment.kube.state().compact(),
        }
        if takes_effect {
            environment.coverage.count("step", step);
        }
        environment.watch_compositions(None);
        matches!(step, Step::KillBridge | Step::TerminateBridge)
    }
}
