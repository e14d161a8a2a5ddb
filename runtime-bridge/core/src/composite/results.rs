//! Takes in what came of an action.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;

use super::{
    ObjectId,
    decision::{Action, Deletion, StatusWrite},
    desired::ComposedResource,
    digest::ContentDigest,
    due::changing,
    live::{LiveObject, ObjectState},
    memory::{CompositeMemory, FailedDeletion, FailedWrite, Recreation},
    present,
    publication::{FailedPublication, Publication, Published},
    reapplication::Reapplication,
    record_events,
    snapshot::{RunState, Snapshot},
    status,
};
use crate::{
    back_off::policies,
    driver::{Follow, Moment},
    managed::Event,
    reasons::CompositeEvent,
    rule::Rule,
};

/// What stays for so long is not counted as deleted again and again.
pub(super) const OUTLIVES: Duration = Duration::from_mins(10);

/// What could not be read is read again after this.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What came of an [`Action`].
#[derive(Debug, Clone)]
pub enum Performed {
    /// Of [`Action::Observe`]: what was read.
    Observed(Vec<(ObjectId, ObjectState)>),
    /// Of [`Action::VerifyResourceVersion`] and [`Action::Write`]: the `resourceVersion` that stands now.
    Version(String),
    /// Of [`Action::Run`].
    RunBegan,
    /// Of [`Action::Create`] and [`Action::Apply`], each in its place.
    Written(Vec<Result<LiveObject, WriteFailure>>),
    /// Of [`Action::Delete`], each in its place; true: the object is gone.
    Deleted(Vec<Result<bool, WriteFailure>>),
    /// Of [`Action::Release`], each in its place.
    Released(Vec<Result<(), WriteFailure>>),
    /// Of [`Action::Publish`].
    Published(Result<PublishedSecret, WriteFailure>),
    /// Of [`Action::DeleteSecret`]: it is gone, or somebody else's; `Err`: the API server refuses, and why.
    SecretDeleted(Result<(), String>),
    /// Of [`Action::WriteStatus`].
    StatusWritten {
        /// The `resourceVersion` that stands now.
        version: String,
        /// What the API server made of it.
        stored: serde_json::Value,
    },
    /// Of [`Action::RemoveFinalizer`]; true: the composite resource is gone.
    FinalizerRemoved(bool),
}

/// A connection Secret that is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedSecret {
    /// Its version.
    pub version: u64,
    /// It was written.
    pub changed: bool,
}

/// Why the API server did not write a composed resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFailure {
    /// What kind of failure it is.
    pub kind: WriteFailureKind,
    /// For people.
    pub message: String,
}

/// What kind of failure a write met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFailureKind {
    /// An object of the name exists.
    AlreadyExists,
    /// It was decided on another version.
    Conflict,
    /// It is refused until a person changes something.
    Rejected,
    /// It had no effect, and may succeed later.
    NotDone,
    /// Whether it had an effect is not known.
    Unknown,
}

impl CompositeMemory {
    /// An action is about to be carried out.
    pub(super) fn before(&mut self, snapshot: &Snapshot, action: &Action) {
        match action {
            Action::Create(all) => {
                for resource in all {
                    self.absences.remove(&resource.id);
                }
            }
            Action::Run(start) => {
                self.progress_since.get_or_insert(snapshot.now);
                if let RunState::Ended { basis, .. } | RunState::Going { basis, .. } = &snapshot.run
                    && let Some(changing) = changing(basis, &start.basis)
                {
                    self.circuit
                        .spend(&snapshot.settings.circuit, changing, snapshot.now);
                }
            }
            _ => {}
        }
    }

