//! Writes, and what goes wrong at them.

use std::time::Duration;

use bridge_core::{
    composite::{Change, ComposedResource, Deletion, LiveObject, ObjectId, WriteFailure, WriteFailureKind},
    driver::{ApiFailure, ApiFailureKind},
};
use serde_json::Value;

use super::World;
use crate::composite::api::{Refusal, parsed};

/// What goes wrong at one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process dies, and the write is not sent.
    DiesBefore,
    /// The write is carried out, and the process dies.
    DiesAfter,
    /// The write is carried out, and its answer is lost.
    AnswerLost,
    /// The write is carried out half a minute later, if it is still good then; the process knows nothing of it.
    LandsLate,
    /// The process dies, and its write is carried out half a minute later.
    DiesAndLandsLate,
    /// It is refused.
    Refused,
}

impl Fault {
    pub const ALL: [Self; 6] = [
        Self::DiesBefore,
        Self::DiesAfter,
        Self::AnswerLost,
        Self::LandsLate,
        Self::DiesAndLandsLate,
        Self::Refused,
    ];
}

/// A write that the API server carries out later.
#[derive(Debug, Clone)]
pub(super) enum Late {
    Create(ObjectId, Value),
    Apply(ObjectId, String, String, Value),
    Delete(ObjectId, String, String),
}

pub(super) enum Outcome {
    Done,
    Unknown,
    Refused,
    Dead,
}

impl World {
    /// The fault of this write, if it has one.
    fn fault(&mut self) -> Option<Fault> {
        let fault = self.faults.get(&self.attempts).copied();
        self.attempts += 1;
        fault
    }

    /// Tries a write that may go wrong. `late`: what lands later.
    fn attempt(
        &mut self,
        late: Option<Late>,
        write: impl FnOnce(&mut Self) -> Result<(), Refusal>,
    ) -> Result<Outcome, Refusal> {
        if self.dead {
            return Ok(Outcome::Dead);
        }
        let landing = self.now + Duration::from_secs(30);
        match (self.fault(), late) {
            (None, _) => {
                write(self)?;
                self.note();
                Ok(Outcome::Done)
            }
            (Some(Fault::Refused), _) => Ok(Outcome::Refused),
            (Some(Fault::LandsLate), Some(late)) => {
                self.late.push((landing, late));
                Ok(Outcome::Unknown)
            }
            (Some(Fault::DiesAndLandsLate), Some(late)) => {
                self.late.push((landing, late));
                self.dead = true;
                Ok(Outcome::Dead)
            }
            (Some(Fault::AnswerLost | Fault::LandsLate), _) => {
                let _ = write(self);
                Ok(Outcome::Unknown)
            }
            (Some(Fault::DiesAfter | Fault::DiesAndLandsLate), _) => {
                let _ = write(self);
                self.dead = true;
                Ok(Outcome::Dead)
            }
            (Some(Fault::DiesBefore), _) => {
                self.dead = true;
                Ok(Outcome::Dead)
            }
        }
    }

    pub(super) fn write_xr(
        &mut self,
        what: &str,
        version: (&str, &str),
        change: impl FnOnce(&mut Value),
    ) -> Result<Option<Value>, ApiFailure> {
        let mut written = None;
        let outcome = self.attempt(None, |world| {
            written = world.api.put_xr(what, version, change)?;
            Ok(())
        });
        match outcome {
            Ok(Outcome::Done) => {
                self.view.xr.clone_from(&written);
                Ok(written)
            }
            Ok(Outcome::Unknown | Outcome::Dead) => Err(failure(ApiFailureKind::Transient)),
            Ok(Outcome::Refused) => Err(failure(ApiFailureKind::Rejected)),
            Err(Refusal::NotFound) => Err(failure(ApiFailureKind::NotFound)),
            Err(_) => Err(failure(ApiFailureKind::Conflict)),
        }
    }

