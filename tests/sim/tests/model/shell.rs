//! The shell in miniature: carries out what was decided, as the engine's does.

use std::time::Duration;

use bridge_core::{
    external::{
        Absent, Answer, CallError, Effect, FailureCode, Look, OperationVerb, Outcome, OutcomeResult, Verb,
    },
    managed::{
        Action, Asked, Call, Decision, Memory, MetadataChange, Settled, StatusWrite, World, decide, settle,
    },
};

use crate::{
    bridge::{Awaited, Dies, LateWrite, MOST_STEPS, Persist, Phase, Wait},
    cloud::failure,
    etcd::{Object, Refused},
    fate::{CallFate, Fates, LookFate, WriteFate},
    world::{Model, verb},
};

/// After an API request that failed.
const RETRY: Duration = Duration::from_secs(1);

impl Model {
    /// One step of a process.
    pub fn step(&mut self, b: usize, fates: &mut dyn Fates) {
        let phase = std::mem::replace(&mut self.bridges[b].phase, Phase::Deciding);
        match phase {
            Phase::Resting(_) => {
                let bridge = &mut self.bridges[b];
                (bridge.dirty, bridge.steps) = (false, 0);
                let term = bridge.term;
                bridge.memory.begin_pass(term);
                self.decide(b);
            }
            Phase::Deciding => self.decide(b),
            Phase::Decided(world, action) => self.act(b, *world, action, fates),
            Phase::Waiting(wait) => self.answered(b, *wait),
            Phase::Persisting(persist) => self.persist(b, *persist, fates),
        }
        let bridge = &mut self.bridges[b];
        let told = std::mem::take(&mut bridge.memory.events);
        bridge.told.extend(told);
        self.check();
    }

    fn decide(&mut self, b: usize) {
        let lags = self.bridges[b].lags_until.is_some_and(|until| until > self.now);
        if !lags {
            self.bridges[b].lags_until = None;
            self.bridges[b].store.clone_from(&self.etcd.object);
        }
        let Some(object) = self.bridges[b].store.clone() else {
            let gone = std::mem::take(&mut self.bridges[b].uid);
            self.claims[b].retain(|_, (uid, _)| *uid != gone);
            self.makers[b].retain(|_, uid| *uid != gone);
            self.bridges[b].memory = Memory::default();
            self.bridges[b].phase = Phase::Resting(None);
            return;
        };
        let bridge = &mut self.bridges[b];
        if bridge.uid != object.managed.uid {
            let gone = std::mem::replace(&mut bridge.uid, object.managed.uid.clone());
            self.claims[b].retain(|_, (uid, _)| *uid != gone);
            self.makers[b].retain(|_, uid| *uid != gone);
            bridge.memory = Memory::default();
            bridge.memory.begin_pass(bridge.term);
        }
        let world = self.gather(b, &object);
        self.bridges[b].memory.notice(&world);
        let decision = decide(&world, &self.bridges[b].memory);
        self.note(|| format!("{} decides: {decision}", ["A", "B"][b]));
        let bridge = &mut self.bridges[b];
        bridge.last = Some(decision.clone());
        bridge.steps += 1;
        bridge.phase = match decision {
            Decision::Rest(rest) => {
                if rest.wake.is_some_and(|wake| wake <= world.now) {
                    self.watcher.violation("rests with a wake that has passed");
                }
                Phase::Resting(rest.wake)
            }
            Decision::Act(action) => Phase::Decided(Box::new(world), action),
        };
        if self.bridges[b].steps > MOST_STEPS {
            self.watcher.violation("a pass does not come to an end");
        }
    }

