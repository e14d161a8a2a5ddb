//! The calls that change something, each with its whole effect at one moment.

use bridge_core::{
    external::{
        Effect, FailureCode, Observation, Operation, OperationVerb, Outcome, OutcomeResult, Secrets, Target,
        Verb,
    },
    kind::{CreateRecovery, DiffMode, NameSource},
    managed::Call,
    rule::Rule,
};

use jiff::Timestamp;
use serde_json::Value;

use super::{Cloud, External, Id, State, Used, Work, answer, derived_name, is_ours};
use crate::kinds::Pace;

impl Cloud {
    /// The call takes effect.
    pub fn call(&mut self, call: &Call, now: Timestamp) -> Outcome {
        self.settle(now);
        let count = match call.verb {
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Delete => "delete",
            Verb::Poll => "poll",
            Verb::Observe => "observe",
        };
        *self.calls.entry(count).or_default() += 1;
        match call.verb {
            Verb::Create => self.create(call, now),
            Verb::Update => self.update(call, now),
            Verb::Delete => self.delete(call, now),
            Verb::Poll | Verb::Observe => self.poll(call, now),
        }
    }

    fn create(&mut self, call: &Call, now: Timestamp) -> Outcome {
        // The token is looked up before anything is checked.
        if self.subject.recovers_by(CreateRecovery::ClientToken)
            && let Some(outcome) = self.earlier(call, now)
        {
            return outcome;
        }
        if call.desired.parameters.contains_key("invalid") {
            return answer::failed("", FailureCode::InvalidSpec, Effect::None);
        }
        let by_marker = self.subject.recovers_by(CreateRecovery::Marker);
        if call.outcome_unknown && by_marker {
            let mut objects = self.objects.iter();
            let earlier = objects.find(|one| {
                one.account == call.target.config.identity
                    && one.marker == call.target.ownership_marker
                    && one.visible.max(one.marker_visible) <= now
                    && self.is_shown(one)
            });
            if let Some(earlier) = earlier {
                return answer::completed(&earlier.name, Some(answer::observation(earlier, now)), true);
            }
        }
        let name = self.name_for(&call.target);
        if self.find_for(&name, call).is_some() {
            return answer::failed("", FailureCode::AlreadyExists, Effect::None);
        }
        let driven = self.subject.manners.create == Pace::Driven;
        let object = (!driven).then(|| self.make(call, &name, now));
        let mut outcome = if self.subject.manners.create == Pace::AtOnce {
            let made = self.find_for(&name, call).and_then(|one| self.observed(one, now));
            answer::completed(&name, made, false)
        } else {
            self.count += 1;
            let handle = format!("create-{}", self.count);
            let expires = self.operations_expire.map(|after| now + after);
            let operation = Operation {
                expire_time: expires,
                ..answer::operation(&handle, OperationVerb::Create, driven)
            };
            let work = Work {
                operation: operation.clone(),
                object,
                ends: if driven {
                    Timestamp::MAX
                } else {
                    now + self.work_takes
                },
                fails: self.next_creation_fails.take(),
                forgotten: false,
                name: name.clone(),
                account: call.target.config.identity.clone(),
                request: Some(Box::new(call.clone())),
            };
            self.work.insert(handle, work);
            let reported = if self.names_late() { "" } else { &name };
            answer::outcome(reported, OutcomeResult::Operation(operation))
        };
        let handle = match &outcome.result {
            OutcomeResult::Operation(operation) => operation.handle.clone(),
            _ => String::new(),
        };
        if self.subject.recovers_by(CreateRecovery::ClientToken) {
            let used = Used {
                request: request_of(call),
                name,
                object,
                handle,
                first: now,
            };
            self.tokens.insert(call.token.clone(), used);
        }
        outcome.connection_details = answer::secrets(&[("password", "canary-once")]);
        outcome
    }

