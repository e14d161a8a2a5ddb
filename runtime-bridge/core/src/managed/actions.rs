//! What a step may end a decision with: an action, or a rest with what is reported meanwhile.

use jiff::Timestamp;

use crate::external::{Document, Target, Verb};
use crate::reasons::{StopReason, WarningEvent};
use crate::rule::Rule;

use super::{
    attempt::Attempt,
    context::ReconcileContext,
    decision::{
        Action, AnnotationChanges, Call, Decision, Event, MetadataChange, ObserveCall, Purpose, Rest,
    },
    intervals::poll_interval,
    last_observation::OwnLookUp,
    names,
    record::Record,
    record_format::Unreadable,
    report::Report,
    resource_report,
    retry_state::RetryState,
    rules, running,
    snapshot::Snapshot,
    status::ConditionValue,
};

impl ReconcileContext<'_> {
    /// Look, if nothing holds calls back.
    pub fn observe(&self, name: &str) -> Decision {
        let desired = self.to_desired_state();
        self.observe_with(self.target(name), |target| ObserveCall {
            target,
            desired,
            as_recorded: false,
            beside: None,
        })
    }

    /// Look for what an unanswered create may have made. That bears our marker, if any: what a person has said is ours too would hide it.
    /// `recorded`: it is looked for there, where it was desired, though that was edited since. `beside`: what was observed before, and counts on.
    pub fn observe_for_the_create(
        &self,
        name: &str,
        recorded: Option<&Document>,
        beside: Option<OwnLookUp>,
    ) -> Decision {
        let mut desired = self.to_desired_state();
        if let Some(parameters) = recorded {
            desired.parameters.clone_from(parameters);
        }
        let target = self.target(name).map(|target| Target {
            former_marker: if Rule::RecoveryIgnoresFormerMarker.is_off() {
                target.former_marker
            } else {
                String::new()
            },
            ..target
        });
        self.observe_with(target, |target| ObserveCall {
            target,
            desired,
            as_recorded: recorded.is_some(),
            beside,
        })
    }

    fn observe_with(&self, target: Option<Target>, call: impl FnOnce(Target) -> ObserveCall) -> Decision {
        match target {
            Some(target) => Decision::Act(Action::Observe(Box::new(call(target)))),
            None => self.wait(Report::default(), None, Purpose::Retry),
        }
    }

    /// What the record holds cannot be told: nothing is done before it can.
    pub fn stop_at_unreadable(&self, why: &Unreadable) -> Decision {
        match why {
        Unreadable::Malformed(why) => self.stop(
            StopReason::RecordUnreadable,
            format!("the annotation {} cannot be read ({why}); restore it, or remove it together with {} if nothing was created", names::RECORD, names::CREATE_PENDING),
        ),
        Unreadable::TooNew { .. } => self.stop(
            StopReason::RecordTooNew,
            format!("a newer bridge wrote the annotation {} ({why}); run that version, or a newer one", names::RECORD),
        ),
        }
    }

    /// Call the plugin, once it is proven that the object stands as it is known.
    pub fn after_verification(&self, name: &str, verb: Verb, fill: impl FnOnce(&mut Call)) -> Decision {
        match rules::precondition_valid_until(self.snapshot, self.memory) {
            Some(deadline) => self.call(name, verb, deadline, fill),
            None => Decision::Act(Action::VerifyResourceVersion),
        }
    }

    /// Call the plugin.
    pub fn call(
        &self,
        name: &str,
        verb: Verb,
        deadline: Timestamp,
        fill: impl FnOnce(&mut Call),
    ) -> Decision {
        let Some(mut target) = self.target(name) else {
            return self.wait(Report::default(), None, Purpose::Retry);
        };
        // The record may not hold it yet.
        if let Some(state) = self.observed_state(name).filter(|_| verb == Verb::Delete) {
            state.clone_into(&mut target.provider_state);
        }
        let mut call = Call {
            verb,
            target,
            desired: self.to_desired_state(),
            deadline,
            token: String::new(),
            attempt: 0,
            outcome_unknown: false,
            changed_paths: Vec::new(),
            etag: String::new(),
            handle: String::new(),
            operation: None,
            sensitive_digest: (verb == Verb::Update).then(|| self.desired().sensitive_digest.clone()),
        };
        fill(&mut call);
        Decision::Act(Action::Call(Box::new(call)))
    }

    /// Write the record with the intent of a call: once this stands, the call may go.
    pub fn write_intent(
        &self,
        why: &'static str,
        record: &Record,
        annotations: AnnotationChanges,
    ) -> Decision {
        let allows = record.intent.as_ref().map(Attempt::recorded);
        self.write(why, record, annotations, allows)
    }

    /// Write the record, and what goes with it. No call follows from it.
    pub fn write_record(
        &self,
        why: &'static str,
        record: &Record,
        annotations: AnnotationChanges,
    ) -> Decision {
        self.write(why, record, annotations, None)
    }

    fn write(
        &self,
        why: &'static str,
        record: &Record,
        mut annotations: AnnotationChanges,
        allows: Option<Attempt>,
    ) -> Decision {
        annotations.insert(names::RECORD.to_owned(), Some(record.write()));
        Decision::Act(Action::WriteMetadata(MetadataChange {
            why,
            add_finalizer: !self.deleting(),
            annotations,
            allows,
            event: None,
        }))
    }

    /// Report, and come back at `wake` (or, without one, at the next drift poll). What runs and what is asked stays told, and polled.
    pub fn wait(&self, report: Report, wake: Option<Timestamp>, purpose: Purpose) -> Decision {
        let ahead = |time: &Timestamp| *time > self.snapshot.now;
        let next_observation = self.memory.observed.next();
        let mut rest = Rest {
            wake: wake.or(next_observation.filter(ahead)),
            purpose,
        };
        let next_poll = self.memory.operation.next_poll().filter(ahead);
        if let Some(poll) = next_poll.filter(|poll| rest.wake.is_none_or(|wake| *poll < wake))
            && running::running(self).is_some()
        {
            rest = Rest {
                wake: Some(poll),
                purpose: Purpose::Operation,
            };
        }
        let mut report = if report.operation.is_none() {
            resource_report::with_operation(self, report)
        } else {
            report
        };
        report.question = report.question.or_else(|| self.open_question());
        report.into_decision(self.snapshot, self.memory, rest)
    }

    /// When a rejected call is tried again, or the resource is observed, whichever comes first.
    pub fn next_try(&self, retry_state: &RetryState) -> Option<Timestamp> {
        let ahead = |time: &Timestamp| *time > self.snapshot.now;
        let next_observation = self.memory.observed.next().filter(ahead);
        [next_observation, retry_state.rejected_until]
            .into_iter()
            .flatten()
            .min()
    }

    /// How an object that is being deleted can go without its resource, behind what keeps it; nothing, unless it is being deleted.
    pub fn way_out(&self) -> String {
        if !self.deleting() {
            return String::new();
        }
        format!(
            "; or annotate {}={} to remove the object without deleting the external resource",
            names::ORPHAN,
            self.snapshot.managed.uid
        )
    }

    /// A named stop: only a person, or a change of theirs, goes on from here.
    pub fn stop(&self, reason: StopReason, message: String) -> Decision {
        self.stop_with(Report::default(), reason, message)
    }

    /// Likewise, where the change may come from where nobody tells of it: it is looked at again at the next drift poll.
    pub fn stop_and_return(&self, reason: StopReason, message: String) -> Decision {
        let wake = self.snapshot.now + poll_interval(self.snapshot);
        match self.stop(reason, message) {
            Decision::Rest(rest) => Decision::Rest(Rest {
                wake: rest.wake.or(Some(wake)),
                ..rest
            }),
            act @ Decision::Act(_) => act,
        }
    }

    /// Likewise, and the report says what there is all the same. A deletion that nobody can help can be ended without the resource.
    pub fn stop_with(&self, report: Report, reason: StopReason, message: String) -> Decision {
        let message = message + &self.way_out();
        let event = Event::warning(reason, &message);
        let report = Report {
            event: Some(event),
            synced: Some(ConditionValue::no(reason, message)),
            ..report
        };
        self.wait(report.with_default_ready(self.snapshot), None, Purpose::Drift)
    }
}

/// A note for the log and for events when something is left behind.
pub(super) fn left_behind(snapshot: &Snapshot, name: &str, why: &str) -> Event {
    let what = if name.is_empty() {
        "whatever its unanswered creation may have made".to_owned()
    } else {
        format!("{name:?}")
    };
    Event::warning(
        WarningEvent::LeftExternalResource,
        &format!(
            "left {what} of {} as it is: {why}",
            snapshot.kind.resource_type.kind
        ),
    )
}