    fn act(&mut self, b: usize, world: World, action: Action, fates: &mut dyn Fates) {
        match action {
            Action::Observe(asked) => self.observe(b, world, &asked, fates),
            Action::Prove => {
                let began = self.clock(b);
                self.read_live(b);
                if let Some(live) = &self.bridges[b].store {
                    let version = live.managed.resource_version.clone();
                    self.bridges[b].memory.learn_version(&version, began);
                }
            }
            Action::WriteMetadata(change) => self.write_metadata(b, &change, fates),
            Action::Call(call) => self.send(b, world, *call, fates),
            Action::Publish => {
                let bridge = &mut self.bridges[b];
                let mut secret = self.secret.clone();
                secret.0.extend(bridge.memory.details.0.clone());
                if secret != self.secret {
                    self.secret = secret;
                    self.writes.secret += 1;
                }
                bridge.memory.learn_published();
            }
            Action::WriteStatus(write) => self.write_status(b, *write, fates),
            Action::Release(event) => {
                self.bridges[b].told.extend(event);
                self.writes.release += 1;
                let now = self.now;
                let base = Box::new(world.managed);
                self.write(b, "release", fates, LateWrite::Release(base.clone()), |model| {
                    model.etcd.release(&base, now).map(|()| None)
                });
                if matches!(self.bridges[b].phase, Phase::Deciding) {
                    self.bridges[b].phase = Phase::Resting(None);
                }
            }
        }
    }

    fn observe(&mut self, b: usize, world: World, asked: &Asked, fates: &mut dyn Fates) {
        let began = self.clock(b);
        let fate = fates.look(asked);
        let look = match fate {
            LookFate::Answered | LookFate::Slow(_) => Ok(self.cloud.look(asked, self.now)),
            LookFate::Absent => Ok(match self.cloud.look(asked, self.now) {
                Look::Found(_) => Look::Absent(Absent {
                    external_name: crate::cloud::derived_name(&asked.target),
                }),
                other => other,
            }),
            LookFate::Fails(code) => Ok(Look::Failed(failure(code, bridge_core::external::Effect::None))),
            LookFate::Unknown => Err(unknown()),
        };
        self.note(|| format!("{} looks ({fate:?}): {}", ["A", "B"][b], brief(&look)));
        let takes = match fate {
            LookFate::Slow(takes) => takes,
            _ => self.tempo.look,
        };
        self.bridges[b].phase = Phase::Waiting(Box::new(Wait {
            world,
            until: self.now + takes,
            answer: Awaited::Look {
                asked: Box::new(asked.clone()),
                began,
                look,
            },
        }));
    }

    /// Sends a call, unless its deadline has passed.
    fn send(&mut self, b: usize, world: World, call: Call, fates: &mut dyn Fates) {
        self.bridges[b].memory.begin_call(&call);
        let fate = fates.call(&call);
        self.note(|| format!("{} sends {} ({fate:?})", ["A", "B"][b], verb(&call)));
        if self.clock(b) >= call.deadline {
            return self.wait(b, world, call, Err(refused("NOT_SENT")), Duration::ZERO, None);
        }
        if fate == CallFate::CrashBefore {
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
            CallFate::Answered => (Ok(effect(self)), calling, None),
            CallFate::SlowAnswer(takes) => (Ok(effect(self)), takes, None),
            CallFate::LostAfter => {
                let _ = effect(self);
                (Err(unknown()), calling, None)
            }
            CallFate::DoneButFails(code, kind) => {
                let outcome = effect(self);
                let failed = Outcome {
                    result: OutcomeResult::Failure(failure(code, kind)),
                    ..outcome
                };
                (Ok(failed), calling, None)
            }
            CallFate::NamedWithoutEffect(code) => {
                let outcome = effect(self);
                let new = !outcome.external_name.is_empty()
                    && outcome.external_name != call.target.external_name
                    && call.verb == Verb::Create;
                let kind = if new { Effect::None } else { Effect::Unknown };
                let failed = Outcome {
                    result: OutcomeResult::Failure(failure(code, kind)),
                    ..outcome
                };
                (Ok(failed), calling, None)
            }
            CallFate::LostBefore => (Err(unknown()), calling, None),
            CallFate::Late => {
                self.flights.push(crate::world::Flight {
                    at: last,
                    call: call.clone(),
                });
                (Err(unknown()), calling, None)
            }
            CallFate::Fails(code, kind) => {
                let name = call.target.external_name.clone();
                (Ok(crate::cloud::failed(&name, code, kind)), calling, None)
            }
            CallFate::GivesUp => {
                self.flights.push(crate::world::Flight {
                    at: last,
                    call: call.clone(),
                });
                let name = call.target.external_name.clone();
                let told = crate::cloud::failed(&name, FailureCode::Timeout, Effect::Unknown);
                (Ok(told), calling, None)
            }
            CallFate::Refused => (Err(refused("FAILED_PRECONDITION")), calling, None),
            CallFate::Unfit => (Err(refused("INVALID_ARGUMENT")), calling, None),
            CallFate::CrashBefore => return,
            CallFate::CrashLate => {
                self.flights.push(crate::world::Flight { at: last, call });
                return self.crash(b);
            }
            CallFate::CrashBeforePersist => (Ok(effect(self)), calling, Some(Dies::BeforePersist)),
            CallFate::CrashAfterPersist => (Ok(effect(self)), calling, Some(Dies::AfterPersist)),
        };
        self.wait(b, world, call, answer, takes, dies);
    }