    pub(super) fn create(&mut self, resource: &ComposedResource) -> Result<LiveObject, WriteFailure> {
        let (id, body, time) = (resource.id.clone(), resource.created(), self.time());
        let listed = self.api.xr.as_ref().is_some_and(|xr| {
            parsed(xr)
                .refs
                .iter()
                .any(|one| one.id(parsed(xr).namespace()) == id)
        });
        if !listed {
            self.api.violations.push(format!(
                "a create of {id} was sent before its reference was stored"
            ));
        }
        let mut created = None;
        if self.refuses_writes {
            return Err(write_failure(&Ok(Outcome::Refused)));
        }
        let late = Late::Create(id.clone(), body.clone());
        let outcome = self.attempt(Some(late), |world| {
            created = Some(world.api.create(&id, &body, &time)?);
            Ok(())
        });
        self.written(&id, outcome, created)
    }

    pub(super) fn apply(&mut self, change: &Change) -> Result<LiveObject, WriteFailure> {
        let (id, body) = (change.resource.id.clone(), change.resource.applied());
        let (uid, version) = (change.uid.clone(), change.resource_version.clone());
        if self.refuses_writes {
            return Err(write_failure(&Ok(Outcome::Refused)));
        }
        let mut applied = None;
        let late = Late::Apply(id.clone(), uid.clone(), version.clone(), body.clone());
        let outcome = self.attempt(Some(late), |world| {
            applied = Some(world.api.apply(&id, &uid, &version, &body)?);
            Ok(())
        });
        self.written(&id, outcome, applied)
    }

    fn written(
        &mut self,
        id: &ObjectId,
        outcome: Result<Outcome, Refusal>,
        object: Option<Value>,
    ) -> Result<LiveObject, WriteFailure> {
        match outcome {
            Ok(Outcome::Done) => {
                let object = object.unwrap();
                self.view.objects.insert(id.clone(), object.clone());
                Ok(LiveObject::new(object))
            }
            other => Err(write_failure(&other)),
        }
    }

    pub(super) fn release(&mut self, release: &Deletion, owner: &str) -> Result<(), WriteFailure> {
        let (id, uid, version) = (&release.id, &release.uid, &release.resource_version);
        let outcome = self.attempt(None, |world| world.api.release(id, uid, version, owner));
        match outcome {
            Ok(Outcome::Done) => {
                self.view.objects.insert(id.clone(), self.api.objects[id].clone());
                Ok(())
            }
            other => Err(write_failure(&other)),
        }
    }

    pub(super) fn delete(&mut self, deletion: &Deletion) -> Result<bool, WriteFailure> {
        if let Some(act) = self.before_deletion.take() {
            act(&mut self.api);
        }
        if self.refuses_deletions {
            return Err(write_failure(&Ok(Outcome::Refused)));
        }
        let time = self.time();
        let (id, uid, version) = (&deletion.id, &deletion.uid, &deletion.resource_version);
        let mut gone = false;
        let late = Late::Delete(id.clone(), uid.clone(), version.clone());
        let outcome = self.attempt(Some(late), |world| {
            gone = world.api.delete(id, uid, version, &time)?;
            Ok(())
        });
        match outcome {
            Ok(Outcome::Done) => {
                match self.api.objects.get(id) {
                    Some(object) => drop(self.view.objects.insert(id.clone(), object.clone())),
                    None => drop(self.view.objects.remove(id)),
                }
                Ok(gone)
            }
            Err(Refusal::NotFound) => {
                self.view.objects.remove(id);
                Ok(true)
            }
            other => Err(write_failure(&other)),
        }
    }
}

fn write_failure(outcome: &Result<Outcome, Refusal>) -> WriteFailure {
    let kind = match outcome {
        Ok(Outcome::Refused) => WriteFailureKind::Rejected,
        Ok(_) => WriteFailureKind::Unknown,
        Err(Refusal::AlreadyExists) => WriteFailureKind::AlreadyExists,
        Err(Refusal::Conflict | Refusal::NotFound) => WriteFailureKind::Conflict,
    };
    WriteFailure {
        kind,
        message: "as the test wants".to_owned(),
    }
}

pub(super) fn failure(kind: ApiFailureKind) -> ApiFailure {
    ApiFailure {
        kind,
        retry_after: Duration::ZERO,
        message: "as the test wants".to_owned(),
    }
}
