//! What the memory takes in after a call, or after a write.

use std::sync::Arc;

use jiff::Timestamp;

use crate::external::{
    Answer, CallError, Completed, FailureCode, Operation, OperationVerb, Outcome, OutcomeResult, Verb,
};

use super::{
    decision::{Call, Event, MetadataChange},
    memory::{Found, Looked, Memory, Stamp, incarnation, next_look, recorded},
    operate::POLL_AFTER,
    record::Stored,
    status::OperationReport,
    world::{Managed, World},
};

/// What the create that is recorded has made is observed as it was desired then, not as it is now.
fn is_of_a_former_wish(world: &World) -> bool {
    match (&*world.managed.record(), &world.wish) {
        (Stored::Ours(record), Ok(wish)) => record
            .create()
            .is_some_and(|intent| super::rules::looked_for_as_recorded(intent, wish).is_some()),
        _ => false,
    }
}

/// So many intents in a row may be lost on their way.
const UNSENT: usize = 4;

impl Memory {
    /// Takes in the answer of a call, after what must be persisted of it was. `world` is as of now.
    pub fn learn_answer(&mut self, world: &World, call: &Call, answer: &Answer) {
        self.may_send = None;
        self.proven = None;
        self.looked = None;
        if let Some((outcome, failure)) = super::unanswered::contradicts_itself(call, answer) {
            let message = format!(
                "the creation is said to have had no effect ({}), and yet to have made {:?}: it counts as unknown what it did; this is a fault of the plugin",
                failure.reason, outcome.external_name
            );
            self.events.push(Event::warning("ContradictoryAnswer", &message));
        }
        match &*super::unanswered::believed(call, answer) {
            Ok(outcome) => self.learn_outcome(world, call, outcome),
            Err(error) => {
                if let CallError::Refused { code, .. } = error {
                    self.note_answered(call);
                    // A handle that the plugin cannot read is of no more use; what it stood for is found by looking. The other codes speak of the
                    // plugin (it does not serve the type now, the call came late), and another answer may come.
                    if call.verb == Verb::Poll && code == "INVALID_ARGUMENT" {
                        self.end_operation(call);
                    }
                }
                self.learn_call_error(world, call.verb, error);
                self.next_poll = self
                    .trouble
                    .as_ref()
                    .and_then(|trouble| trouble.until)
                    .filter(|_| call.verb == Verb::Poll);
            }
        }
    }

    /// This write is about to be sent: whether or not it lands, the call of an intent that is new with it has not begun.
    pub fn begin_write(&mut self, managed: &Managed, change: &MetadataChange) {
        let Some((token, _)) = &change.allows else { return };
        let is_recorded = matches!(&*managed.record(), Stored::Ours(record)
            if record.intent.as_ref().is_some_and(|intent| intent.token == *token));
        if !is_recorded && !self.unsent.contains(token) {
            self.unsent.push(token.clone());
            let old = self.unsent.len().saturating_sub(UNSENT);
            self.unsent.drain(..old);
        }
    }

    /// A call is about to be sent: from here on nobody knows, until the answer is in.
    pub fn begin_call(&mut self, call: &Call) {
        self.may_send = None;
        self.unsent.retain(|token| *token != call.token);
        self.proven = None;
    }

    fn note_answered(&mut self, call: &Call) {
        if matches!(call.verb, Verb::Create | Verb::Delete) && !call.token.is_empty() {
            self.answered = Some(((call.token.clone(), call.attempt), call.deadline));
        }
    }

    fn learn_outcome(&mut self, world: &World, call: &Call, outcome: &Outcome) {
        if super::rules::nothing_more_comes(&outcome.result) {
            self.note_answered(call);
        }
        self.unpublished |= self.keep_details(&outcome.connection_details);
        self.tell_warnings(&outcome.warnings);
        match &outcome.result {
            OutcomeResult::Completed(completed) => self.learn_completed(world, call, outcome, completed),
            OutcomeResult::Operation(operation) => self.learn_operation(world, call, operation),
            OutcomeResult::Failure(failure) => {
                // Of what is not found there is nothing to follow; a look tells what became of it.
                if call.verb == Verb::Poll
                    && matches!(
                        failure.code,
                        FailureCode::OperationFailed | FailureCode::OperationExpired | FailureCode::NotFound
                    )
                {
                    self.end_operation(call);
                }
                if call.verb == Verb::Delete && failure.code == FailureCode::NotFound {
                    // Another's, or none: the look that follows tells which.
                    self.delete_answered = Some(world.now);
                    self.clear_trouble(Verb::Delete);
                    return;
                }
                self.learn_failure(world, call.verb, failure);
                self.blame_no_other_wish(world, call);
                if call.verb == Verb::Poll {
                    self.next_poll = self.trouble.as_ref().and_then(|trouble| trouble.until);
                }
            }
        }
    }

    /// A repeat carries the recorded wish: its refusal says nothing of one that was corrected since (trace 25).
    fn blame_no_other_wish(&mut self, world: &World, call: &Call) {
        let same = world
            .wish
            .as_ref()
            .is_ok_and(|wish| wish.parameters == call.desired.parameters);
        if let Some(trouble) = self.trouble.as_mut().filter(|_| call.verb == Verb::Create) {
            trouble.for_this_wish &= same;
        }
    }