    /// What the same token did before.
    fn earlier(&mut self, call: &Call, now: Timestamp) -> Option<Outcome> {
        let retention = self.subject.kind.capabilities.token_retention;
        self.tokens
            .retain(|_, used| used.first.checked_add(retention).map_or(true, |ends| now <= ends));
        let used = self.tokens.get(&call.token)?;
        if used.request != request_of(call) {
            return Some(answer::failed("", FailureCode::TokenReused, Effect::None));
        }
        if let Some(work) = self.work.get(&used.handle) {
            let running = work.ends > now
                && (work.object.is_none() || self.objects.iter().any(|one| Some(one.id) == work.object));
            if running && !work.forgotten {
                let reported = if self.names_late() { "" } else { &used.name };
                return Some(answer::outcome(
                    reported,
                    OutcomeResult::Operation(work.operation.clone()),
                ));
            }
        }
        let object = used.object;
        let name = used.name.clone();
        Some(match self.objects.iter().find(|one| Some(one.id) == object) {
            Some(one) => answer::completed(&one.name, Some(answer::observation(one, now)), true),
            None => answer::failed(&name, FailureCode::NotFound, Effect::None),
        })
    }

    fn names_late(&self) -> bool {
        self.subject.is_named_upstream() && self.subject.manners.name_at_end
    }

    fn name_for(&mut self, target: &Target) -> String {
        match self.subject.kind.external_name.source {
            NameSource::Provider => {
                self.count += 1;
                format!("cloud-{}", self.count)
            }
            NameSource::User => target.external_name.clone(),
            NameSource::Derived => derived_name(target),
        }
    }

    fn make(&mut self, call: &Call, name: &str, now: Timestamp) -> Id {
        self.count += 1;
        let marker = if self.subject.kind.capabilities.holds_marker {
            call.target.ownership_marker.clone()
        } else {
            String::new()
        };
        let state = match self.subject.manners.create {
            Pace::AtOnce => State::Ready,
            Pace::Long => State::Creating(Some(now + self.work_takes)),
            Pace::Driven => State::Creating(None),
        };
        let mut parameters = call.desired.parameters.clone();
        if self.spells_otherwise
            && let Some(Value::String(fixed)) = parameters.get_mut("fixed")
        {
            *fixed = fixed.to_uppercase();
        }
        self.objects.push(External {
            id: Id(self.count),
            name: name.to_owned(),
            account: call.target.config.identity.clone(),
            marker,
            made_for: call.target.owner.uid.clone(),
            changed_for: String::new(),
            parameters,
            sensitive: call.desired.sensitive.clone(),
            state,
            visible: now + self.visibility,
            marker_visible: now + self.visibility.max(self.marker_visibility),
        });
        Id(self.count)
    }

    /// The one of this name, if it is not another's.
    fn ours(&self, call: &Call, unmarked: bool) -> Option<&External> {
        let target = &call.target;
        let holds_marker = self.subject.kind.capabilities.holds_marker;
        let found = self.find_for(&target.external_name, call);
        found.filter(|one| self.is_shown(one)).filter(|one| {
            Rule::PluginChecksMarker.is_off()
                || !holds_marker
                || is_ours(&one.marker, target)
                || (one.marker.is_empty() && unmarked)
        })
    }

