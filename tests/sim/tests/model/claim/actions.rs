//! What the actions of a process come to at the API server, and what goes wrong on the way.

use std::time::Duration;

use bridge_core::{
    claim::{Action, Claim, ClaimMachine, CompositeDeletion, Performed, names},
    composite::{LiveObject, WriteFailure, WriteFailureKind},
    driver::{ApiFailure, ApiFailureKind, Input},
};
use serde_json::{Value, json};

use super::{
    api::{Refusal, live},
    process::{Fault, Late, World, failure, state},
};

enum Outcome {
    Done,
    Unknown,
    Refused,
    Dead,
}

impl World {
    pub(super) fn perform(
        &mut self,
        key: &str,
        object: &Value,
        action: &Action,
    ) -> Input<ClaimMachine, Value> {
        let of = Claim::new(object.clone());
        let version = (of.name(), of.uid(), of.resource_version());
        let performed = match action {
            Action::Observe(name) => {
                self.hides_composites = 0;
                match self.api.xrs.get(name) {
                    Some(xr) => drop(self.view.xrs.insert(name.clone(), xr.clone())),
                    None => drop(self.view.xrs.remove(name)),
                }
                Performed::Observed(state(&self.view, name))
            }
            Action::DeleteSecret(_) => panic!("there are no connection Secrets here"),
            Action::VerifyResourceVersion => {
                self.read(key);
                match self.view.claims.get(key) {
                    Some(claim) if claim["metadata"]["uid"] == of.uid() => {
                        Performed::Version(version_of(claim))
                    }
                    _ => return Input::Failed(failure(ApiFailureKind::NotFound)),
                }
            }
            Action::Write(write) => {
                let change = |claim: &mut Value| {
                    claim["metadata"]["finalizers"] = json!(write.finalizers);
                    claim["metadata"]["annotations"] = json!(write.annotations);
                    claim["spec"] = write.spec.clone();
                };
                return match self.write_claim("write", version, change) {
                    Ok(claim) => Input::Performed(Performed::Version(version_of(&claim.unwrap_or_default()))),
                    Err(refused) if refused.kind == ApiFailureKind::Rejected => {
                        Input::Performed(Performed::Refused(WriteFailure {
                            kind: WriteFailureKind::Rejected,
                            message: refused.message,
                        }))
                    }
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::WriteStatus(_) if self.refuses_status => {
                return Input::Failed(failure(ApiFailureKind::Rejected));
            }
            Action::WriteStatus(write) => {
                let change = |claim: &mut Value| claim["status"] = write.status.clone();
                return match self.write_claim("status", version, change) {
                    Ok(claim) => {
                        let claim = claim.unwrap_or_default();
                        Input::Performed(Performed::StatusWritten {
                            version: version_of(&claim),
                            stored: claim["status"].clone(),
                        })
                    }
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::RemoveFinalizer => {
                let change = |claim: &mut Value| {
                    if let Some(finalizers) = claim["metadata"]["finalizers"].as_array_mut() {
                        finalizers.retain(|one| one != names::FINALIZER);
                    }
                };
                return match self.write_claim("release", version, change) {
                    Ok(claim) => Input::Performed(Performed::FinalizerRemoved(claim.is_none())),
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::Create(name, body) => {
                let body = body.created(name);
                let named = self.api.claims.values().any(|claim| {
                    claim["metadata"]["uid"] == of.uid()
                        && claim["spec"]["resourceRef"]["name"] == name.as_str()
                });
                if !named {
                    self.api
                        .violations
                        .push(format!("a create of {name} was sent before its claim named it"));
                }
                let late = Late::Create(name.clone(), body.clone());
                let time = self.time();
                let outcome =
                    self.attempt(Some(late), |world| world.api.create(name, &body, &time).map(Some));
                Performed::Written(self.written(name, outcome))
            }
            Action::Apply(change) => {
                let (body, by) = (change.body.applied(), of.uid().to_owned());
                let guard = [&change.name, &change.uid, &change.resource_version].map(Clone::clone);
                let late = Late::Apply(guard, change.convert, body.clone(), by.clone());
                let place = (&*change.name, &*change.uid, &*change.resource_version);
                let outcome = self.attempt(Some(late), |world| {
                    world.api.apply(place, change.convert, &body, &by).map(Some)
                });
                Performed::Written(self.written(&change.name, outcome))
            }
            Action::Delete(deletion) => Performed::Deleted(self.delete(&of, deletion)),
            Action::Propagate(..) => panic!("nothing is propagated"),
        };
        Input::Performed(performed)
    }

    fn delete(&mut self, of: &Claim, deletion: &CompositeDeletion) -> Result<bool, WriteFailure> {
        let (by, time) = (of.uid().to_owned(), self.time());
        let guard = [&deletion.name, &deletion.uid, &deletion.resource_version].map(Clone::clone);
        let place = (&*deletion.name, &*deletion.uid, &*deletion.resource_version);
        let outcome = self.attempt(Some(Late::Delete(guard, by.clone())), |world| {
            world.api.delete(place, &by, &time)?;
            Ok(world.api.xrs.get(&deletion.name).cloned())
        });
        if let Err(Refusal::NotFound) = outcome {
            self.view.xrs.remove(&deletion.name);
            return Ok(true);
        }
        self.written(&deletion.name, outcome)?;
        Ok(!self.api.xrs.contains_key(&deletion.name))
    }

    /// Tries a write that may go wrong. `late`: what lands later.
    fn attempt(
        &mut self,
        late: Option<Late>,
        write: impl FnOnce(&mut Self) -> Result<Option<Value>, Refusal>,
    ) -> Result<(Outcome, Option<Value>), Refusal> {
        if self.dead {
            return Ok((Outcome::Dead, None));
        }
        let landing = self.now + Duration::from_secs(30);
        let fault = self.faults.get(&self.attempts).copied();
        self.attempts += 1;
        match (fault, late) {
            (None, _) => {
                let written = write(self)?;
                self.note();
                return Ok((Outcome::Done, written));
            }
            (Some(Fault::Refused), _) => return Ok((Outcome::Refused, None)),
            (Some(Fault::LandsLate | Fault::DiesAndLandsLate), Some(late)) => self.late.push((landing, late)),
            (Some(Fault::DiesBefore), _) => {}
            (Some(Fault::AnswerLost | Fault::LandsLate | Fault::DiesAfter | Fault::DiesAndLandsLate), _) => {
                drop(write(self));
            }
        }
        let dies = matches!(
            fault,
            Some(Fault::DiesBefore | Fault::DiesAfter | Fault::DiesAndLandsLate)
        );
        self.dead = dies;
        Ok((if dies { Outcome::Dead } else { Outcome::Unknown }, None))
    }

    fn write_claim(
        &mut self,
        what: &str,
        version: (&str, &str, &str),
        change: impl FnOnce(&mut Value),
    ) -> Result<Option<Value>, ApiFailure> {
        let outcome = self.attempt(None, |world| world.api.put_claim(what, version, change));
        match outcome {
            Ok((Outcome::Done, written)) => {
                match &written {
                    Some(claim) => drop(self.view.claims.insert(version.0.to_owned(), claim.clone())),
                    None => drop(self.view.claims.remove(version.0)),
                }
                Ok(written)
            }
            Ok((Outcome::Unknown | Outcome::Dead, _)) => Err(failure(ApiFailureKind::Transient)),
            Ok((Outcome::Refused, _)) => Err(failure(ApiFailureKind::Rejected)),
            Err(Refusal::NotFound) => Err(failure(ApiFailureKind::NotFound)),
            Err(_) => Err(failure(ApiFailureKind::Conflict)),
        }
    }

    fn written(
        &mut self,
        name: &str,
        outcome: Result<(Outcome, Option<Value>), Refusal>,
    ) -> Result<LiveObject, WriteFailure> {
        let kind = match outcome {
            Ok((Outcome::Done, xr)) => {
                match &xr {
                    Some(xr) => drop(self.view.xrs.insert(name.to_owned(), xr.clone())),
                    None => drop(self.view.xrs.remove(name)),
                }
                return Ok(live(&xr.unwrap_or_default()));
            }
            Ok((Outcome::Refused, _)) => WriteFailureKind::Rejected,
            Ok(_) => WriteFailureKind::Unknown,
            Err(Refusal::AlreadyExists) => WriteFailureKind::AlreadyExists,
            Err(Refusal::Conflict | Refusal::NotFound) => WriteFailureKind::Conflict,
        };
        Err(WriteFailure {
            kind,
            message: "as the test wants".to_owned(),
        })
    }
}

fn version_of(claim: &Value) -> String {
    let version = claim["metadata"]["resourceVersion"].as_str();
    version.unwrap_or_default().to_owned()
}
