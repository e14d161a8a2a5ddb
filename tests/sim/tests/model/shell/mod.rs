//! Carries out the effects of the driver that the engine runs too: against one name in an API server, and one cloud.

mod writes;

use std::time::Duration;

use bridge_core::{
    driver::{ApiFailure, ApiFailureKind, Effect, End, Moment, Permit, Retry},
    external::{
        Absent, Answer, CallError, Effect as CallEffect, FailureCode, ObserveResult, OperationVerb, Outcome,
        OutcomeResult, Verb,
    },
    managed::{
        Action, Call, MetadataChange, ObserveCall, Performed, Problem, ReconcileMemory, SnapshotAdditions,
        StatusWrite,
    },
    rule::Rule,
};

use crate::{
    bridge::{Dies, Driver, Input, LateWrite, Phase, Wait},
    cloud::failure,
    etcd::{Object, Refused},
    fault_outcome::{CallOutcome, ObserveOutcome, Outcomes, WriteOutcome},
    reference_model::{Model, verb},
};

impl Model {
    /// One step of a process.
    pub fn step(&mut self, b: usize, fates: &mut dyn Outcomes) {
        let phase = std::mem::replace(&mut self.bridges[b].phase, Phase::Resting(None));
        match phase {
            Phase::Resting(_) => {
                self.bridges[b].dirty = false;
                self.read_store(b);
                let moment = self.moment(b);
                let driver = Driver::begin(&mut self.bridges[b].memory, &moment);
                self.decide(b, Box::new(driver));
            }
            Phase::Running(driver) => match driver.effect() {
                Effect::Begin { .. } => self.act(b, driver, fates),
                Effect::Newest | Effect::Stored | Effect::Persist { .. } => self.persist(b, driver, fates),
                _ => self.decide(b, driver),
            },
            Phase::Waiting(wait) => self.answered(b, *wait),
        }
        self.check();
    }

    fn moment(&self, b: usize) -> Moment {
        Moment {
            now: self.clock(b),
            leadership: self.bridges[b].leadership(),
            jitter: self.tempo.jitter,
        }
    }

    fn resume(&mut self, b: usize, driver: &mut Driver, input: Input) {
        let moment = self.moment(b);
        let bridge = &mut self.bridges[b];
        driver.resume(&mut bridge.memory, &moment, input);
        let events = bridge.memory.take_events();
        bridge.reported.extend(events);
    }

    /// Goes on with a driver, or ends its reconcile.
    fn keep(&mut self, b: usize, driver: Box<Driver>) {
        let Effect::End(end) = driver.effect() else {
            self.bridges[b].phase = Phase::Running(driver);
            return;
        };
        let wake = match end {
            End::Gone => {
                self.forget(b);
                None
            }
            End::Rest(rest) => {
                if rest.wake.is_some_and(|wake| wake <= self.clock(b)) {
                    self.watcher.violation("rests with a wake that has passed");
                }
                rest.wake
            }
            End::Retry { at, why } => {
                if *why == Retry::Unfinished {
                    self.watcher.violation("a pass does not come to an end");
                }
                Some(*at)
            }
        };
        self.bridges[b].phase = Phase::Resting(wake);
    }

    /// What the watch has brought.
    fn read_store(&mut self, b: usize) {
        let lags = self.bridges[b].lags_until.is_some_and(|until| until > self.now);
        if !lags {
            self.bridges[b].lags_until = None;
            self.bridges[b].store.clone_from(&self.etcd.object);
        }
        let uid = self.bridges[b]
            .store
            .as_ref()
            .map(|object| object.managed.uid.clone());
        if uid.is_some_and(|uid| uid != self.bridges[b].uid) {
            self.forget(b);
        }
    }

    /// The object of this memory is gone. Another one of its name is an object of its own.
    fn forget(&mut self, b: usize) {
        let gone = std::mem::take(&mut self.bridges[b].uid);
        self.claims[b].release(&gone);
        let bridge = &mut self.bridges[b];
        bridge.memory = ReconcileMemory::default();
        if let Some(other) = bridge.store.as_ref().filter(|other| other.managed.uid != gone) {
            bridge.uid.clone_from(&other.managed.uid);
            bridge.dirty = true;
        }
    }

    fn decide(&mut self, b: usize, mut driver: Box<Driver>) {
        self.read_store(b);
        let uid = self.bridges[b].uid.clone();
        let object = self.bridges[b]
            .store
            .clone()
            .filter(|object| object.managed.uid == uid);
        let Some(object) = object else {
            self.resume(b, &mut driver, Input::Cached(None));
            return self.keep(b, driver);
        };
        let mut snapshot = Box::new(self.gather(b, &object));
        let not_asked = || Problem {
            reason: "NotAsked".to_owned(),
            message: "it was not asked for yet".to_owned(),
        };
        let additions = Box::new(SnapshotAdditions {
            desired: std::mem::replace(&mut snapshot.desired, Err(not_asked())),
            config: std::mem::replace(&mut snapshot.config, Err(not_asked())),
            suspension: snapshot.suspension.take(),
            conflicting_object: snapshot.conflicting_object.take(),
            now: snapshot.now,
        });
        self.resume(b, &mut driver, Input::Cached(Some((object, snapshot))));
        if matches!(driver.effect(), Effect::Collect { .. }) {
            self.resume(b, &mut driver, Input::Collected(additions));
        }
        if matches!(driver.effect(), Effect::AcquirePermit) {
            self.resume(b, &mut driver, Input::Permit(Permit::AtOnce));
        }
        self.note(|| format!("{} decides: {:?}", ["A", "B"][b], driver.effect()));
        self.keep(b, driver);
    }

