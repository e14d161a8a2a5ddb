//! What a step of the plan does.

use std::{sync::Arc, time::Duration};

use bridge_core::managed::names;
use bridge_engine::clock::Clock;
use serde_json::{Value, json};

use super::{
    plan::{Deed, Step},
    plugin_host::PluginHost,
    run::Course,
    user::Wish,
};

impl Course {
    /// Returns whether it ends the bridge.
    pub(super) fn take(&mut self, step: Step, host: &Arc<PluginHost>) -> bool {
        if self.takes_effect(step) {
            self.world.tally.count("step", step);
        }
        let world = &self.world;
        let object = |number: usize| {
            let (kind, name) = &self.plan.objects[number];
            world.object(kind, name)
        };
        match step {
            Step::Apply(number) => self.apply(number),
            Step::TerminateOne(number) => world.process(number).stop.cancel(),
            Step::KillOne(number) => world.process(number).kill(),
            Step::Stall(number, seconds) => {
                let (world, valve) = (Arc::clone(world), world.process(number).valve);
                valve.close();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
                    valve.open(world.time.now());
                });
            }
            Step::Rotate => {
                self.size += 1;
                world.make_password(self.size);
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
                    world.tally.count("step", step);
                }
            }
            Step::Foreign(number) => {
                if object(number).foreign() {
                    world.tally.count("step", step);
                }
            }
            Step::Usurp(number) => {
                let removed = object(number).remove_by_hand();
                if object(number).foreign() && removed {
                    world.tally.count("step", step);
                }
            }
            Step::Spoil(number) => {
                object(number).patch(&json!({"spec": {"forProvider": {"invalid": true}}}));
            }
            Step::KillBridge | Step::TerminateBridge => return true,
            Step::KillBridgeAt(requests, side, deed) => {
                self.deed = deed;
                world.crash.arm(requests, side);
            }
            Step::KillPlugin => host.die(),
            Step::ApiDown(seconds) => {
                world.kube.state().down = true;
                let world = Arc::clone(world);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
                    world.kube.state().down = false;
                });
            }
            Step::CloudDown(seconds) => {
                world.cloud.lock().mood.down = true;
                let world = Arc::clone(world);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
                    world.cloud.lock().mood.down = false;
                });
            }
            Step::CutWatches => world.kube.state().cut_watches(),
            Step::Compact => world.kube.state().compact(),
            Step::ForgetOperations => world.cloud.lock().mood.forgets_operations = true,
        }
        world.watch_api(None);
        false
    }

    /// Whether there is anything for it to do, as far as is known before it is taken.
    fn takes_effect(&self, step: Step) -> bool {
        let exists = |number: usize| {
            let (kind, name) = &self.plan.objects[number];
            self.world.object(kind, name).get().is_some()
        };
        match step {
            Step::Apply(number) => !exists(number),
            Step::Resize(number)
            | Step::Delete(number)
            | Step::Pause(number)
            | Step::Unpause(number)
            | Step::Spoil(number) => exists(number),
            Step::TerminateOne(number) | Step::KillOne(number) | Step::Stall(number, _) => {
                number < self.world.bridges
            }
            Step::Rotate => self.plan.password,
            // These tell it themselves.
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

    pub(super) fn do_deed(&self) {
        self.world.tally.count("and then", self.deed);
        self.world.log.note(|| format!("{:?}", self.deed));
        for (kind, name) in &self.plan.objects {
            let object = self.world.object(kind, name);
            match self.deed {
                Deed::Nothing => {}
                Deed::Resize => object.patch(&json!({"spec": {"forProvider": {"size": self.size + 1}}})),
                Deed::Pause => object.annotate(names::PAUSED, "true".into()),
                Deed::Delete => object.delete(),
            }
        }
        self.world.watch_api(None);
    }

    fn apply(&self, number: usize) {
        let plan = &self.plan;
        let (kind, name) = &plan.objects[number];
        let rival = (plan.rivals && number == 1).then(|| plan.objects[0].1.as_str());
        let wish = Wish {
            password: plan.password,
            policies: plan.policies,
            external_name: rival,
        };
        self.world.object(kind, name).apply(&wish);
    }
}