    fn write_failed(&mut self, resource: &ComposedResource, failure: WriteFailure, moment: &Moment) {
        let former = self.failures.remove(&resource.resource_name);
        let failures = former
            .as_ref()
            .map_or(0, |former| former.failures)
            .saturating_add(1);
        if failure.kind != WriteFailureKind::Conflict {
            let told = former.as_ref().and_then(|former| former.told.as_deref());
            record_events::apply_failed(self, &resource.resource_name, told, &failure.message);
        }
        let told = match failure.kind {
            WriteFailureKind::Conflict => former.and_then(|former| former.told),
            _ => Some(failure.message.clone()),
        };
        let policy = match failure.kind {
            WriteFailureKind::Conflict => policies::API_CONFLICT,
            WriteFailureKind::Rejected => policies::API_REJECTED,
            WriteFailureKind::AlreadyExists | WriteFailureKind::NotDone | WriteFailureKind::Unknown => {
                policies::API
            }
        };
        let failed = FailedWrite {
            desired: resource.digest(),
            message: failure.message,
            told,
            is_conflict: failure.kind == WriteFailureKind::Conflict,
            failures,
            retry_at: moment.now + policy.wait(failures, moment.jitter),
        };
        self.failures.insert(resource.resource_name.clone(), failed);
    }

    fn deletion_failed(&mut self, verb: &str, deletion: &Deletion, failure: &WriteFailure, moment: &Moment) {
        let former = self.failed_deletions.get(&deletion.uid);
        let failures = former.map_or(0, |former| former.failures).saturating_add(1);
        let message = format!(
            "cannot {verb} composed resource {}: {}",
            deletion.id, failure.message
        );
        let is_conflict = failure.kind == WriteFailureKind::Conflict;
        // Its refusal stands, though another writer was faster this time.
        let refused = former
            .filter(|former| is_conflict && !former.is_conflict)
            .cloned();
        let policy = if is_conflict {
            policies::API_CONFLICT
        } else {
            policies::API
        };
        let failed = FailedDeletion {
            is_conflict: is_conflict && refused.is_none(),
            message: refused.map_or(message, |refused| refused.message),
            failures,
            retry_at: moment.now + policy.wait(failures, moment.jitter),
        };
        self.failed_deletions.insert(deletion.uid.clone(), failed);
    }

    fn reapplied(&mut self, resource: &ComposedResource, uid: &str, moment: &Moment) {
        let former = self.reapplications.get(uid);
        let one = Reapplication::after(former, resource.digest(), moment);
        self.reapplications.insert(uid.to_owned(), one);
    }

    fn written(&mut self, resource: &ComposedResource, object: &LiveObject) {
        self.failures.remove(&resource.resource_name);
        let differences = present::differences(&resource.body, object.object());
        if differences.is_empty() {
            self.altered.remove(object.uid());
        } else {
            self.altered.insert(object.uid().to_owned(), differences);
        }
    }
}

