//! A call comes in: its fault outcome is taken, and it has its effect, or has not.

use std::time::Duration;

use crossbridge_types::{
    Absent, ConfigVerdict, Effect, Failure, FailureCode, Observe, ObserveResult, OutcomeResult,
};
use jiff::Timestamp;

use super::{Answer, Ask, Cloud, Entry, Verdict, answer, by_marker, derived_name, is_owned};
use crate::fault::{FaultOutcome, Rpc};

impl Cloud {
    /// Serves a call as the injected faults have it. `deadline`: until when its caller waits.
    pub fn serve(&mut self, ask: &Ask, deadline: Option<Timestamp>, now: Timestamp) -> Verdict {
        let owner = ask.target().map_or("", |target| target.owner.name.as_str());
        let fate = self.faults.take(ask.rpc(), owner);
        self.serve_as(ask, deadline, now, fate)
    }

    /// Serves a call with this fault outcome.
    pub fn serve_as(
        &mut self,
        ask: &Ask,
        deadline: Option<Timestamp>,
        now: Timestamp,
        fate: FaultOutcome,
    ) -> Verdict {
        self.settle(now);
        self.note(ask, deadline, now, fate);
        if let Some(problem) = self.mistake(ask) {
            return Verdict::Refused(problem);
        }
        let at_once = |answer| Verdict::Answer(answer, Duration::ZERO);
        if let Some(failure) = self.with_profile() {
            return at_once(refused(ask, failure));
        }
        match fate {
            FaultOutcome::Serve => at_once(self.perform(ask, now)),
            FaultOutcome::Hang => Verdict::Silence,
            FaultOutcome::LoseAnswer => {
                self.perform(ask, now);
                Verdict::Silence
            }
            FaultOutcome::Late(wait) => {
                let at = self.latest(ask, deadline, now, wait);
                self.late.push((at, ask.clone()));
                Verdict::Silence
            }
            FaultOutcome::Slow(wait) => {
                Verdict::Answer(self.perform(ask, now), Duration::from_millis(wait.into()))
            }
            FaultOutcome::Throttle(wait) => {
                let mut failure = answer::failure(FailureCode::Throttled, Effect::None);
                failure.retry_after = Some(Duration::from_millis(wait.into()));
                at_once(refused(ask, failure))
            }
            FaultOutcome::Unavailable => at_once(refused(
                ask,
                answer::failure(FailureCode::Unavailable, Effect::Unknown),
            )),
            FaultOutcome::UnavailableAfter => {
                self.perform(ask, now);
                at_once(refused(
                    ask,
                    answer::failure(FailureCode::Unavailable, Effect::Unknown),
                ))
            }
            FaultOutcome::Lie => match ask {
                Ask::Observe(observe) => at_once(Answer::ObserveResult(self.nothing_there(observe))),
                _ => at_once(self.perform(ask, now)),
            },
            FaultOutcome::CrashBefore => Verdict::Crash,
            FaultOutcome::CrashAfter => {
                self.perform(ask, now);
                Verdict::Crash
            }
            FaultOutcome::Status => Verdict::Status,
            FaultOutcome::StatusAfter => {
                self.perform(ask, now);
                Verdict::Status
            }
            FaultOutcome::Doom => at_once(self.doomed(ask, now)),
        }
    }

    fn note(&mut self, ask: &Ask, deadline: Option<Timestamp>, now: Timestamp, fate: FaultOutcome) {
        let target = ask.target();
        let text =
            |part: fn(&crossbridge_types::Target) -> &str| target.map(part).unwrap_or_default().to_owned();
        let (token, outcome_unknown) = match ask {
            Ask::Create(create) => (create.token.clone(), create.outcome_unknown),
            _ => (String::new(), false),
        };
        self.entries.push(Entry {
            at: now,
            rpc: ask.rpc(),
            kind: text(|target| &target.resource_type.kind),
            owner: text(|target| &target.owner.name),
            uid: text(|target| &target.owner.uid),
            name: text(|target| &target.external_name),
            token,
            outcome_unknown,
            fate,
            deadline: deadline.map_or(0, Timestamp::as_millisecond),
        });
    }

