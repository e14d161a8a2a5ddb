//! What may come from outside at any moment.

use std::time::Duration;

use bridge_core::{
    external::Document,
    managed::{Policies, Problem, Suspension, names},
};
use serde_json::json;

use crate::{
    choose::Faults,
    invariants::record_of,
    reference_model::{A, Model, config},
};

/// Something that comes from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The leader dies, and another process takes its place.
    Crash,
    /// The lease moves; the former leader stands still where it is, and goes on after so many seconds.
    LeaseMoves(u64),
    /// The leader stands still for so many seconds.
    Stalls(u64),
    /// The watch of the leader brings nothing for a while.
    WatchLags,
    Edit,
    EditToInvalid,
    Delete,
    Pause,
    TakePoliciesAway,
    Rename,
    RemovedByHand,
    /// Somebody else makes one of our name.
    Foreign,
    Suspension,
    ConfigGoes,
    /// The config means another account, where somebody else has what ours is called.
    OtherAccount,
    SecretChanges,
    SecretGoes,
    OperationsAreForgotten,
    /// Updates that run as operations come to nothing, unreported.
    UpdatesAreLost,
    EditFixed,
    /// A field drifts that cannot be changed in place.
    FixedDrifts,
    /// A person approves a replacement, whether or not one is asked about: of the present generation less so many.
    Approves(i64),
    /// The marker is removed by hand.
    MarkerIsLost,
}

const ALL: &[Event] = &[
    Event::Crash,
    Event::LeaseMoves(0),
    Event::LeaseMoves(8),
    Event::LeaseMoves(14),
    Event::LeaseMoves(40),
    Event::Stalls(4),
    Event::Stalls(9),
    Event::Stalls(40),
    Event::Edit,
    Event::EditToInvalid,
    Event::Delete,
    Event::Pause,
    Event::TakePoliciesAway,
    Event::Rename,
    Event::RemovedByHand,
    Event::WatchLags,
    Event::Suspension,
    Event::ConfigGoes,
    Event::OtherAccount,
    Event::SecretChanges,
    Event::SecretGoes,
    Event::OperationsAreForgotten,
    Event::UpdatesAreLost,
    Event::EditFixed,
    Event::FixedDrifts,
    Event::Approves(0),
    Event::Approves(1),
    Event::MarkerIsLost,
    Event::Foreign,
];

const CRASHES: &[Event] = &[
    Event::Crash,
    Event::LeaseMoves(0),
    Event::LeaseMoves(40),
    Event::WatchLags,
    Event::Delete,
];

/// Those that are possible.
pub fn possible(faults: Faults, foreigners: bool) -> &'static [Event] {
    match (faults, foreigners) {
        (Faults::Crashes, _) => CRASHES,
        (Faults::All, true) => ALL,
        (Faults::All, false) => &ALL[..ALL.len() - 1],
    }
}

impl Model {
    /// It happens.
    pub fn happens(&mut self, event: Event) {
        self.note(|| format!("EVENT {event:?}"));
        let leader = usize::from(!self.bridges[A].leads);
        let now = self.now;
        match event {
            Event::Crash => self.crash(leader),
            Event::LeaseMoves(still) => {
                let moves = |model: &mut Self| {
                    model.bridges[leader].leads = false;
                    model.bridges[leader].stalled_until = Some(now + Duration::from_secs(still));
                    model.bridges[1 - leader].take_the_lead();
                };
                moves(self);
                self.beside(moves);
            }
            Event::Stalls(still) => {
                self.bridges[leader].stalled_until = Some(now + Duration::from_secs(still));
            }
            Event::WatchLags => self.bridges[leader].lags_until = Some(now + Duration::from_secs(6)),
            Event::Edit => self.edit("size", json!(7)),
            Event::EditToInvalid => self.edit("invalid", json!(true)),
            Event::Delete => self.etcd.delete(now),
            Event::Pause => self.etcd.annotate(names::PAUSED, Some("true")),
            Event::TakePoliciesAway => self.etcd.edit(|object| {
                object.managed.policies = Policies::of(&json!({"managementPolicies": ["Observe", "Delete"]}));
            }),
            Event::Rename => self.etcd.annotate(names::EXTERNAL_NAME, Some("elsewhere")),
            Event::RemovedByHand => self.cloud.remove_by_hand(|one| !one.made_for.is_empty()),
            Event::Foreign => {
                let name = if self.subject.is_named_upstream() {
                    "foreign"
                } else {
                    "thing"
                };
                let parameters = json!({"size": 1}).as_object().cloned().unwrap_or_default();
                self.cloud.foreign(name, "", &parameters, now);
            }
            Event::Suspension => {
                self.suspension = Some(Suspension {
                    until: now + Duration::from_secs(7),
                    problem: problem("Throttled"),
                });
            }
            Event::ConfigGoes => self.config = Err(problem("ProviderConfigNotFound")),
            Event::OtherAccount => self.another_account(),
            Event::SecretChanges => {
                self.sensitive = crate::cloud::secrets(&[("/password", "canary-2")]);
            }
            Event::SecretGoes => self.secret_missing = true,
            Event::OperationsAreForgotten => self.cloud.forget_operations(),
            Event::UpdatesAreLost => self.cloud.lose_updates(),
            Event::EditFixed => self.edit_fixed(),
            Event::FixedDrifts => self.fixed_drifts(),
            Event::Approves(less) => {
                let object = self.etcd.object.as_ref();
                let generation = object.map(|object| object.managed.generation - less);
                if let Some(generation) = generation {
                    self.approve(&generation.to_string());
                }
            }
            Event::MarkerIsLost => self.marker_is_lost(),
        }
        self.wake_all();
        self.beside(Self::wake_all);
        self.check();
    }

    fn another_account(&mut self) {
        let now = self.now;
        self.config = Ok(config("account-2"));
        let object = self.etcd.object.as_ref();
        let made = object.and_then(record_of).filter(|record| {
            object.is_some_and(|object| object.managed.confirms(record)) && !record.external_name.is_empty()
        });
        if let Some(record) = made {
            self.cloud
                .foreign_in("account-2", &record.external_name, "", &Document::new(), now);
        }
    }
}

fn problem(reason: &str) -> Problem {
    Problem {
        reason: reason.to_owned(),
        message: "something is in the way".to_owned(),
    }
}