/// Takes in what came of an action.
pub(super) fn record<A>(
    memory: &mut CompositeMemory,
    snapshot: &mut Snapshot,
    action: &Action,
    performed: Performed,
    began: Timestamp,
    moment: &Moment,
) -> Follow<A> {
    match (action, performed) {
        (Action::Observe(_), Performed::Observed(all)) => {
            for (id, seen) in all {
                if matches!(seen, ObjectState::Unknown(_)) {
                    memory.failed_reads.insert(id, moment.now + ASK_AGAIN);
                    continue;
                }
                memory.failed_reads.remove(&id);
                memory.name_taken.remove(&id);
                if matches!(seen, ObjectState::Absent) {
                    memory.absences.insert(id, began);
                }
            }
        }
        (Action::VerifyResourceVersion, Performed::Version(version)) => {
            memory.adoptable = Some((version.clone(), super::rules::uncontrolled(snapshot)));
            memory.verified = Some(version);
            memory.failed_writes = 0;
        }
        (Action::Write(write), Performed::Version(version)) => {
            memory.verified = Some(version);
            memory.failed_writes = 0;
            memory.added = added(memory, snapshot, &write.spec);
            memory.last_write = Some(super::write::digest(write));
            memory.refused_write = None;
            record_events::write_succeeded(memory, false);
            record_events::composite_written(memory, &write.events);
        }
        (Action::Create(all), Performed::Written(results)) => {
            for (resource, result) in all.iter().zip(results) {
                created(memory, resource, result, moment);
            }
        }
        (Action::Apply(all), Performed::Written(results)) => {
            for (change, result) in all.iter().zip(results) {
                match result {
                    Ok(object) => {
                        memory.written(&change.resource, &object);
                        memory.reapplied(&change.resource, object.uid(), moment);
                        if change.adopts {
                            let message = format!(
                                "Adopted composed resource {:?}: {}",
                                change.resource.resource_name, change.resource.id
                            );
                            memory
                                .events
                                .push(Event::normal(CompositeEvent::Adopted, &message));
                        }
                    }
                    Err(failure) => memory.write_failed(&change.resource, failure, moment),
                }
            }
        }
        (Action::Delete(all), Performed::Deleted(results)) => {
            for (deletion, result) in all.iter().zip(results) {
                match result {
                    Ok(_) => drop(memory.failed_deletions.remove(&deletion.uid)),
                    Err(failure) => memory.deletion_failed("delete", deletion, &failure, moment),
                }
            }
            record_events::deletions_fail(memory);
        }
        (Action::Release(all), Performed::Released(results)) => {
            for (release, result) in all.iter().zip(results) {
                released(memory, release, result, moment);
            }
            record_events::deletions_fail(memory);
        }
        (Action::WriteStatus(write), Performed::StatusWritten { version, stored }) => {
            status_written(memory, snapshot, write, version, stored);
        }
        (Action::Publish(publication), Performed::Published(result)) => {
            published(memory, snapshot, publication, result, moment);
        }
        (Action::DeleteSecret(_), Performed::SecretDeleted(result)) => {
            secret_deleted(memory, result, moment);
        }
        (Action::RemoveFinalizer, Performed::FinalizerRemoved(gone)) => {
            record_events::ended(memory, snapshot);
            return Follow::End(gone);
        }
        (Action::Run(_), Performed::RunBegan) => {}
        (action, performed) => panic!("{action} does not end with {performed:?}"),
    }
    Follow::Decide
}

fn status_written(
    memory: &mut CompositeMemory,
    snapshot: &Snapshot,
    write: &StatusWrite,
    version: String,
    stored: serde_json::Value,
) {
    if memory.verified.as_deref() == Some(snapshot.xr.resource_version()) {
        memory.verified = Some(version);
    }
    // What it may only say is that the other write is refused, which has its back-off.
    if memory.refused_write.is_none() {
        memory.failed_writes = 0;
    }
    memory.progress_since = None;
    memory.published_at = None;
    memory.refused_report.end();
    let differs = status::differs(&write.status, &stored);
    memory.status_echo = differs.then(|| Box::new((write.status.clone(), stored)));
    if let Some(types) = &write.function_conditions {
        memory.function_conditions.clone_from(types);
    }
    if write.desired.is_some() {
        memory.desired_status.clone_from(&write.desired);
        memory.rejected_status = None;
        record_events::write_succeeded(memory, true);
    }
    record_events::status_written(memory, &write.events);
}

/// One that is refused is tried again: no garbage collector is needed.
fn secret_deleted(memory: &mut CompositeMemory, result: Result<(), String>, moment: &Moment) {
    let Err(message) = result else {
        memory.secret_deleted = true;
        memory.failed_secret_deletion = None;
        record_events::secret_deletion(memory, None);
        return;
    };
    let former = memory.failed_secret_deletion.as_ref();
    let failures = former.map_or(0, |former| former.failures).saturating_add(1);
    record_events::secret_deletion(memory, Some(&message));
    memory.failed_secret_deletion = Some(FailedDeletion {
        message,
        is_conflict: false,
        failures,
        retry_at: moment.now + policies::API.wait(failures, moment.jitter),
    });
}

