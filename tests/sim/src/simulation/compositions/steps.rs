//! What a step of the plan does.

use std::{sync::Arc, time::Duration};

use bridge_core::composite::names;
use bridge_engine::clock::Clock;
use serde_json::{Value, json};

use super::{
    invariants::Sender,
    manifests::{self, Kind},
    plan::{Propagation, Step},
    run::{Hosts, Run},
    secrets,
    user::Object,
};

impl Run {
    pub(super) fn object(&self, number: usize) -> Object<'_> {
        let (kind, name) = &self.plan.objects[number];
        Object {
            environment: &self.environment,
            kind: *kind,
            name,
        }
    }

    /// How often a definition was edited.
    pub(super) fn edits_of(&self, kind: Kind) -> u32 {
        self.edits.get(&kind).copied().unwrap_or_default()
    }

    /// Applies an object as the plan has it.
    fn apply(&self, number: usize) {
        let object = self.object(number);
        let mut spec = json!({"size": 1});
        if self.plan.program.has_secrets && object.kind == Kind::Purchase {
            spec["writeConnectionSecretToRef"] = json!({"name": secrets::of_claim(object.name)});
        }
        let mut annotations = json!({});
        if self.plan.short_deadline {
            annotations[names::DELETION_DEADLINE] = "3s".into();
        }
        object.apply(&json!({
            "metadata": {"name": object.name, "annotations": annotations}, "spec": spec,
        }));
    }

    /// Returns whether it ends the bridge.
    pub(super) fn take(&mut self, step: Step, hosts: &Hosts) -> bool {
        let environment = Arc::clone(&self.environment);
        let paused = |value: Value| json!({"metadata": {"annotations": {names::PAUSED: value}}});
        let mut takes_effect = true;
        match step {
            Step::Apply(number) => {
                takes_effect = self.object(number).get().is_none();
                self.apply(number);
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
                environment.compose(kind, *variant, &self.plan.program);
            }
            Step::Hold(number, which) => {
                let path = self.object(number).composed(which);
                takes_effect = path.as_ref().is_some_and(|path| environment.set_held(path, true));
                self.held.extend(path);
            }
            Step::Meddle(number) => self.object(number).patch(&manifests::meddling()),
            Step::DeleteDefinition(kind) => takes_effect = environment.undefine(kind),
            Step::Define(kind) => takes_effect = environment.define(kind, self.edits_of(kind)),
            Step::EditDefinition(kind) => {
                let edits = self.edits.entry(kind).or_default();
                *edits += 1;
                takes_effect = environment.edit_definition(kind, *edits);
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
            Step::KillPlugin => hosts.plugin.die(),
            Step::CloudDown(seconds) => {
                environment.cloud.lock().profile.down = true;
                let environment = Arc::clone(&environment);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
                    environment.cloud.lock().profile.down = false;
                });
            }
            Step::KillFunction => hosts.function.die(),
            Step::HangFunction(seconds) => hosts.function.hang(Duration::from_secs(seconds.into())),
            Step::FailFunction(profile, seconds) => environment.fail_function(profile, seconds),
            Step::ChangeSetting(number) => {
                self.settings += 1;
                environment.change_setting(number, self.settings);
            }
            Step::DeleteSetting(number) => takes_effect = environment.delete_setting(number),
            Step::Standalone(number, action) => takes_effect = self.take_usage_action(number, action),
            Step::Release(number, released) => takes_effect = self.object(number).release(released),
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
        environment.watch_compositions(None, Sender::default());
        matches!(step, Step::KillBridge | Step::TerminateBridge)
    }
}