    /// A caller's mistake, which is a bug of the bridge.
    fn mistake(&self, ask: &Ask) -> Option<String> {
        let target = ask.target()?;
        let kind = &target.resource_type.kind;
        let Some(subject) = self.subject(kind) else {
            return Some(format!("kind {kind} is not served"));
        };
        let named = !target.external_name.is_empty();
        match ask {
            Ask::Observe(_) if !named && !by_marker(subject) && derived_name(subject, target).is_empty() => {
                Some(format!("a {kind} cannot be observed without a name"))
            }
            Ask::Create(_) if named && subject.cloud_named() => {
                Some(format!("a {kind} is named by the cloud"))
            }
            Ask::Create(_)
                if !named && subject.kind.external_name.source == crossbridge_types::NameSource::User =>
            {
                Some(format!("a {kind} is named by the user"))
            }
            _ => None,
        }
    }

    /// What the present profile answers to every call.
    fn with_profile(&self) -> Option<Failure> {
        if self.profile.refuses_credentials {
            return Some(answer::failure(FailureCode::Unauthenticated, Effect::None));
        }
        self.profile
            .down
            .then(|| answer::failure(FailureCode::Unavailable, Effect::None))
    }

    /// The moment at which a late call takes effect: not after its deadline and the kind's late margin.
    fn latest(&self, ask: &Ask, deadline: Option<Timestamp>, now: Timestamp, wait: u32) -> Timestamp {
        let at = answer::after(now, Duration::from_millis(wait.into()));
        let margin = ask
            .target()
            .and_then(|target| self.subject(&target.resource_type.kind))
            .map_or(Duration::ZERO, |subject| subject.kind.capabilities.late_margin);
        deadline.map_or(at, |deadline| at.min(answer::after(deadline, margin)))
    }

    /// The call takes effect.
    pub(super) fn perform(&mut self, ask: &Ask, now: Timestamp) -> Answer {
        match ask {
            Ask::Observe(observe) => Answer::ObserveResult(self.look(observe, now)),
            Ask::Create(create) => Answer::Outcome(self.create(create, now)),
            Ask::Update(update) => Answer::Outcome(self.update(update, now)),
            Ask::Delete(delete) => Answer::Outcome(self.delete(delete, now)),
            Ask::Poll(poll) => Answer::Outcome(self.poll(poll, now)),
            Ask::CheckConfig(_) => Answer::Config(ConfigVerdict::Usable {
                identity: "account-1".to_owned(),
            }),
        }
    }

    /// A creation that is going to fail and leave nothing behind.
    fn doomed(&mut self, ask: &Ask, now: Timestamp) -> Answer {
        let answer = self.perform(ask, now);
        if let Answer::Outcome(outcome) = &answer
            && let OutcomeResult::Operation(operation) = &outcome.result
            && let Some(work) = self.work.get_mut(&operation.handle)
        {
            work.fails = Some(Effect::None);
        }
        answer
    }

    fn look(&self, observe: &Observe, now: Timestamp) -> ObserveResult {
        let target = &observe.target;
        if self.profile.blind {
            return self.nothing_there(observe);
        }
        let Some(subject) = self.subject(&target.resource_type.kind) else {
            return self.nothing_there(observe);
        };
        let derived = derived_name(subject, target);
        let name = if target.external_name.is_empty() {
            &derived
        } else {
            &target.external_name
        };
        let mut visible = self
            .objects
            .iter()
            .filter(|one| one.kind == subject.name() && one.visible <= now && Self::is_shown(subject, one));
        let found = visible.find(|one| {
            if name.is_empty() {
                is_owned(&one.marker, target)
            } else {
                one.name == *name
            }
        });
        match found {
            Some(one) => ObserveResult::Found(Box::new(
                self.observation(one, subject.kind.capabilities.holds_marker),
            )),
            None => self.nothing_there(observe),
        }
    }

    fn nothing_there(&self, observe: &Observe) -> ObserveResult {
        let subject = self.subject(&observe.target.resource_type.kind);
        ObserveResult::Absent(Absent {
            external_name: subject
                .map(|subject| derived_name(subject, &observe.target))
                .unwrap_or_default(),
        })
    }
}

/// An answer that is a failure.
fn refused(ask: &Ask, failure: Failure) -> Answer {
    match ask.rpc() {
        Rpc::Observe => Answer::ObserveResult(ObserveResult::Failed(failure)),
        Rpc::CheckConfig => Answer::Config(ConfigVerdict::Unusable(failure)),
        Rpc::Create | Rpc::Update | Rpc::Delete | Rpc::Poll => {
            Answer::Outcome(answer::outcome("", OutcomeResult::Failure(failure)))
        }
    }
}