fn created(
    memory: &mut CompositeMemory,
    resource: &ComposedResource,
    result: Result<LiveObject, WriteFailure>,
    moment: &Moment,
) {
    match result {
        Ok(object) => {
            if !memory.added.remove(&resource.id) {
                memory.recreated.insert(resource.id.clone());
                recreated(memory, resource, moment);
            }
            memory.written(resource, &object);
        }
        Err(failure)
            if failure.kind == WriteFailureKind::AlreadyExists && !Rule::TakenNameIsObserved.is_off() =>
        {
            memory.name_taken.insert(resource.id.clone());
        }
        Err(failure) => {
            if failure.kind == WriteFailureKind::Unknown {
                // The end of the batch, which is not earlier than this write of it was sent.
                memory.lost_creates.insert(resource.id.clone(), moment.now);
            }
            memory.write_failed(resource, failure, moment);
        }
    }
}

/// Without a pause it would be created and deleted as fast as the API server answers.
fn recreated(memory: &mut CompositeMemory, resource: &ComposedResource, moment: &Moment) {
    let former = memory.recreations.get(&resource.id);
    let former = former.filter(|former| moment.now < former.retry_at + OUTLIVES);
    let times = former.map_or(0, |former| former.times).saturating_add(1);
    let retry_at = moment.now + policies::API.wait(times, moment.jitter);
    memory
        .recreations
        .insert(resource.id.clone(), Recreation { times, retry_at });
}

fn released(
    memory: &mut CompositeMemory,
    release: &Deletion,
    result: Result<(), WriteFailure>,
    moment: &Moment,
) {
    match result {
        Ok(()) => {
            memory.failed_deletions.remove(&release.uid);
            let message = format!(
                "Released {} with uid {}: it is left behind, and nothing of it is deleted or waited for any more",
                release.id, release.uid
            );
            let event = Event::warning(CompositeEvent::ReleasedComposed, &message);
            memory.events.push(event);
        }
        Err(failure) => memory.deletion_failed("release", release, &failure, moment),
    }
}

fn published(
    memory: &mut CompositeMemory,
    snapshot: &Snapshot,
    publication: &Publication,
    result: Result<PublishedSecret, WriteFailure>,
    moment: &Moment,
) {
    let digest = ContentDigest::of_secret(&publication.data);
    match result {
        Ok(secret) => {
            memory.failed_publication = None;
            let former = memory.published.take();
            let same = former.filter(|former| former.secret == publication.secret && former.digest == digest);
            memory.published = Some(Published {
                secret: publication.secret.clone(),
                digest,
                version: secret.version,
                at: moment.now,
                repeats: same.map_or(0, |same| same.repeats_at(moment.now)),
            });
            if secret.changed {
                memory.published_at = Some(moment.now);
                let message = "Successfully published connection details";
                memory
                    .events
                    .push(Event::normal(CompositeEvent::PublishConnectionSecret, message));
            }
        }
        Err(failure) => {
            let former = memory.failed_publication.as_ref();
            let failures = former.map_or(0, |former| former.failures).saturating_add(1);
            let (is_conflict, policy) = match failure.kind {
                WriteFailureKind::Conflict | WriteFailureKind::AlreadyExists => {
                    (true, policies::API_CONFLICT)
                }
                WriteFailureKind::Rejected => (false, policies::API_REJECTED),
                WriteFailureKind::NotDone | WriteFailureKind::Unknown => (false, policies::API),
            };
            memory.failed_publication = Some(FailedPublication {
                version: snapshot.secrets.get(&publication.secret).copied().flatten(),
                secret: publication.secret.clone(),
                digest,
                message: format!("cannot publish connection details: {}", failure.message),
                is_conflict,
                failures,
                retry_at: moment.now + policy.wait(failures, moment.jitter),
            });
        }
    }
}

/// References that this write adds, or an earlier one did and nothing was created of.
fn added(
    memory: &CompositeMemory,
    snapshot: &Snapshot,
    spec: &serde_json::Value,
) -> std::collections::BTreeSet<ObjectId> {
    let xr = &snapshot.xr;
    let mut object = xr.object.clone();
    object["spec"] = spec.clone();
    let new = super::Composite::parse(object, xr.scope);
    let former: BTreeSet<ObjectId> = xr.ids().collect();
    new.ids()
        .filter(|id| !former.contains(id) || memory.added.contains(id))
        .collect()
}