    fn act(&mut self, b: usize, mut driver: Box<Driver>, fates: &mut dyn Outcomes) {
        self.resume(b, &mut driver, Input::Proceed);
        let Effect::Perform { object, action } = driver.effect() else {
            return self.keep(b, driver);
        };
        let (object, action) = (object.clone(), action.clone());
        match action {
            Action::Observe(asked) => self.observe(b, driver, &asked, fates),
            Action::VerifyResourceVersion => {
                self.read_live(b);
                let input = match &self.bridges[b].store {
                    Some(live) => Input::Performed(Performed::Version(live.managed.resource_version.clone())),
                    None => Input::Failed(api_failure(Some(Refused::NotFound))),
                };
                self.finish(b, driver, input);
            }
            Action::WriteMetadata(change) => self.write_metadata(b, driver, &object, &change, fates),
            Action::Call(call) => self.send(b, driver, *call, fates),
            Action::Publish => {
                let mut secret = self.secret.clone();
                secret
                    .0
                    .extend(self.bridges[b].memory.connection_details().0.clone());
                if secret != self.secret {
                    self.secret = secret;
                    self.writes.secret += 1;
                }
                self.finish(b, driver, Input::Performed(Performed::Published(Ok(()))));
            }
            Action::WriteStatus(write) => self.write_status(b, driver, &object, &write, fates),
            Action::RemoveFinalizer(_) => self.remove_finalizer(b, driver, object, fates),
        }
    }

    /// Hands the driver what came of an action, and what it asks for right after a failure.
    fn finish(&mut self, b: usize, mut driver: Box<Driver>, input: Input) {
        self.resume(b, &mut driver, input);
        if matches!(driver.effect(), Effect::ReadLive) {
            let input = Input::Live(self.live(b));
            self.resume(b, &mut driver, input);
        }
        self.keep(b, driver);
    }

    fn observe(&mut self, b: usize, driver: Box<Driver>, asked: &ObserveCall, fates: &mut dyn Outcomes) {
        let fate = fates.look(asked);
        let look = match fate {
            ObserveOutcome::Answered | ObserveOutcome::Slow(_) => Ok(self.cloud.look(asked, self.now)),
            ObserveOutcome::Absent => Ok(match self.cloud.look(asked, self.now) {
                ObserveResult::Found(_) => ObserveResult::Absent(Absent {
                    external_name: crate::cloud::derived_name(&asked.target),
                }),
                other => other,
            }),
            ObserveOutcome::Fails(code) => Ok(ObserveResult::Failed(failure(code, CallEffect::None))),
            ObserveOutcome::Unknown => Err(unknown()),
        };
        self.note(|| format!("{} looks ({fate:?}): {}", ["A", "B"][b], brief(&look)));
        let takes = match fate {
            ObserveOutcome::Slow(takes) => takes,
            _ => self.tempo.look,
        };
        self.wait(b, driver, Performed::Observed(look), takes);
    }