    fn update(&mut self, call: &Call, now: Timestamp) -> Outcome {
        let compares = self.subject.kind.capabilities.diff_mode == DiffMode::Plugin;
        assert!(
            !compares || call.changed_paths.is_empty(),
            "changed_paths are for a plugin that does not compare: {:?}",
            call.changed_paths
        );
        let Some(one) = self.ours(call, true) else {
            return answer::failed("", FailureCode::NotFound, Effect::None);
        };
        if call.desired.parameters.contains_key("invalid") {
            return answer::failed(&one.name, FailureCode::InvalidSpec, Effect::None);
        }
        if self.misses_state(call) {
            return answer::failed(&one.name, FailureCode::Conflict, Effect::None);
        }
        if call.desired.parameters.get("fixed") != one.parameters.get("fixed") {
            return answer::failed(&one.name, FailureCode::ImmutableField, Effect::None);
        }
        let (id, name) = (one.id, one.name.clone());
        if self.subject.manners.update == Pace::AtOnce {
            self.apply(id, call);
            let now_is = self
                .find(&name, &call.target.config.identity)
                .and_then(|one| self.observed(one, now));
            return answer::completed(&name, now_is, false);
        }
        self.count += 1;
        let handle = format!("update-{}", self.count);
        self.changes
            .push((now + self.work_takes, id, Box::new(call.clone())));
        let operation = Operation {
            expire_time: self.operations_expire.map(|after| now + after),
            ..answer::operation(&handle, OperationVerb::Update, false)
        };
        let work = Work {
            operation: operation.clone(),
            object: Some(id),
            ends: now + self.work_takes,
            fails: None,
            forgotten: false,
            name: name.clone(),
            account: call.target.config.identity.clone(),
            request: Some(Box::new(call.clone())),
        };
        self.work.insert(handle, work);
        answer::outcome(&name, OutcomeResult::Operation(operation))
    }

    fn delete(&mut self, call: &Call, now: Timestamp) -> Outcome {
        let unmarked = !self.subject.recovers_by(CreateRecovery::Marker);
        let exists = self
            .find_for(&call.target.external_name, call)
            .is_some_and(|one| self.is_shown(one));
        let Some(one) = self.ours(call, unmarked).cloned() else {
            if exists {
                return answer::failed("", FailureCode::NotFound, Effect::None);
            }
            return answer::completed(&call.target.external_name, None, true);
        };
        if self.misses_state(call) {
            return answer::failed(&one.name, FailureCode::Conflict, Effect::None);
        }
        let busy = matches!(one.state, State::Creating(_));
        if busy && !self.subject.kind.capabilities.delete_during_create {
            return answer::failed(&one.name, FailureCode::Conflict, Effect::None);
        }
        let until = now + self.work_takes;
        let begun = answer::operation("remove", OperationVerb::Delete, false);
        match self.subject.manners.delete {
            _ if self.keeps_what_is_deleted => return answer::completed(&one.name, None, false),
            Pace::AtOnce => {
                self.remove(one.id, &call.target.owner.uid);
                return answer::completed(&one.name, None, false);
            }
            Pace::Long => {
                if let Some(one) = self.get_mut(one.id)
                    && !matches!(one.state, State::Deleting(_))
                {
                    one.state = State::Deleting(until);
                }
            }
            Pace::Driven => {
                if let Some(one) = self.get_mut(one.id) {
                    one.state = State::Disabled;
                }
            }
        }
        let operation = Operation {
            poll_driven: self.subject.manners.delete == Pace::Driven,
            ..begun
        };
        answer::outcome(&one.name, OutcomeResult::Operation(operation))
    }

    fn poll(&mut self, call: &Call, now: Timestamp) -> Outcome {
        if call.handle == "remove" {
            return self.poll_removal(call, now);
        }
        let name = &call.target.external_name;
        let account = &call.target.config.identity;
        let known = self
            .work
            .get(&call.handle)
            .filter(|work| work.account == *account);
        let Some(work) = known.cloned() else {
            return answer::failed(name, FailureCode::OperationExpired, Effect::Unknown);
        };
        if work.forgotten {
            return answer::failed(name, FailureCode::OperationExpired, Effect::Unknown);
        }
        if work.operation.poll_driven && work.ends == Timestamp::MAX {
            return self.drive(&work, now);
        }
        if work.ends > now {
            let mut operation = work.operation;
            if let Some((percent, phase)) = &self.progress {
                operation.progress_percent = Some(*percent);
                operation.phase.clone_from(phase);
            }
            return answer::outcome(name, OutcomeResult::Operation(operation));
        }
        if let Some(effect) = work.fails {
            return answer::failed(name, FailureCode::OperationFailed, effect);
        }
        match self.objects.iter().find(|one| Some(one.id) == work.object) {
            Some(one) => answer::completed(&one.name, self.observed(one, now), false),
            None => answer::failed(name, FailureCode::OperationFailed, Effect::None),
        }
    }

