//! Scenes by hand: what fares how, who stands still where, and what is to be seen in the end.

use std::{collections::VecDeque, time::Duration};

use bridge_core::{
    external::Verb,
    managed::{Call, ObserveCall, Record, status},
};

use crate::{
    bridge::Stage,
    cloud::External,
    fault_outcome::{CallOutcome, ObserveOutcome, Outcomes, WriteOutcome},
    invariants::record_of,
    kinds::Subject,
    reference_model::{A, B, Model},
};

/// Fates in the order in which they come; when they are used up, all goes well.
#[derive(Debug, Default)]
pub struct Script {
    calls: VecDeque<(Verb, CallOutcome)>,
    looks: VecDeque<ObserveOutcome>,
    writes: VecDeque<(&'static str, WriteOutcome)>,
}

impl Script {
    /// The next call of this verb fares like this.
    pub fn on(verb: Verb, fate: CallOutcome) -> Self {
        Self::default().and_on(verb, fate)
    }

    pub fn and_on(mut self, verb: Verb, fate: CallOutcome) -> Self {
        self.calls.push_back((verb, fate));
        self
    }

    /// The next look.
    pub fn look(fate: ObserveOutcome) -> Self {
        let mut script = Self::default();
        script.looks.push_back(fate);
        script
    }

    pub fn and_look(mut self, fate: ObserveOutcome) -> Self {
        self.looks.push_back(fate);
        self
    }

    /// The next write whose reason contains this.
    pub fn write(what: &'static str, fate: WriteOutcome) -> Self {
        let mut script = Self::default();
        script.writes.push_back((what, fate));
        script
    }

    /// Nothing is left of it.
    pub fn used_up(&self) -> bool {
        self.calls.is_empty() && self.looks.is_empty() && self.writes.is_empty()
    }
}

impl Outcomes for Script {
    fn call(&mut self, call: &Call) -> CallOutcome {
        match self.calls.iter().position(|(verb, _)| *verb == call.verb) {
            Some(at) => self
                .calls
                .remove(at)
                .map_or(CallOutcome::Answered, |(_, fate)| fate),
            None => CallOutcome::Answered,
        }
    }

    fn look(&mut self, _: &ObserveCall) -> ObserveOutcome {
        self.looks.pop_front().unwrap_or(ObserveOutcome::Answered)
    }

    fn write(&mut self, what: &str, _: bool) -> WriteOutcome {
        match self.writes.iter().position(|(part, _)| what.contains(part)) {
            Some(at) => self
                .writes
                .remove(at)
                .map_or(WriteOutcome::Lands, |(_, fate)| fate),
            None => WriteOutcome::Lands,
        }
    }
}

impl Model {
    /// An object whose resource is there, and at rest.
    pub fn at_rest(subject: &Subject) -> Self {
        let mut model = Self::started(subject);
        model.rest();
        model.verify();
        assert_eq!(
            model.value(status::READY),
            "True/Available",
            "{}",
            model.log.join("\n")
        );
        model
    }

    /// Goes on with these fates until it rests; every one of them must have come to pass.
    pub fn rest_after(&mut self, mut script: Script) {
        self.rest_with(&mut script);
        assert!(script.used_up(), "{script:?} is left\n{}", self.log.join("\n"));
    }

    /// A process works until it has decided something that prints as beginning like this, and stands still before it does it.
    pub fn stop_before(&mut self, b: usize, what: &str) {
        self.stop_before_with(b, what, &mut crate::fault_outcome::Well);
    }

    /// Likewise, with fates on the way there.
    pub fn stop_before_with(&mut self, b: usize, what: &str, fates: &mut dyn Outcomes) {
        self.bridges[b].dirty = true;
        for _ in 0..400 {
            match self.bridges[b].stage() {
                Stage::Decided(action) if action.to_string().starts_with(what) => return,
                Stage::Waiting(until) => self.advance_to(until),
                Stage::Resting(Some(wake)) if !self.bridges[b].dirty => self.advance_to(wake.max(self.now)),
                Stage::Resting(_) | Stage::Deciding | Stage::Decided(..) | Stage::Persisting => {}
            }
            self.step(b, fates);
        }
        panic!("it never comes to {what:?}\n{}", self.log.join("\n"));
    }

    /// The lease moves; the former leader does not know before it decides anew.
    pub fn lead(&mut self, b: usize) {
        self.bridges[1 - b].leads = false;
        self.bridges[b].take_the_lead();
    }

    /// The one external object that was made for the object, or for the last one that is gone.
    pub fn made(&self) -> Vec<&External> {
        let uid = self.etcd.object.as_ref().map_or_else(
            || self.etcd.gone.last().map(|gone| gone.uid.clone()),
            |object| Some(object.managed.uid.clone()),
        );
        self.cloud.made_for(&uid.unwrap_or_default())
    }

    /// `status/reason` of a condition; empty: there is none.
    pub fn value(&self, kind: &str) -> String {
        self.etcd
            .object
            .as_ref()
            .and_then(|object| object.managed.condition(kind))
            .map(|condition| format!("{}/{}", condition.status, condition.reason))
            .unwrap_or_default()
    }

    /// What `Synced` says to people.
    pub fn message(&self) -> String {
        self.object()
            .managed
            .condition(status::SYNCED)
            .map(|condition| condition.message.clone())
            .unwrap_or_default()
    }

    /// The record, which must be there.
    pub fn record(&self) -> Record {
        record_of(self.object()).expect("there is a record of ours")
    }

    /// How often the cloud processed a call.
    pub fn calls(&self, verb: &str) -> u32 {
        self.cloud.calls.get(verb).copied().unwrap_or(0)
    }

    /// Tokens for which an intent to create was ever written.
    pub fn tokens(&self) -> usize {
        let mut tokens: Vec<String> = self
            .etcd
            .history
            .iter()
            .filter_map(|version| record_of(version))
            .filter_map(|record| record.create().map(|intent| intent.token.clone()))
            .collect();
        tokens.sort();
        tokens.dedup();
        tokens.len()
    }

    /// Events told so far, as `reason`.
    pub fn events(&self) -> Vec<&str> {
        [A, B]
            .iter()
            .flat_map(|b| &self.bridges[*b].reported)
            .map(|event| event.reason.as_str())
            .collect()
    }

    /// It comes to Ready, with one external object in sync, and nothing wrong was seen.
    pub fn ends_ready(&mut self) {
        self.rest();
        // What is still being made is looked at again at the next polls.
        for _ in 0..3 {
            if self.value(status::READY) != "True/Available" {
                self.advance(Duration::from_secs(61));
                self.rest();
            }
        }
        self.verify();
        let log = self.log.join("\n");
        assert_eq!(self.value(status::READY), "True/Available", "{log}");
        assert_eq!(self.value(status::SYNCED), "True/ReconcileSuccess", "{log}");
        assert_eq!(self.made().len(), 1, "{log}");
        assert_eq!(self.made()[0].parameters, self.object().parameters, "{log}");
    }

    /// The user deletes it, and it goes, its external object with it; nothing comes after.
    pub fn ends_gone(&mut self) {
        self.etcd.delete(self.now);
        self.rest();
        self.advance(Duration::from_mins(5));
        self.verify();
        assert!(
            self.etcd.object.is_none(),
            "it is still there\n{}",
            self.log.join("\n")
        );
        assert!(self.made().is_empty(), "{}", self.log.join("\n"));
    }
}
