//! What must hold after every step. Each invariant is one named function.

use bridge_core::{
    external::{OperationVerb, Verb},
    managed::{Call, IntentVerb, MetadataChange, Record, Status, Stored, names},
};
use jiff::Timestamp;

use crate::{
    etcd::Object,
    kinds::CALL,
    reference_model::{A, B, Model, marker, verb},
    replacement::Replacements,
};

/// What was seen to go wrong, and what is needed to see it.
#[derive(Debug, Clone, Default)]
pub struct Watcher {
    pub violations: Vec<String>,
    paused_since: Option<Timestamp>,
    removed: usize,
    /// The version that has been looked at.
    seen: (u64, u64),
    /// An Update took effect after its caller gave up: an old secret may have come back, and no look can tell.
    pub late_update: bool,
    /// Somebody else makes things of our name: what a kind without MARKER recovery takes cannot be told from ours.
    pub foreigners: bool,
    pub replacements: Replacements,
}

impl Watcher {
    pub fn paused_since(&self) -> Option<Timestamp> {
        self.paused_since
    }

    pub fn paused_since_mut(&mut self) -> &mut Option<Timestamp> {
        &mut self.paused_since
    }

    pub fn violation(&mut self, what: impl Into<String>) {
        self.violations.push(what.into());
    }
}

impl Model {
    /// A call is about to leave.
    pub fn watch_send(&mut self, b: usize, call: &Call) {
        let consecutive_failures = [self.no_poll_of_a_removal_speaks_of_the_successor(call)];
        self.blame(consecutive_failures);
        if !(matches!(call.verb, Verb::Create | Verb::Update | Verb::Delete) || self.is_driven(call)) {
            return;
        }
        let consecutive_failures = [
            self.nothing_is_sent_after_its_deadline(b, call),
            self.nothing_is_sent_while_paused(b, call),
            self.nothing_is_sent_for_what_is_gone(b, call),
            self.no_create_without_a_persisted_intent(call),
            self.no_delete_while_a_create_may_run(call),
            self.one_approval_replaces_one_resource(call),
        ];
        self.blame(consecutive_failures);
    }

    /// A metadata write is about to be carried out.
    pub fn watch_write(&mut self, base: &Object, change: &MetadataChange) {
        let current = self.etcd.object.as_ref();
        if current.is_none_or(|current| current.managed.resource_version != base.managed.resource_version) {
            return; // It will be refused.
        }
        let consecutive_failures = [
            Self::no_intent_while_paused(base, change),
            self.no_new_token_while_an_old_one_may_act(base, change),
        ];
        self.blame(consecutive_failures);
    }

    /// A status write is about to be carried out: it may record a Delete.
    pub fn watch_status(&mut self, base: &Object, status: &Status) {
        let current = self.etcd.object.as_ref();
        if current.is_none_or(|current| current.managed.resource_version != base.managed.resource_version) {
            return; // It will be refused.
        }
        let Some(pending) = &status.progress.deletion else {
            return;
        };
        if base.managed.status.progress.deletion.as_ref() == Some(pending) {
            return;
        }
        let paused = base.managed.paused();
        let consecutive_failures = [
            paused.then(|| "a Delete is recorded in the status while paused".to_owned()),
            self.no_other_token_may_act(base, &pending.token),
        ];
        self.blame(consecutive_failures);
    }

    /// A call took effect.
    pub fn watch_effect(&mut self, _: &Call) {
        let consecutive_failures = [self.nothing_of_others_is_deleted()];
        self.watcher.removed = self.cloud.removed.len();
        self.blame(consecutive_failures);
    }

    /// After every step.
    pub fn check(&mut self) {
        let paused = self
            .etcd
            .object
            .as_ref()
            .is_some_and(|object| object.managed.paused());
        self.watcher.paused_since = paused.then(|| self.watcher.paused_since.unwrap_or(self.now));
        let consecutive_failures = [
            self.at_most_one_external_object(),
            self.nothing_is_left_behind(),
            self.a_go_reconciler_would_ask(),
            self.no_secret_is_told(),
        ];
        self.blame(consecutive_failures);
    }