    /// What `Completed` carries of it.
    fn observed(&self, one: &External, now: Timestamp) -> Option<Observation> {
        (!self.subject.manners.bare).then(|| answer::observation(one, now))
    }

    /// One step of a creation that moves only when polled: it makes the thing, then it ends.
    fn drive(&mut self, work: &Work, now: Timestamp) -> Outcome {
        let handle = &work.operation.handle;
        if let Some(id) = work.object {
            let fails = work.fails;
            if let Some(work) = self.work.get_mut(handle) {
                work.ends = now;
            }
            if let Some(effect) = fails {
                if effect == Effect::None {
                    self.remove(id, "");
                }
                return answer::failed("", FailureCode::OperationFailed, effect);
            }
            if let Some(one) = self.get_mut(id)
                && one.state == State::Creating(None)
            {
                one.state = State::Ready;
            }
            return match self.objects.iter().find(|one| one.id == id) {
                Some(one) => answer::completed(&one.name, self.observed(one, now), false),
                None => answer::failed("", FailureCode::OperationFailed, Effect::None),
            };
        }
        let name = work.name.clone();
        if self.find(&name, &work.account).is_some() {
            if let Some(work) = self.work.get_mut(handle) {
                (work.ends, work.fails) = (now, Some(Effect::None));
            }
            return answer::failed("", FailureCode::OperationFailed, Effect::None);
        }
        let Some(request) = &work.request else {
            return answer::failed("", FailureCode::OperationFailed, Effect::None);
        };
        let id = self.make(request, &name, now);
        if let Some(work) = self.work.get_mut(handle) {
            work.object = Some(id);
        }
        if let Some(used) = self.tokens.values_mut().find(|used| used.handle == *handle) {
            used.object = Some(id);
            used.name.clone_from(&name);
        }
        let reported = if self.names_late() { "" } else { &name };
        let mut outcome = answer::outcome(reported, OutcomeResult::Operation(work.operation.clone()));
        outcome.connection_details = Secrets::default();
        outcome
    }

    /// Its handle is the same for every removal: it says no more than that there was one.
    fn poll_removal(&mut self, call: &Call, now: Timestamp) -> Outcome {
        let driven = self.subject.manners.delete == Pace::Driven;
        let unmarked = !self.subject.recovers_by(CreateRecovery::Marker);
        let name = call.target.external_name.clone();
        let exists = self
            .find(&name, &call.target.config.identity)
            .is_some_and(|one| self.is_shown(one));
        let Some(one) = self.ours(call, unmarked).cloned() else {
            if exists {
                return answer::failed("", FailureCode::NotFound, Effect::None);
            }
            return answer::completed(&name, None, true);
        };
        if self.misses_state(call) {
            return answer::failed(&one.name, FailureCode::Conflict, Effect::None);
        }
        match one.state {
            State::Disabled => {
                self.remove(one.id, &call.target.owner.uid);
                answer::completed(&name, None, false)
            }
            State::Deleting(until) if until > now => answer::outcome(
                &name,
                OutcomeResult::Operation(answer::operation("remove", OperationVerb::Delete, false)),
            ),
            _ if driven => {
                if let Some(one) = self.get_mut(one.id) {
                    one.state = State::Disabled;
                }
                answer::outcome(
                    &name,
                    OutcomeResult::Operation(answer::operation("remove", OperationVerb::Delete, true)),
                )
            }
            // It was there no more, and is again: another one.
            _ => answer::completed(&name, None, false),
        }
    }
}

fn request_of(call: &Call) -> String {
    format!(
        "{}|{}|{}|{}|{:?}",
        call.target.config.id,
        call.target.config.identity,
        call.target.external_name,
        call.target.ownership_marker,
        call.desired.parameters
    )
}
