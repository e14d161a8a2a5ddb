//! Usages that no composite resource composes: a user creates them, and what they are about.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    manifests::NAMESPACE,
    plan::{Plan, Step},
    run::Run,
    state::{self, condition, is_deleting},
};
use crate::simulation::{chance::Chance, environment::Environment};

/// What users delete goes in this time once nothing goes wrong any more.
const GONE_WITHIN: Duration = Duration::from_mins(2);

/// How a user names what a usage is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    ByName,
    BySelector,
    /// Of what uses it: there is a reason alone.
    Nowhere,
}

/// A usage of one `ConfigMap` by another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standalone {
    of: Naming,
    by: Naming,
    replays: bool,
}

/// Which of the three objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Used,
    Using,
    Usage,
}

/// What a user does with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UsageAction {
    Create(Part),
    Delete(Part),
    /// All of them one right after the other, in one of the orders.
    BulkDelete(u32),
    /// The using one has the finalizer of a person, or no more.
    Hold,
    LetGo,
}

use Part::{Usage, Used, Using};

const ORDERS: [[Part; 3]; 4] = [
    [Used, Using, Usage],
    [Usage, Using, Used],
    [Using, Usage, Used],
    [Usage, Used, Using],
];

impl Plan {
    /// Users protect what they have made, delete all of it in any order, and make it again.
    pub(super) fn draw_standalone(&mut self, chance: &Chance, length: u32) {
        if !chance.happens(0.5) {
            return;
        }
        for number in 0..=(chance.below(2) as usize) {
            let by = [(4, Naming::ByName), (3, Naming::BySelector), (1, Naming::Nowhere)];
            self.standalone.push(Standalone {
                of: chance.weighted(&by[..2]).unwrap_or(Naming::ByName),
                by: chance.weighted(&by).unwrap_or(Naming::ByName),
                replays: chance.happens(0.3),
            });
            let mut take = |at: Duration, action| self.steps.push((at, Step::Standalone(number, action)));
            for part in [Used, Using, Usage] {
                take(chance.millis(4_000), UsageAction::Create(part));
            }
            for _ in 0..chance.below(5) {
                take(chance.millis(length), Self::usage_action(chance));
            }
            if chance.happens(0.6) {
                let at = chance.millis(length);
                if chance.happens(0.7) {
                    take(at.saturating_sub(Duration::from_secs(1)), UsageAction::Hold);
                    take(at + chance.millis(40_000), UsageAction::LetGo);
                }
                take(at, UsageAction::BulkDelete(chance.below(4)));
            }
        }
    }

    fn usage_action(chance: &Chance) -> UsageAction {
        let part = [Used, Using, Usage][chance.below(3) as usize];
        let choices = [
            (3, UsageAction::Create(part)),
            (4, UsageAction::Delete(part)),
            (1, UsageAction::BulkDelete(chance.below(4))),
        ];
        chance.weighted(&choices).unwrap_or(UsageAction::Create(part))
    }
}

fn name(part: Part, number: usize) -> String {
    match part {
        Used => format!("used-{number}"),
        Using => format!("using-{number}"),
        Usage => format!("uses-{number}"),
    }
}

fn collection(part: Part) -> &'static str {
    match part {
        Used | Using => "/api/v1/namespaces/default/configmaps",
        Usage => "/apis/protection.crossplane.io/v1beta1/namespaces/default/usages",
    }
}

fn path(part: Part, number: usize) -> String {
    format!("{}/{}", collection(part), name(part, number))
}

impl Standalone {
    fn object(self, part: Part, number: usize) -> Value {
        let own = name(part, number);
        if part != Usage {
            return json!({"metadata": {"name": own, "labels": {"role": own}}, "data": {"own": "yes"}});
        }
        let side = |part: Part, naming: Naming| {
            let name = name(part, number);
            let mut side = json!({"apiVersion": "v1", "kind": "ConfigMap"});
            if naming == Naming::ByName {
                side["resourceRef"] = json!({"name": name});
            } else {
                side["resourceSelector"] = json!({"matchLabels": {"role": name}});
            }
            side
        };
        let mut spec = json!({"of": side(Used, self.of)});
        if self.by == Naming::Nowhere {
            spec["reason"] = "it is still needed".into();
        } else {
            spec["by"] = side(Using, self.by);
        }
        if self.replays {
            spec["replayDeletion"] = true.into();
        }
        json!({"metadata": {"name": own}, "spec": spec})
    }
}