    /// Fails the test if anything was seen to go wrong.
    pub fn verify(&self) {
        assert!(
            self.watcher.violations.is_empty(),
            "{}\n{}",
            self.watcher.violations.join("\n"),
            self.log.join("\n")
        );
    }

    pub fn blame<const N: usize>(&mut self, consecutive_failures: [Option<String>; N]) {
        for violation in consecutive_failures.into_iter().flatten() {
            if !self.watcher.violations.contains(&violation) {
                self.note(|| format!("VIOLATION {violation}"));
                self.watcher.violation(violation);
            }
        }
    }

    fn at_most_one_external_object(&self) -> Option<String> {
        let gone = self.etcd.gone.iter().map(|gone| gone.uid.as_str());
        let here = self.etcd.object.iter().map(|object| object.managed.uid.as_str());
        let doubled = gone.chain(here).find(|uid| self.cloud.made_for(uid).len() > 1)?;
        Some(format!("DOUBLE: two external objects for {doubled}"))
    }

    fn nothing_is_left_behind(&self) -> Option<String> {
        let can_delete = self.subject.kind.capabilities.can_delete;
        let left = self
            .etcd
            .gone
            .iter()
            .find(|gone| can_delete && !gone.orphaned && self.leaves_behind(&gone.uid))?;
        Some(format!(
            "LEAK: {} is gone, and its external object is not",
            left.uid
        ))
    }

    /// A resource that lost its marker may be left.
    fn leaves_behind(&self, uid: &str) -> bool {
        let made = self.cloud.made_for(uid);
        made.iter().any(|one| !self.watcher.replacements.may_be_left(one))
    }

    fn nothing_of_others_is_deleted(&self) -> Option<String> {
        let by_marker = self
            .subject
            .recovers_by(bridge_core::kind::CreateRecovery::Marker);
        let wrong = self.cloud.removed[self.watcher.removed..]
            .iter()
            .find(|removed| {
                let ours =
                    removed.external.made_for == removed.by || removed.external.marker == marker(&removed.by);
                let excused = removed.external.made_for.is_empty() && self.watcher.foreigners && !by_marker;
                !removed.by.is_empty() && !ours && !excused
            })?;
        Some(format!(
            "WRONG: {} deleted {:?}, made for {:?}",
            wrong.by, wrong.external.name, wrong.external.made_for
        ))
    }

    /// Its own flaws aside, a Go reconciler that is swapped in must stop, where it would make a second one.
    fn a_go_reconciler_would_ask(&self) -> Option<String> {
        let managed = &self.etcd.object.as_ref()?.managed;
        if !self.subject.is_named_upstream() {
            return None;
        }
        let name = managed.annotation(names::EXTERNAL_NAME);
        // Whoever takes a recorded name away has done it himself.
        let recorded = || record_of(self.etcd.object.as_ref()?).map(|record| record.external_name);
        if !name.is_empty() || recorded().is_some_and(|name| !name.is_empty()) {
            return None;
        }
        let unknown = self
            .cloud
            .made_for(&managed.uid)
            .iter()
            .any(|one| one.name != name);
        let coming = self
            .flights
            .iter()
            .any(|flight| flight.call.verb == Verb::Create && flight.call.target.owner.uid == managed.uid);
        let time = |key: &str| managed.annotation(key).parse::<Timestamp>().ok();
        let asks = || {
            let ended = time(names::CREATE_SUCCEEDED).max(time(names::CREATE_FAILED));
            time(names::CREATE_PENDING).is_some_and(|pending| ended.is_none_or(|ended| pending > ended))
        };
        ((unknown || coming) && !asks())
            .then(|| "a Go reconciler that is swapped in would make a second one".to_owned())
    }