    fn wait(
        &mut self,
        b: usize,
        world: World,
        call: Call,
        answer: Answer,
        takes: Duration,
        dies: Option<Dies>,
    ) {
        self.note(|| format!("  answer: {}", told(&answer)));
        self.bridges[b].phase = Phase::Waiting(Box::new(Wait {
            world,
            until: self.now + takes,
            answer: Awaited::Call { call, answer, dies },
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
        let mut world = wait.world;
        world.now = self.clock(b);
        match wait.answer {
            Awaited::Look { asked, began, look } => {
                self.bridges[b].memory.learn_look(&world, &asked, began, look);
            }
            Awaited::Call {
                dies: Some(Dies::BeforePersist),
                ..
            } => self.crash(b),
            Awaited::Call { call, answer, dies } => {
                let newest = self.bridges[b].store.clone();
                self.bridges[b].phase = Phase::Persisting(Box::new(Persist {
                    world,
                    call,
                    answer,
                    newest,
                    dies,
                }));
            }
        }
    }

    /// Retried until it lands, or the object or its record is another's.
    fn persist(&mut self, b: usize, mut persist: Persist, fates: &mut dyn Fates) {
        let change = match &persist.newest {
            None => Settled::NotOurs,
            Some(newest) => settle(&persist.world, &newest.managed, &persist.call, &persist.answer),
        };
        let Settled::Write(change) = change else {
            return self.learn(b, persist);
        };
        let base = persist.newest.clone().expect("there is something to write");
        self.writes.metadata += 1;
        let fate = fates.write(change.why, true);
        self.note(|| format!("{} persists ({fate:?})", ["A", "B"][b]));
        match fate {
            WriteFate::CrashBefore => return self.crash(b),
            WriteFate::LostBefore => {}
            WriteFate::Late(after) => {
                let late = LateWrite::Metadata(base, change);
                self.late_writes.push((self.now + after, late));
            }
            WriteFate::Lands | WriteFate::LostAfter | WriteFate::CrashAfter => {
                let result = self.etcd.put_metadata(&base, &change);
                self.wake_other(b);
                if fate == WriteFate::CrashAfter {
                    return self.crash(b);
                }
                if let (WriteFate::Lands, Ok(new)) = (fate, result) {
                    self.bridges[b].learn_version(Some(new));
                    return self.learn(b, persist);
                }
            }
        }
        self.now += self.tempo.persist_again;
        persist.newest.clone_from(&self.etcd.object);
        self.bridges[b].phase = Phase::Persisting(Box::new(persist));
    }

    fn learn(&mut self, b: usize, persist: Persist) {
        if persist.dies == Some(Dies::AfterPersist) {
            return self.crash(b);
        }
        let mut world = persist.world;
        let wanted = world.managed.generation;
        if let Some(newest) = &self.bridges[b].store
            && newest.managed.uid == world.managed.uid
        {
            world.managed = newest.managed.clone();
            world.managed.generation = wanted;
        }
        world.now = self.clock(b);
        self.bridges[b]
            .memory
            .learn_answer(&world, &persist.call, &persist.answer);
    }

    fn write_metadata(&mut self, b: usize, change: &MetadataChange, fates: &mut dyn Fates) {
        let Some(base) = self.bridges[b].store.clone() else {
            return;
        };
        let began = self.clock(b);
        self.writes.metadata += 1;
        self.bridges[b].memory.begin_write(&base.managed, change);
        let late = LateWrite::Metadata(base.clone(), change.clone());
        let landed = self.write(b, change.why, fates, late, |model| {
            model.watch_write(&base, change);
            model.etcd.put_metadata(&base, change).map(Some)
        });
        if let Some(new) = landed {
            let version = new.managed.resource_version;
            self.bridges[b].memory.learn_metadata(change, &version, began);
        }
    }

    fn write_status(&mut self, b: usize, write: StatusWrite, fates: &mut dyn Fates) {
        let Some(base) = self.bridges[b].store.clone() else {
            return;
        };
        let began = self.clock(b);
        self.writes.status += 1;
        let progress = write.status.progress.operation != base.managed.status.progress.operation;
        let late = LateWrite::Status(base.clone(), write.status.clone());
        let landed = self.write(b, "status", fates, late, |model| {
            model.etcd.put_status(&base, &write.status).map(Some)
        });
        if let Some(new) = landed {
            let memory = &mut self.bridges[b].memory;
            memory.learn_version(&new.managed.resource_version, began);
            memory.events.extend(write.events);
            if progress {
                memory.progress_written = Some(began);
            }
        }
    }

    /// One request to the API server. After an error: read live, and come back later.
    fn write(
        &mut self,
        b: usize,
        what: &str,
        fates: &mut dyn Fates,
        late: LateWrite,
        write: impl FnOnce(&mut Self) -> Result<Option<Object>, Refused>,
    ) -> Option<Object> {
        let fate = fates.write(what, false);
        if fate != WriteFate::Lands {
            self.note(|| format!("  write fares {fate:?}"));
        }
        match fate {
            WriteFate::CrashBefore => {
                self.crash(b);
                return None;
            }
            WriteFate::Late(after) => {
                self.late_writes.push((self.now + after, late));
            }
            WriteFate::LostBefore => {}
            WriteFate::Lands | WriteFate::LostAfter | WriteFate::CrashAfter => {
                let result = write(self);
                self.wake_other(b);
                match (fate, result) {
                    (WriteFate::CrashAfter, _) => {
                        self.crash(b);
                        return None;
                    }
                    (WriteFate::Lands, Ok(new)) => {
                        if let Some(new) = &new {
                            self.bridges[b].learn_version(Some(new.clone()));
                        }
                        return new;
                    }
                    (_, result) => {
                        self.note(|| format!("  write failed: {:?}", result.map(|_| ())));
                    }
                }
            }
        }
        self.read_live(b);
        let pause = self.clock(b) + RETRY;
        self.bridges[b].phase = Phase::Resting(Some(pause));
        None
    }

    fn read_live(&mut self, b: usize) {
        let live = self.etcd.object.clone();
        self.bridges[b].learn_version(live);
    }
}

fn unknown() -> CallError {
    CallError::Unknown {
        code: "UNAVAILABLE".to_owned(),
        message: "nobody knows".to_owned(),
    }
}

fn refused(code: &str) -> CallError {
    CallError::Refused {
        code: code.to_owned(),
        message: "nothing was done".to_owned(),
    }
}

fn brief(look: &Result<Look, CallError>) -> String {
    match look {
        Ok(Look::Found(one)) => format!("found {} marker {:?}", one.external_name, one.found_marker),
        Ok(Look::Absent(_)) => "absent".to_owned(),
        Ok(Look::Failed(failure)) => format!("failed {:?}", failure.code),
        Err(error) => error.to_string(),
    }
}

fn told(answer: &Answer) -> String {
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
