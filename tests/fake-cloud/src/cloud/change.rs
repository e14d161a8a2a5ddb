//! The calls that change something, each with its whole effect at one moment.

use std::time::Duration;

use crossbridge_types::{Call, Effect, FailureCode, NameSource, OperationVerb, Outcome, Target};
use jiff::Timestamp;

use super::{Cloud, External, State, Used, Work, answer, by_marker, derived_name, is_owned};
use crate::kinds::{Pace, Subject};

impl Cloud {
    pub(super) fn create(&mut self, create: &Call, now: Timestamp) -> Outcome {
        let target = &create.target;
        let Some(subject) = self.subject(&target.resource_type.kind).cloned() else {
            return answer::failed("", FailureCode::Unsupported, Effect::None);
        };
        // The token is looked up before anything is checked.
        let by_token = subject.recovers_by(crossbridge_types::CreateRecovery::ClientToken);
        if by_token && let Some(outcome) = self.earlier(&subject, create, now) {
            return outcome;
        }
        if create.desired.parameters.get("invalid") == Some(&true.into()) {
            return answer::failed("", FailureCode::InvalidSpec, Effect::None);
        }
        if create.outcome_unknown && by_marker(&subject) {
            let earlier = self.objects.iter().find(|one| {
                let seen = one.visible <= now && Self::is_shown(&subject, one);
                one.kind == subject.name() && is_owned(&one.marker, target) && seen
            });
            if let Some(earlier) = earlier {
                return self.found(&subject, earlier);
            }
        }
        let name = self.name_for(&subject, target);
        if self.find(subject.name(), &name).is_some() {
            return answer::failed("", FailureCode::AlreadyExists, Effect::None);
        }
        let object = self.make(&subject, create, &name, now);
        let (outcome, handle) = if subject.manners.create == Pace::AtOnce {
            let made = self.find(subject.name(), &name);
            let seen = made.map(|one| self.observation(one, subject.kind.capabilities.holds_marker));
            (answer::completed(&name, seen, false), None)
        } else {
            self.count += 1;
            let handle = format!("create-{}", self.count);
            let work = Work {
                object,
                ends: answer::after(now, self.work_takes()),
                fails: None,
                name: name.clone(),
                change: None,
            };
            self.work.insert(handle.clone(), work);
            let reported = if subject.manners.name_at_end { "" } else { &name };
            let operation = answer::operation(&handle, OperationVerb::Create, false);
            (answer::outcome(reported, operation), Some(handle))
        };
        if by_token {
            let used = Used {
                request: request_of(create),
                name,
                object,
                handle,
            };
            self.tokens.insert(create.token.clone(), used);
        }
        outcome
    }

    /// What the same token did before.
    fn earlier(&self, subject: &Subject, create: &Call, now: Timestamp) -> Option<Outcome> {
        let used = self.tokens.get(&create.token)?;
        if used.request != request_of(create) {
            return Some(answer::failed("", FailureCode::TokenReused, Effect::None));
        }
        let there = self.objects.iter().find(|one| one.id == used.object);
        if let Some(handle) = &used.handle
            && there.is_some()
            && !self.profile.forgets_operations
            && self.work.get(handle).is_some_and(|work| work.ends > now)
        {
            let reported = if subject.manners.name_at_end {
                ""
            } else {
                &used.name
            };
            let operation = answer::operation(handle, OperationVerb::Create, false);
            return Some(answer::outcome(reported, operation));
        }
        Some(match there {
            Some(one) => self.found(subject, one),
            None => answer::failed(&used.name, FailureCode::NotFound, Effect::None),
        })
    }

    fn name_for(&mut self, subject: &Subject, target: &Target) -> String {
        match subject.kind.external_name.source {
            NameSource::Provider => {
                self.count += 1;
                format!("cloud-{}", self.count)
            }
            NameSource::User => target.external_name.clone(),
            NameSource::Derived => derived_name(subject, target),
        }
    }