impl Environment {
    fn delete_part(&self, part: Part, number: usize) -> bool {
        let (code, _) = self
            .kube
            .request(&Method::DELETE, &path(part, number), &Value::Null);
        code < 300
    }
}

impl Run {
    /// Returns whether it had any effect.
    pub(super) fn take_usage_action(&mut self, number: usize, action: UsageAction) -> bool {
        let environment = &self.environment;
        let takes_effect = match action {
            UsageAction::Create(part) => {
                let object = self.plan.standalone[number].object(part, number);
                let collection = collection(part);
                environment.kube.request(&Method::POST, collection, &object).0 < 300
            }
            UsageAction::Delete(part) => environment.delete_part(part, number),
            UsageAction::BulkDelete(order) => {
                let deleted = ORDERS[order as usize].map(|part| environment.delete_part(part, number));
                deleted.into_iter().any(|deleted| deleted)
            }
            UsageAction::Hold => {
                let path = path(Using, number);
                let is_held = environment.set_held(&path, true);
                self.held.insert(path);
                is_held
            }
            UsageAction::LetGo => environment.set_held(&path(Using, number), false),
        };
        if takes_effect {
            self.environment.coverage.count("usage", action);
        }
        takes_effect
    }

    /// Users delete all of them, what is in use as soon as it is no more.
    pub(super) fn delete_standalone(&self) {
        for number in 0..self.plan.standalone.len() {
            for part in [Usage, Using, Used] {
                self.environment.delete_part(part, number);
            }
        }
    }

    /// In the end none of them is left, nor a mark that keeps what they were about.
    pub(super) async fn ends_without_standalone(&self) {
        let end = Instant::now() + GONE_WITHIN;
        loop {
            self.delete_standalone();
            let left: Vec<String> = {
                let state = self.environment.kube.state();
                let of = |number: usize| {
                    [
                        ("configmaps", "", name(Used, number)),
                        ("configmaps", "", name(Using, number)),
                        ("usages", "protection.crossplane.io", name(Usage, number)),
                    ]
                };
                (0..self.plan.standalone.len())
                    .flat_map(of)
                    .filter(|(plural, group, name)| state.object(plural, group, NAMESPACE, name).is_some())
                    .map(|(_, _, name)| name)
                    .collect()
            };
            if left.is_empty() {
                return;
            }
            if Instant::now() > end {
                self.environment
                    .blame(format!("these were deleted, and are left: {left:?}"));
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// One whose resources exist protects the used one, and none is left that was to go.
    pub(super) fn trouble_of_standalone(&self) -> Option<String> {
        let state = self.environment.kube.state();
        let mut all = self.plan.standalone.iter().enumerate();
        all.find_map(|(number, standalone)| {
            let own = name(Usage, number);
            let usage = state.object("usages", "protection.crossplane.io", NAMESPACE, &own)?;
            let conditions = || usage["status"]["conditions"].to_string();
            if is_deleting(usage) {
                return Some(format!("{own} is still being deleted: {}", conditions()));
            }
            let exists = |part: Part| {
                state
                    .object("configmaps", "", NAMESPACE, &name(part, number))
                    .is_some()
            };
            let has_all = exists(Used) && (standalone.by == Naming::Nowhere || exists(Using));
            if has_all && condition(usage, "Ready").0 != "True" {
                return Some(format!("{own} is not ready: {}", conditions()));
            }
            let used = state.object("configmaps", "", NAMESPACE, &name(Used, number))?;
            let is_marked = !has_all || state::is_in_use(used);
            (!is_marked).then(|| format!("{own} is ready, and what it protects has no mark"))
        })
    }
}
