//! Which calls this process may send, has never begun, and was answered.

use jiff::Timestamp;

use crate::external::Verb;
use crate::managed::{attempt::Attempt, decision::Call, record::Intent};
use crate::rule::Rule;

/// So many intents in a row may be lost on their way.
const UNSENT: usize = 4;

/// The calls of this process, as far as the record does not say.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::managed) struct CallMemory {
    /// The intent that this process has just written, and may send.
    may_send: Option<Attempt>,
    /// Tokens of the newest intents that this process began to write, and whose call it has not begun. Nobody else begins attempt 0, and a write
    /// that was given up may land yet.
    unsent: Vec<String>,
    /// The recorded call whose answer has come to this process, by attempt and deadline: a poll that drives it on moves the deadline.
    answered: Option<(Attempt, Timestamp)>,
    /// The attempt of a Create that was answered with success, and when.
    created: Option<(Attempt, Timestamp)>,
    /// When a Delete was last answered with success.
    delete_answered: Option<Timestamp>,
}

impl CallMemory {
    /// What is left when another may have led in between: an intent that was never sent stays so.
    pub(super) fn after_another_term(self) -> Self {
        Self {
            unsent: self.unsent,
            ..Self::default()
        }
    }

    /// The intent that was just written goes now, or not at all.
    pub(in crate::managed) fn allow(&mut self, attempt: Option<&Attempt>) {
        self.may_send = attempt.cloned();
    }

    pub(in crate::managed) fn allow_none(&mut self) {
        self.may_send = None;
    }

    pub(in crate::managed) fn may_send_any(&self) -> bool {
        self.may_send.is_some()
    }

    pub(in crate::managed) fn may_send(&self, attempt: &Attempt) -> bool {
        self.may_send.as_ref() == Some(attempt)
    }

    /// An intent is about to be written that is not recorded yet.
    pub(in crate::managed) fn begin_intent(&mut self, token: &str) {
        if self.is_unsent(token) {
            return;
        }
        if Rule::EachUnsentIsRemembered.is_off() {
            self.unsent.clear();
        }
        self.unsent.push(token.to_owned());
        let old = self.unsent.len().saturating_sub(UNSENT);
        self.unsent.drain(..old);
    }

    /// From here on nobody knows, until the answer is in.
    pub(in crate::managed) fn begin(&mut self, call: &Call) {
        self.may_send = None;
        self.unsent.retain(|token| *token != call.token);
    }

    pub(in crate::managed) fn is_unsent(&self, token: &str) -> bool {
        self.unsent.iter().any(|unsent| unsent == token)
    }

    pub(in crate::managed) fn record_answered(&mut self, call: &Call) {
        if matches!(call.verb, Verb::Create | Verb::Delete) && !call.token.is_empty() {
            self.answered = Some((Attempt::sent(call), call.deadline));
        }
    }

    pub(in crate::managed) fn is_answered(&self, attempt: &Attempt, deadline: Timestamp) -> bool {
        self.answered
            .as_ref()
            .is_some_and(|(answered, of)| answered == attempt && *of == deadline)
    }

    /// However long the answer lay: nothing of the call happened after its deadline.
    pub(in crate::managed) fn record_created(&mut self, call: &Call, now: Timestamp) {
        self.created = Some((Attempt::sent(call), now.min(call.deadline)));
    }

    pub(in crate::managed) fn created_at(&self, intent: &Intent) -> Option<Timestamp> {
        let (attempt, at) = self.created.as_ref()?;
        attempt.is_of(intent).then_some(*at)
    }

    pub(in crate::managed) fn record_delete_answered(&mut self, now: Timestamp) {
        self.delete_answered = Some(now);
    }

    pub(in crate::managed) fn forget_answered_delete(&mut self) {
        self.delete_answered = None;
    }

    pub(in crate::managed) fn delete_answered(&self) -> Option<Timestamp> {
        self.delete_answered
    }
}