    /// Sends a call, unless its deadline has passed.
    fn send(&mut self, b: usize, driver: Box<Driver>, call: Call, fates: &mut dyn Outcomes) {
        let fate = fates.call(&call);
        self.note(|| format!("{} sends {} ({fate:?})", ["A", "B"][b], verb(&call)));
        if self.clock(b) >= call.deadline && !Rule::NothingSentAfterDeadline.is_off() {
            let answer = Performed::Answered(Err(refused("NOT_SENT")));
            return self.wait(b, driver, answer, Duration::ZERO);
        }
        if fate == CallOutcome::CrashBefore {
            return self.crash(b);
        }
        self.watch_send(b, &call);
        let last = self.last_moment(b, &call);
        let calling = self.tempo.call;
        let effect = |model: &mut Self| {
            let outcome = model.cloud.call(&call, model.now);
            model.watch_effect(&call);
            outcome
        };
        let (answer, takes, dies): (Answer, _, _) = match fate {
            CallOutcome::Answered => (Ok(effect(self)), calling, None),
            CallOutcome::SlowAnswer(takes) => (Ok(effect(self)), takes, None),
            CallOutcome::LostAfter => {
                let _ = effect(self);
                (Err(unknown()), calling, None)
            }
            CallOutcome::DoneButFails(code, kind) => {
                let outcome = effect(self);
                let failed = Outcome {
                    result: OutcomeResult::Failure(failure(code, kind)),
                    ..outcome
                };
                (Ok(failed), calling, None)
            }
            CallOutcome::NamedWithoutEffect(code) => {
                let outcome = effect(self);
                let new = !outcome.external_name.is_empty()
                    && outcome.external_name != call.target.external_name
                    && call.verb == Verb::Create;
                let kind = if new {
                    CallEffect::None
                } else {
                    CallEffect::Unknown
                };
                let failed = Outcome {
                    result: OutcomeResult::Failure(failure(code, kind)),
                    ..outcome
                };
                (Ok(failed), calling, None)
            }
            CallOutcome::LostBefore => (Err(unknown()), calling, None),
            CallOutcome::Late => {
                self.flights.push(crate::reference_model::InFlightCall {
                    at: last,
                    call: call.clone(),
                });
                (Err(unknown()), calling, None)
            }
            CallOutcome::Fails(code, kind) => {
                let name = call.target.external_name.clone();
                (Ok(crate::cloud::failed(&name, code, kind)), calling, None)
            }
            CallOutcome::GivesUp => {
                self.flights.push(crate::reference_model::InFlightCall {
                    at: last,
                    call: call.clone(),
                });
                let name = call.target.external_name.clone();
                let reported = crate::cloud::failed(&name, FailureCode::Timeout, CallEffect::Unknown);
                (Ok(reported), calling, None)
            }
            CallOutcome::Refused => (Err(refused("FAILED_PRECONDITION")), calling, None),
            CallOutcome::Unfit => (Err(refused("INVALID_ARGUMENT")), calling, None),
            CallOutcome::CrashBefore => return,
            CallOutcome::CrashLate => {
                self.flights
                    .push(crate::reference_model::InFlightCall { at: last, call });
                return self.crash(b);
            }
            CallOutcome::CrashBeforePersist => (Ok(effect(self)), calling, Some(Dies::BeforePersist)),
            CallOutcome::CrashAfterPersist => (Ok(effect(self)), calling, Some(Dies::AfterPersist)),
        };
        self.note(|| format!("  answer: {}", reported(&answer)));
        self.bridges[b].dies = dies;
        self.wait(b, driver, Performed::Answered(answer), takes);
    }

    fn wait(&mut self, b: usize, driver: Box<Driver>, answer: Performed, takes: Duration) {
        self.bridges[b].phase = Phase::Waiting(Box::new(Wait {
            driver: *driver,
            until: self.now + takes,
            answer,
        }));
    }

    /// When the call can take effect at the latest.
    fn last_moment(&self, b: usize, call: &Call) -> jiff::Timestamp {
        let one_clock = self.bridges.iter().all(|bridge| bridge.offset.is_zero());
        let skew = if one_clock {
            self.settings.clock_skew
        } else {
            Duration::ZERO
        };
        let changes_nothing = call.verb == Verb::Poll && !self.is_driven(call);
        if changes_nothing {
            return self.now;
        }
        call.deadline - self.bridges[b].offset + self.subject.late() + skew
    }

    /// A poll that moves the operation on.
    pub fn is_driven(&self, call: &Call) -> bool {
        let pace = match call.operation {
            Some(OperationVerb::Create) => self.subject.manners.create,
            Some(OperationVerb::Delete) => self.subject.manners.delete,
            Some(OperationVerb::Update) | None => return false,
        };
        call.verb == Verb::Poll && pace == crate::kinds::Pace::Driven
    }

    fn answered(&mut self, b: usize, wait: Wait) {
        self.advance_to(wait.until);
        if self.bridges[b].dies == Some(Dies::BeforePersist) {
            return self.crash(b);
        }
        self.finish(b, Box::new(wait.driver), Input::Performed(wait.answer));
    }
}

/// `None`: nobody knows what became of it.
fn api_failure(refused: Option<Refused>) -> ApiFailure {
    let kind = match refused {
        Some(Refused::Conflict) => ApiFailureKind::Conflict,
        Some(Refused::NotFound) => ApiFailureKind::NotFound,
        None => ApiFailureKind::Transient,
    };
    ApiFailure {
        kind,
        retry_after: Duration::ZERO,
        message: format!("{kind:?}"),
    }
}

fn unknown() -> CallError {
    CallError::Unknown {
        code: "UNAVAILABLE".to_owned(),
        message: "nobody knows".to_owned(),
    }
}

fn refused(code: &str) -> CallError {
    CallError::Rejected {
        code: code.to_owned(),
        message: "nothing was done".to_owned(),
    }
}

fn brief(look: &Result<ObserveResult, CallError>) -> String {
    match look {
        Ok(ObserveResult::Found(one)) => format!("found {} marker {:?}", one.external_name, one.found_marker),
        Ok(ObserveResult::Absent(_)) => "absent".to_owned(),
        Ok(ObserveResult::Failed(failure)) => format!("failed {:?}", failure.code),
        Err(error) => error.to_string(),
    }
}

fn reported(answer: &Answer) -> String {
    match answer {
        Ok(outcome) => {
            let result = match &outcome.result {
                OutcomeResult::Completed(_) => "completed".to_owned(),
                OutcomeResult::Operation(operation) => format!("operation {}", operation.handle),
                OutcomeResult::Failure(failure) => format!("failure {:?}/{:?}", failure.code, failure.effect),
            };
            format!("{result} name {:?}", outcome.external_name)
        }
        Err(error) => error.to_string(),
    }
}