    fn learn_completed(&mut self, world: &World, call: &Call, outcome: &Outcome, completed: &Completed) {
        self.clear_trouble(call.verb);
        let does = match call.verb {
            Verb::Create => OperationVerb::Create,
            Verb::Update => OperationVerb::Update,
            Verb::Delete => OperationVerb::Delete,
            Verb::Poll => call.operation.unwrap_or(OperationVerb::Update),
            Verb::Observe => return,
        };
        if call.verb == Verb::Poll {
            self.end_operation(call);
        }
        match does {
            OperationVerb::Delete => {
                self.delete_answered = Some(world.now);
                self.events.push(Event::normal(
                    "DeletedExternalResource",
                    "Successfully requested deletion of external resource",
                ));
            }
            OperationVerb::Create => {
                self.created = Some(((call.token.clone(), call.attempt), world.now));
                self.absent_since = None;
                self.events.push(Event::normal(
                    "CreatedExternalResource",
                    "Successfully requested creation of external resource",
                ));
            }
            OperationVerb::Update => {
                self.count_update(world);
                self.events.push(Event::normal(
                    "UpdatedExternalResource",
                    "Successfully requested update of external resource",
                ));
            }
        }
        let Some(observation) = completed
            .observation
            .as_ref()
            .filter(|_| does != OperationVerb::Delete)
        else {
            return;
        };
        let mut observation = observation.clone();
        if observation.external_name.is_empty() {
            let name = if outcome.external_name.is_empty() {
                &call.target.external_name
            } else {
                &outcome.external_name
            };
            observation.external_name.clone_from(name);
        }
        if observation.canonical_id.is_empty() {
            observation.canonical_id.clone_from(&outcome.canonical_id);
        }
        self.keep_details(&observation.connection_details);
        self.tell_warnings(&observation.warnings);
        let next = next_look(world, &observation);
        self.looked = Some(Looked {
            // It was seen when the call ran, however long the answer lay (trace 3).
            began: call.deadline - world.kind.timeouts.call,
            name: observation.external_name.clone(),
            recorded: recorded(world),
            as_recorded: does == OperationVerb::Create && is_of_a_former_wish(world),
            former_marker: call.target.former_marker.clone(),
            stamp: Stamp::of(world),
            found: Found::There(Arc::new(observation)),
            next,
        });
    }

    fn learn_operation(&mut self, world: &World, call: &Call, operation: &Operation) {
        self.clear_trouble(call.verb);
        self.next_poll = Some(world.now + operation.poll_after.unwrap_or(POLL_AFTER));
        self.told = Some(operation.clone());
        let begun = call.verb != Verb::Poll;
        match operation.verb {
            OperationVerb::Create if begun => {
                // Told anew, it lives, whatever a poll said of it.
                self.spent_handle.clear();
                self.events.push(Event::normal(
                    "CreatedExternalResource",
                    "Successfully requested creation of external resource",
                ));
            }
            OperationVerb::Create => {}
            OperationVerb::Update | OperationVerb::Delete => {
                let earlier = self
                    .operation
                    .clone()
                    .flatten()
                    .or_else(|| world.managed.status.progress.operation.clone());
                let goes_on = earlier.filter(|earlier| !begun && earlier.verb == operation.verb);
                self.operation = Some(Some(OperationReport {
                    handle: operation.handle.clone(),
                    verb: operation.verb,
                    phase: operation.phase.clone(),
                    progress: operation.progress_percent,
                    since: goes_on.as_ref().map_or(world.now, |earlier| earlier.since),
                    generation: goes_on.map_or(world.managed.generation, |earlier| earlier.generation),
                    poll_driven: operation.poll_driven,
                    expire_time: operation.expire_time,
                    external_name: call.target.external_name.clone(),
                    incarnation: incarnation(world),
                    sensitive_digest: call.sensitive_digest.clone(),
                }));
                if begun && operation.verb == OperationVerb::Update {
                    self.count_update(world);
                    self.events.push(Event::normal(
                        "UpdatedExternalResource",
                        "Successfully requested update of external resource",
                    ));
                } else if begun {
                    self.events.push(Event::normal(
                        "DeletedExternalResource",
                        "Successfully requested deletion of external resource",
                    ));
                }
            }
        }
    }

    fn end_operation(&mut self, call: &Call) {
        self.told = None;
        self.next_poll = None;
        match call.operation {
            Some(OperationVerb::Create) => self.spent_handle.clone_from(&call.handle),
            Some(OperationVerb::Update | OperationVerb::Delete) | None => self.operation = Some(None),
        }
    }

    fn count_update(&mut self, world: &World) {
        let count = self.updates_for(world).map_or(0, |(count, _)| count) + 1;
        self.updates = Some((Stamp::of(world), count, world.now));
    }

    /// How many updates this wish has had, and when the last.
    pub fn updates_for(&self, world: &World) -> Option<(u32, Timestamp)> {
        self.updates
            .as_ref()
            .filter(|(stamp, ..)| *stamp == Stamp::of(world))
            .map(|(_, count, last)| (*count, *last))
    }

    /// A metadata write of this pass landed: its call may go, and it proves the version.
    pub fn learn_metadata(&mut self, change: &MetadataChange, resource_version: &str, began: Timestamp) {
        self.may_send.clone_from(&change.allows);
        if change.allows.is_some() {
            // A new call: what was known of former ones counts no more.
            self.delete_answered = None;
            self.absent_since = None;
        }
        self.learn_version(resource_version, began);
        self.events.extend(change.event.clone());
    }

    /// A status write or a live read of this pass proved the version.
    pub fn learn_version(&mut self, resource_version: &str, began: Timestamp) {
        self.proven = Some((resource_version.to_owned(), began));
        self.proofs = self.proofs.saturating_add(1).min(2);
    }

    /// The connection Secret could not be written: for people, and when to try again.
    pub fn learn_publish_problem(&mut self, message: String, retry: Timestamp) {
        self.events
            .push(Event::warning("CannotPublishConnectionDetails", &message));
        self.publish_problem = Some((message, retry));
    }
}
