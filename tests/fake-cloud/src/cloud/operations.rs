//! Polls: where has an operation got to?

use crossbridge_types::{Call, Effect, FailureCode, OperationVerb, Outcome};
use jiff::Timestamp;

use super::{Cloud, State, answer, by_marker};
use crate::kinds::{Pace, Subject};

impl Cloud {
    pub(super) fn poll(&mut self, poll: &Call, now: Timestamp) -> Outcome {
        let Some(subject) = self.subject(&poll.target.resource_type.kind).cloned() else {
            return answer::failed("", FailureCode::Unsupported, Effect::None);
        };
        if poll.handle == "remove" {
            return self.poll_removal(&subject, poll, now);
        }
        let name = &poll.target.external_name;
        let known = self
            .work
            .get(&poll.handle)
            .filter(|_| !self.profile.forgets_operations);
        let Some(work) = known else {
            return answer::failed(name, FailureCode::OperationExpired, Effect::None);
        };
        let verb = if poll.handle.starts_with("update") {
            OperationVerb::Update
        } else {
            OperationVerb::Create
        };
        if work.ends > now {
            let told = if subject.manners.name_at_end {
                name
            } else {
                &work.name
            };
            return answer::outcome(told, answer::operation(&poll.handle, verb, false));
        }
        if let Some(effect) = work.fails {
            return answer::failed(name, FailureCode::OperationFailed, effect);
        }
        match self.objects.iter().find(|one| one.id == work.object) {
            Some(one) => {
                let seen = self.observation(one, subject.kind.capabilities.holds_marker);
                answer::completed(&one.name, Some(seen), false)
            }
            None => answer::failed(name, FailureCode::OperationFailed, Effect::None),
        }
    }

    /// Its handle is the same for every removal: it shows no more than that there was one.
    fn poll_removal(&mut self, subject: &Subject, poll: &Call, now: Timestamp) -> Outcome {
        let target = &poll.target;
        let name = &target.external_name;
        let exists = self
            .find(subject.name(), name)
            .is_some_and(|one| Self::is_shown(subject, one));
        let Some(one) = self.ours(subject, target, !by_marker(subject)).cloned() else {
            if exists {
                return answer::failed("", FailureCode::NotFound, Effect::None);
            }
            return answer::completed(name, None, true);
        };
        let driven = subject.manners.delete == Pace::Driven;
        let goes_on = answer::outcome(name, answer::operation("remove", OperationVerb::Delete, driven));
        match one.state {
            State::Disabled => {
                self.remove(one.id, &target.owner.uid, &target.ownership_marker);
                answer::completed(name, None, false)
            }
            State::Deleting(until) if until > now => goes_on,
            _ if driven => {
                if let Some(one) = self.get_mut(one.id) {
                    one.state = State::Disabled;
                }
                goes_on
            }
            // It was there no more, and is again: another one.
            _ => answer::completed(name, None, false),
        }
    }
}
