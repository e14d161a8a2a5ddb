//! A create whose answer nobody has (design 4.3): what is known of it, and what it is settled with.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use crate::{external::Observation, kind::CreateRecovery, rule::Rule};

use super::{
    context::ReconcileContext,
    decision::{Decision, Purpose},
    last_observation::{LastObservation, ObservedState, OwnLookUp},
    record::{Intent, Record},
    report::Report,
    resolve_intent, rules, running,
};

/// Why a create is settled as one that made nothing.
pub(super) const ABSENT: &str = "settle the create as absent";

/// A recorded create that nothing has confirmed, and of which no operation is known.
pub(super) struct Unanswered<'c> {
    ctx: &'c ReconcileContext<'c>,
    pub record: &'c Record,
    pub intent: &'c Intent,
    /// An observation that begins later than this tells the truth about it.
    pub resolves_at: Timestamp,
    /// By which it is looked for.
    pub name: String,
    pub by_marker: bool,
    pub by_name: bool,
}

impl<'c> Unanswered<'c> {
    pub fn of(ctx: &'c ReconcileContext<'c>) -> Option<Self> {
        let snapshot = ctx.snapshot;
        let record = ctx.record()?;
        let intent = record
            .create()
            .filter(|_| !rules::confirmed(snapshot, record) && running::followed(ctx).is_none())?;
        let name = rules::recovery_name(snapshot, record);
        Some(Self {
            ctx,
            record,
            intent,
            resolves_at: rules::resolves_at(snapshot, rules::create_ends(snapshot, ctx.memory, intent)),
            by_marker: snapshot.recovers_by(CreateRecovery::Marker),
            by_name: if snapshot.is_named_upstream() {
                !name.is_empty()
            } else {
                snapshot.recovers_by(CreateRecovery::DeterministicName)
            },
            name,
        })
    }

    /// Likewise, where no observation has found what it made.
    pub fn unfound(ctx: &'c ReconcileContext<'c>) -> Option<Self> {
        Self::of(ctx).filter(|create| create.own_work().is_none())
    }

    /// The observation that recovery itself asks for.
    pub fn latest(&self) -> Option<&'c LastObservation> {
        self.observation(&self.name).filter(|_| self.can_observe())
    }

    /// What that found.
    pub fn observed(&self) -> Option<&'c Observation> {
        match &self.latest()?.found {
            ObservedState::Exists(observation) => Some(observation),
            ObservedState::Absent(_) => None,
        }
    }

    /// What was found, and can be what it made.
    pub fn own_work(&self) -> Option<(&'c LastObservation, &'c Observation)> {
        let (last_observation, observation) = (self.latest()?, self.observed()?);
        let snapshot = self.ctx.snapshot;
        let is_own = rules::foreign_owner(snapshot, observation).is_none()
            && rules::may_be_its_work(snapshot, self.record, observation);
        is_own.then_some((last_observation, observation))
    }

    pub fn can_observe(&self) -> bool {
        self.by_marker || self.by_name
    }

    /// The fresh observation by this name, if it can tell of the create.
    pub fn observation(&self, name: &str) -> Option<&'c LastObservation> {
        let as_recorded = rules::observed_as_recorded(self.intent, self.ctx.desired()).is_some();
        self.ctx
            .memory
            .fresh_observation_for_create(self.ctx.snapshot, name, as_recorded)
            .filter(|last_observation| rules::observation_is_about(last_observation, self.intent))
    }

    /// It was looked up by its own name, and that still counts: as the newest observation, or beside that of a name that a person gave. Each of the
    /// two would be due again as soon as the other one took its place (trace 57).
    pub fn is_looked_up(&self) -> bool {
        self.observation(&self.name).is_some() || self.looked_up_before().is_some()
    }

    fn looked_up_before(&self) -> Option<&'c OwnLookUp> {
        let newest = self.ctx.memory.observed.last()?;
        let before = self.observation(&newest.name)?.beside.as_ref();
        before.filter(|before| before.name == self.name && before.next > self.ctx.snapshot.now)
    }

    /// The token is retained, and the same request can still be sent.
    pub fn is_repeatable(&self) -> bool {
        let ctx = self.ctx;
        rules::token_may_be_repeated(ctx.snapshot, self.record, self.intent, ctx.desired())
    }

    pub fn observe(&self) -> Decision {
        let recorded = rules::observed_as_recorded(self.intent, self.ctx.desired());
        self.ctx.observe_for_the_create(&self.name, recorded, None)
    }

    /// By a name that a person gave.
    pub fn observe_answer(&self, name: &str) -> Decision {
        let recorded = rules::observed_as_recorded(self.intent, self.ctx.desired());
        let newest = self.latest().map(|newest| OwnLookUp {
            name: self.name.clone(),
            next: newest.next,
        });
        let beside = newest.or_else(|| self.looked_up_before().cloned());
        let beside = beside.filter(|_| !Rule::AnswerIsObservedBeside.is_off());
        self.ctx.observe_for_the_create(name, recorded, beside)
    }

    /// The same request once more: same token and parameters, a new deadline (traces 9, 11).
    pub fn repeat(&self, exclusive: bool) -> Decision {
        let ctx = self.ctx;
        let mut record = self.record.clone();
        if let Some(intent) = record.intent.as_mut() {
            intent.attempt += 1;
            intent.exclusive = exclusive;
            // Alone, its turn begins anew: a mere hindrance ends nothing, and another refusal does.
            intent.token_exhausted &= !exclusive || Rule::ExclusiveRenewsToken.is_off();
            intent.deadline = ctx.snapshot.now + ctx.snapshot.kind.timeouts.call;
            (intent.operation, intent.operation_ended) = (None, false);
            // Which value an attempt brought nobody knows any more: what the resource holds then counts as another one.
            if Rule::RepeatForgetsAppliedSecrets.is_off() {
                record
                    .sensitive_digest
                    .clone_from(&ctx.desired().sensitive_digest);
            } else if record.sensitive_digest != ctx.desired().sensitive_digest {
                record.sensitive_digest.clear();
            }
        }
        ctx.write_intent("record that the create is repeated", &record, BTreeMap::new())
    }

    /// Nothing was made. What was recorded is closed, so that a new token may be drawn, or the object go.
    pub fn close_as_absent(&self, why: &'static str) -> Decision {
        let snapshot = self.ctx.snapshot;
        let mut record = self.record.clone();
        let mut annotations = BTreeMap::new();
        resolve_intent::absent(snapshot, &snapshot.managed, &mut record, &mut annotations);
        record.deadline = None;
        self.ctx.write_record(why, &record, annotations)
    }

    pub fn wait_until_resolvable(&self) -> Decision {
        let ctx = self.ctx;
        let report = Report::of_retry_state(ctx.memory.retry_state.as_ref());
        let report = if ctx.deleting() {
            report.blocked("waiting for the outcome of an unanswered creation to be certain")
        } else {
            report.creating()
        };
        // What is looked for may be seen before the time, which may be an hour away.
        let next_observation = ctx.memory.observed.next();
        let settled = self.resolves_at + Duration::from_millis(1);
        let wake = next_observation
            .filter(|next| *next > ctx.snapshot.now)
            .unwrap_or(settled);
        ctx.wait(report, Some(wake.min(settled)), Purpose::Operation)
    }
}
