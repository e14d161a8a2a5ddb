//! What the shell writes to the API server, and what becomes of an answer that is not written yet.

use super::*;

impl Model {
    /// Retried until it lands, or the object or its record is another's.
    pub(super) fn persist(&mut self, b: usize, mut driver: Box<Driver>, fates: &mut dyn Outcomes) {
        if matches!(driver.effect(), Effect::Newest) {
            let newest = self.newest(b, &driver);
            self.resume(b, &mut driver, Input::Newest(newest));
        }
        self.read_for_the_answer(b, &mut driver);
        if let Effect::Persist { object, change, .. } = driver.effect() {
            let (base, change) = (object.clone(), change.clone());
            let Some(written) = self.write_answer(b, base, change, fates) else {
                return; // The process died.
            };
            if written.is_err() {
                self.now += self.tempo.persist_again;
            }
            self.resume(b, &mut driver, Input::Persisted(written));
            self.read_for_the_answer(b, &mut driver);
        }
        if matches!(driver.effect(), Effect::Stored) {
            if self.bridges[b].dies == Some(Dies::AfterPersist) {
                return self.crash(b);
            }
            let newest = self.newest(b, &driver);
            self.resume(b, &mut driver, Input::Newest(newest));
        }
        self.keep(b, driver);
    }

    pub(super) fn read_for_the_answer(&mut self, b: usize, driver: &mut Driver) {
        if matches!(driver.effect(), Effect::Wait(_)) {
            self.resume(b, driver, Input::Waited);
        }
        if matches!(driver.effect(), Effect::ReadLive) {
            let live = self.live(b);
            self.resume(b, driver, Input::Live(live));
        }
    }

    /// `None`: the process died over it.
    pub(super) fn write_answer(
        &mut self,
        b: usize,
        base: Object,
        change: MetadataChange,
        fates: &mut dyn Outcomes,
    ) -> Option<Result<(), ApiFailure>> {
        self.writes.metadata += 1;
        let fate = fates.write(change.why, true);
        self.note(|| format!("{} persists ({fate:?})", ["A", "B"][b]));
        match fate {
            WriteOutcome::CrashBefore => {
                self.crash(b);
                return None;
            }
            WriteOutcome::LostBefore => {}
            WriteOutcome::Late(after) => {
                let late = LateWrite::Metadata(base, change);
                self.late_writes.push((self.now + after, late));
            }
            WriteOutcome::Lands | WriteOutcome::LostAfter | WriteOutcome::CrashAfter => {
                let result = self.etcd.put_metadata(&base, &change);
                self.wake_other(b);
                if fate == WriteOutcome::CrashAfter {
                    self.crash(b);
                    return None;
                }
                match (fate, result) {
                    (WriteOutcome::Lands, Ok(new)) => {
                        self.bridges[b].record_resource_version(Some(new));
                        return Some(Ok(()));
                    }
                    (WriteOutcome::Lands, Err(refused)) => return Some(Err(api_failure(Some(refused)))),
                    _ => {}
                }
            }
        }
        Some(Err(api_failure(None)))
    }

    /// The newest version of the object that the process knows.
    pub(super) fn newest(
        &self,
        b: usize,
        driver: &Driver,
    ) -> Option<(Object, bridge_core::managed::Managed)> {
        let uid = driver.snapshot().map(|snapshot| &snapshot.managed.uid);
        let newest = self.bridges[b].store.clone()?;
        let view = newest.managed.clone();
        uid.is_some_and(|uid| *uid == view.uid).then_some((newest, view))
    }

    pub(super) fn write_metadata(
        &mut self,
        b: usize,
        driver: Box<Driver>,
        base: &Object,
        change: &MetadataChange,
        fates: &mut dyn Outcomes,
    ) {
        self.writes.metadata += 1;
        let late = LateWrite::Metadata(base.clone(), change.clone());
        self.write(b, driver, change.why, fates, late, |model| {
            model.watch_write(base, change);
            let new = model.etcd.put_metadata(base, change)?;
            let version = new.managed.resource_version.clone();
            Ok((Performed::Version(version), Some(new)))
        });
    }

    pub(super) fn write_status(
        &mut self,
        b: usize,
        driver: Box<Driver>,
        base: &Object,
        write: &StatusWrite,
        fates: &mut dyn Outcomes,
    ) {
        self.writes.status += 1;
        let late = LateWrite::Status(base.clone(), write.status.clone());
        self.write(b, driver, "status", fates, late, |model| {
            model.watch_status(base, &write.status);
            let new = model.etcd.put_status(base, &write.status)?;
            let performed = Performed::StatusWritten {
                version: new.managed.resource_version.clone(),
                stored: Box::new(new.managed.status.clone()),
            };
            Ok((performed, Some(new)))
        });
    }

    pub(super) fn remove_finalizer(
        &mut self,
        b: usize,
        driver: Box<Driver>,
        base: Object,
        fates: &mut dyn Outcomes,
    ) {
        self.writes.release += 1;
        let now = self.now;
        let base = Box::new(base.managed);
        self.write(
            b,
            driver,
            "release",
            fates,
            LateWrite::Release(base.clone()),
            |model| {
                model.etcd.release(&base, now)?;
                let gone = !model.etcd.holds(&base.uid);
                Ok((Performed::FinalizerRemoved(gone), None))
            },
        );
    }

    /// One request to the API server.
    pub(super) fn write(
        &mut self,
        b: usize,
        driver: Box<Driver>,
        what: &str,
        fates: &mut dyn Outcomes,
        late: LateWrite,
        write: impl FnOnce(&mut Self) -> Result<(Performed, Option<Object>), Refused>,
    ) {
        let fate = fates.write(what, false);
        if fate != WriteOutcome::Lands {
            self.note(|| format!("  write fares {fate:?}"));
        }
        let mut refused = None;
        match fate {
            WriteOutcome::CrashBefore => return self.crash(b),
            WriteOutcome::Late(after) => self.late_writes.push((self.now + after, late)),
            WriteOutcome::LostBefore => {}
            WriteOutcome::Lands | WriteOutcome::LostAfter | WriteOutcome::CrashAfter => {
                let result = write(self);
                self.wake_other(b);
                match (fate, result) {
                    (WriteOutcome::CrashAfter, _) => return self.crash(b),
                    (WriteOutcome::Lands, Ok((performed, new))) => {
                        if new.is_some() {
                            self.bridges[b].record_resource_version(new);
                        }
                        return self.finish(b, driver, Input::Performed(performed));
                    }
                    (_, result) => {
                        let failed = result.err();
                        self.note(|| format!("  write failed: {failed:?}"));
                        refused = failed.filter(|_| fate == WriteOutcome::Lands);
                    }
                }
            }
        }
        self.finish(b, driver, Input::Failed(api_failure(refused)));
    }

    pub(super) fn live(&mut self, b: usize) -> Result<(Object, bridge_core::managed::Managed), ApiFailure> {
        self.read_live(b);
        let live = self
            .etcd
            .object
            .clone()
            .ok_or(api_failure(Some(Refused::NotFound)))?;
        let view = live.managed.clone();
        Ok((live, view))
    }

    pub(super) fn read_live(&mut self, b: usize) {
        let live = self.etcd.object.clone();
        self.bridges[b].record_resource_version(live);
    }
}