    fn no_secret_is_told(&mut self) -> Option<String> {
        let canary = |text: &str| text.contains("canary") || text.contains("Y2FuYXJ5");
        let reported = [A, B]
            .iter()
            .filter_map(|b| self.bridges[*b].reported.last())
            .any(|event| canary(&event.message));
        let object = self.etcd.object.as_ref()?;
        let beside = self.second.as_ref().map_or(0, |lane| lane.etcd.revision);
        let versions = (self.etcd.revision, beside);
        let seen = std::mem::replace(&mut self.watcher.seen, versions);
        if seen == versions && !reported {
            return None;
        }
        let leaked = reported
            || canary(&object.managed.status.write().to_string())
            || object.managed.annotations.values().any(|value| canary(value));
        leaked.then(|| "a secret stands in the record, the status or an event".to_owned())
    }

    fn nothing_is_sent_after_its_deadline(&self, b: usize, call: &Call) -> Option<String> {
        let now = self.clock(b);
        (now >= call.deadline || call.deadline > now + CALL).then(|| {
            format!(
                "{} is sent at {now}, its deadline is {}",
                verb(call),
                call.deadline
            )
        })
    }

    /// The moment at which the object was known to stand as it was.
    fn proof(&self, b: usize, call: &Call) -> Timestamp {
        call.deadline - CALL - self.bridges[b].offset
    }

    fn nothing_is_sent_while_paused(&self, b: usize, call: &Call) -> Option<String> {
        self.watcher
            .paused_since
            .filter(|since| *since < self.proof(b, call) && self.etcd.holds(&call.target.owner.uid))
            .map(|since| format!("{} is sent, though paused since {since}", verb(call)))
    }

    fn nothing_is_sent_for_what_is_gone(&self, b: usize, call: &Call) -> Option<String> {
        let uid = &call.target.owner.uid;
        let gone = self.etcd.gone.iter().find(|gone| gone.uid == *uid)?;
        (gone.at < self.proof(b, call)).then(|| format!("{} is sent for {uid}, which is gone", verb(call)))
    }

    fn no_create_without_a_persisted_intent(&self, call: &Call) -> Option<String> {
        if call.verb != Verb::Create {
            return None;
        }
        let intended = (
            IntentVerb::Create,
            call.token.clone(),
            call.attempt,
            call.deadline,
        );
        let persisted = self.etcd.intents.contains(&intended);
        (!persisted).then(|| format!("{} is sent without a persisted intent", verb(call)))
    }

    fn no_delete_while_a_create_may_run(&self, call: &Call) -> Option<String> {
        let removes = call.verb == Verb::Delete || call.operation == Some(OperationVerb::Delete);
        let coming = self.flights.iter().find(|flight| {
            let creates =
                flight.call.verb == Verb::Create || flight.call.operation == Some(OperationVerb::Create);
            creates && flight.call.target.owner.uid == call.target.owner.uid
        })?;
        removes.then(|| {
            format!(
                "{} is sent while {} may still take effect",
                verb(call),
                verb(&coming.call)
            )
        })
    }

    fn no_intent_while_paused(base: &Object, change: &MetadataChange) -> Option<String> {
        (change.allows.is_some() && base.managed.paused())
            .then(|| format!("an intent is written while paused: {}", change.why))
    }

    fn no_new_token_while_an_old_one_may_act(
        &self,
        base: &Object,
        change: &MetadataChange,
    ) -> Option<String> {
        self.no_other_token_may_act(base, change.allows.as_ref()?.token())
    }

    fn no_other_token_may_act(&self, base: &Object, token: &str) -> Option<String> {
        let old = self.flights.iter().find(|flight| {
            flight.call.target.owner.uid == base.managed.uid
                && !flight.call.token.is_empty()
                && flight.call.token != token
        })?;
        Some(format!(
            "token {token} is drawn while {} may still take effect",
            verb(&old.call)
        ))
    }
}

/// The record of a version.
pub fn record_of(object: &Object) -> Option<Record> {
    match &*object.managed.record() {
        Stored::Owned(record) => Some((**record).clone()),
        Stored::None | Stored::Unreadable(_) => None,
    }
}