    fn make(&mut self, subject: &Subject, create: &Call, name: &str, now: Timestamp) -> u64 {
        self.count += 1;
        let capabilities = &subject.kind.capabilities;
        let invisible =
            Duration::from_millis(self.profile.invisible.into()).min(capabilities.consistency_window);
        let marker = if capabilities.holds_marker {
            create.target.ownership_marker.clone()
        } else {
            String::new()
        };
        self.objects.push(External {
            id: self.count,
            kind: subject.name().to_owned(),
            name: name.to_owned(),
            marker,
            created_for: create.target.owner.uid.clone(),
            parameters: create.desired.parameters.clone(),
            state: match subject.manners.create {
                Pace::AtOnce => State::Ready,
                Pace::Long | Pace::Driven => State::Creating(answer::after(now, self.work_takes())),
            },
            visible: answer::after(now, invisible),
            revision: 0,
        });
        self.count
    }

    pub(super) fn update(&mut self, update: &Call, now: Timestamp) -> Outcome {
        let target = &update.target;
        let Some(subject) = self.subject(&target.resource_type.kind).cloned() else {
            return answer::failed("", FailureCode::Unsupported, Effect::None);
        };
        let Some(one) = self.ours(&subject, target, true).cloned() else {
            return answer::failed("", FailureCode::NotFound, Effect::None);
        };
        if !update.etag.is_empty() && update.etag != one.revision.to_string() {
            return answer::failed(&one.name, FailureCode::Conflict, Effect::None);
        }
        if update.desired.parameters.get("invalid") == Some(&true.into()) {
            return answer::failed(&one.name, FailureCode::InvalidSpec, Effect::None);
        }
        let holds_marker = subject.kind.capabilities.holds_marker;
        let marker = if holds_marker {
            target.ownership_marker.clone()
        } else {
            String::new()
        };
        let parameters = update.desired.parameters.clone();
        if subject.manners.update == Pace::AtOnce {
            self.change(one.id, parameters, &marker);
            let seen = self
                .find(subject.name(), &one.name)
                .map(|one| self.observation(one, holds_marker));
            return answer::completed(&one.name, seen, false);
        }
        self.count += 1;
        let handle = format!("update-{}", self.count);
        let work = Work {
            object: one.id,
            ends: answer::after(now, self.work_takes()),
            fails: None,
            name: one.name.clone(),
            change: Some((parameters, marker)),
        };
        self.work.insert(handle.clone(), work);
        let operation = answer::operation(&handle, OperationVerb::Update, false);
        answer::outcome(&one.name, operation)
    }

    pub(super) fn delete(&mut self, delete: &Call, now: Timestamp) -> Outcome {
        let target = &delete.target;
        let Some(subject) = self.subject(&target.resource_type.kind).cloned() else {
            return answer::failed("", FailureCode::Unsupported, Effect::None);
        };
        let exists = self
            .find(subject.name(), &target.external_name)
            .is_some_and(|one| Self::is_shown(&subject, one));
        let Some(one) = self.ours(&subject, target, !by_marker(&subject)).cloned() else {
            if exists {
                return answer::failed("", FailureCode::NotFound, Effect::None);
            }
            return answer::completed(&target.external_name, None, true);
        };
        if matches!(one.state, State::Creating(_)) && !subject.kind.capabilities.delete_during_create {
            return answer::failed(&one.name, FailureCode::Conflict, Effect::None);
        }
        if self.profile.keeps_what_is_deleted {
            return answer::completed(&one.name, None, false);
        }
        let until = answer::after(now, self.work_takes());
        let state = match subject.manners.delete {
            Pace::AtOnce => {
                self.remove(one.id, &target.owner.uid, &target.ownership_marker);
                return answer::completed(&one.name, None, false);
            }
            Pace::Long => State::Deleting(until),
            Pace::Driven => State::Disabled,
        };
        if let Some(one) = self.get_mut(one.id)
            && !matches!(one.state, State::Deleting(_))
        {
            one.state = state;
        }
        let driven = subject.manners.delete == Pace::Driven;
        let operation = answer::operation("remove", OperationVerb::Delete, driven);
        answer::outcome(&one.name, operation)
    }

    /// An earlier call created it.
    fn found(&self, subject: &Subject, one: &External) -> Outcome {
        let seen = self.observation(one, subject.kind.capabilities.holds_marker);
        answer::completed(&one.name, Some(seen), true)
    }
}

fn request_of(create: &Call) -> String {
    format!(
        "{}|{}|{}|{:?}",
        create.target.config.id,
        create.target.external_name,
        create.target.ownership_marker,
        create.desired.parameters
    )
}
