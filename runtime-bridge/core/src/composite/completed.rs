//! Takes in what a complete snapshot shows.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;

use super::{
    ObjectId,
    facts::Facts,
    in_use,
    live::{ObjectState, Ownership},
    memory::CompositeMemory,
    movement::Movement,
    record_events,
    results::OUTLIVES,
    rules::is_released,
    snapshot::Snapshot,
};

/// A status that is refused is tried again after this.
const TRY_AGAIN: Duration = Duration::from_mins(1);

/// What was not known then may have been known since. While anything waits for it, it is looked at more often.
const ANOTHER_TIME: Duration = Duration::from_secs(30);

/// Since when it is not known, which it is not now, and when that was seen last: now.
fn since(former: Option<(Timestamp, Timestamp)>, now: Timestamp) -> (Timestamp, Timestamp) {
    let former = former.filter(|(_, last)| now < *last + ANOTHER_TIME);
    (former.map_or(now, |(since, _)| since), now)
}

impl CompositeMemory {
    /// Takes in what a complete snapshot shows.
    pub(super) fn completed(&mut self, snapshot: &Snapshot) {
        for (id, seen) in &snapshot.seen {
            if let ObjectState::Exists(object) = seen {
                if object.ownership(snapshot.xr.uid()) == Ownership::Ours {
                    self.seen.insert(id.clone());
                }
                self.absences.remove(id);
                self.name_taken.remove(id);
                self.added.remove(id);
            }
        }
        self.learn_status(snapshot);
        self.circuit.close(snapshot.now);
        if let Some(rejected) = &mut self.rejected_status {
            rejected.retry_at.get_or_insert(snapshot.now + TRY_AGAIN);
        }
        let reports = snapshot.xr.is_deleting() && !snapshot.xr.is_paused();
        self.refused_report.begin_pass(reports, snapshot.now);
        let may_pass = matches!(&snapshot.choice, Err(problem) if problem.may_pass);
        let facts = Facts::new(snapshot, self);
        let is_unknown = may_pass || facts.unknown().is_some();
        let is_unlisted = in_use::unlisted(&facts).is_some();
        self.unknown_since = is_unknown.then(|| self.unknown_since.unwrap_or(snapshot.now));
        self.unlisted = is_unlisted.then(|| since(self.unlisted, snapshot.now));
        let mut uids: BTreeSet<&str> = BTreeSet::new();
        uids.extend(snapshot.seen.values().filter_map(|seen| match seen {
            ObjectState::Exists(object) => Some(object.uid()),
            _ => None,
        }));
        self.altered.retain(|uid, _| uids.contains(uid.as_str()));
        self.reapplications
            .retain(|uid, one| uids.contains(uid.as_str()) && !one.is_over(snapshot.now));
        let is_there = |uid: &str| {
            let is_released = is_released(&snapshot.xr, uid);
            snapshot.seen.values().any(|seen| {
                matches!(seen, ObjectState::Exists(object) if object.uid() == uid && (is_released || !object.is_deleting()))
            })
        };
        self.failed_deletions.retain(|uid, _| is_there(uid));
        record_events::deletions_fail(self);
        self.movement = Movement::next(self.movement.take(), snapshot);
        let is_unknown = |seen: &ObjectState| matches!(seen, ObjectState::Unknown(_));
        let unread = snapshot.seen.iter().filter(|(_, seen)| is_unknown(seen));
        let former = std::mem::take(&mut self.unread);
        self.unread = unread
            .map(|(id, _)| (id.clone(), since(former.get(id).copied(), snapshot.now)))
            .collect();
        let are_unlisted = snapshot.unlisted_secrets.is_some();
        self.secrets_unlisted = are_unlisted.then(|| since(self.secrets_unlisted, snapshot.now));
        // What is neither referred to nor seen is of no use any more.
        let ids: BTreeSet<&ObjectId> = snapshot.seen.keys().collect();
        self.lost_creates
            .retain(|id, at| ids.contains(id) || *at + snapshot.settings.late_create > snapshot.now);
        self.seen.retain(|id| ids.contains(id));
        self.recreated.retain(|id| ids.contains(id));
        self.recreations
            .retain(|id, one| ids.contains(id) && snapshot.now < one.retry_at + OUTLIVES);
        self.absences.retain(|id, _| ids.contains(id));
        self.failed_reads
            .retain(|id, until| ids.contains(id) && *until > snapshot.now);
    }
}
