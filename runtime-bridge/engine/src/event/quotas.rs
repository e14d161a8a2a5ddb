//! Which events may be sent: of the places of those that wait each owner keeps a part, and each has so many at once, and then so many in a second.

use std::{collections::HashMap, sync::Arc};

use bridge_core::{
    queue::{Owners, Running, Shares},
    watch_plan::GroupKind,
};
use jiff::{SignedDuration, Timestamp};

/// Events that wait to be sent; more are dropped and counted.
const WAITING: usize = 1_000;

/// Of those, so many may be of one plugin: a flood of it leaves room for others, however many groups it has.
const WAITING_OF_OWNER: usize = 500;

/// Events of one owner that may come at once: each of thousands of objects that are created together has one.
const AT_ONCE: u32 = 5_000;

/// Then one more in this time.
const ONE_MORE: SignedDuration = SignedDuration::from_millis(100);

/// A plugin; `None`: no plugin's.
pub(super) type Owner = Option<Arc<str>>;

/// What owners have of the events.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    owners: Owners<GroupKind>,
    waiting: Running,
    buckets: HashMap<Owner, Bucket>,
}

/// How many events more an owner may have.
#[derive(Debug)]
struct Bucket {
    left: u32,
    since: Timestamp,
}

impl Quotas {
    /// Whose a kind is from now on.
    pub fn set_owner(&mut self, kind: &GroupKind, owner: Owner) {
        self.owners.set(kind, owner);
    }

    /// Gives an event about an object of this kind a place among those that wait; `Err`: it is dropped, and how that is counted.
    pub fn admit(&mut self, kind: &GroupKind, now: Timestamp) -> Result<Owner, &'static str> {
        let owner = self.owners.of(kind).cloned();
        let shares = Shares::of(WAITING, WAITING_OF_OWNER, self.owners.count(), &self.waiting);
        if !shares.may_begin(owner.as_ref(), &self.waiting) {
            return Err("overflowed");
        }
        let full = Bucket {
            left: AT_ONCE,
            since: now,
        };
        // What is no plugin's has many authors: each of its objects has its own quota.
        if owner.is_some() && !self.buckets.entry(owner.clone()).or_insert(full).takes_one(now) {
            return Err("too_many_of_owner");
        }
        *self.waiting.entry(owner.clone()).or_default() += 1;
        Ok(owner)
    }

    /// One of its events waits no longer.
    pub fn leave(&mut self, owner: Option<&Arc<str>>) {
        let owner = owner.cloned();
        if let Some(count) = self.waiting.get_mut(&owner) {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&owner);
            }
        }
    }
}

impl Bucket {
    fn takes_one(&mut self, now: Timestamp) -> bool {
        let gained = now.duration_since(self.since).as_millis() / ONE_MORE.as_millis();
        if gained >= i128::from(AT_ONCE) {
            self.left = AT_ONCE;
            self.since = now;
        } else if let Ok(gained @ 1..) = u32::try_from(gained) {
            self.left = self.left.saturating_add(gained).min(AT_ONCE);
            // What is left of the time counts for the next one.
            self.since += ONE_MORE * i32::try_from(gained).unwrap_or(i32::MAX);
        }
        let has_one = self.left > 0;
        self.left = self.left.saturating_sub(1);
        has_one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn kind(group: &str) -> GroupKind {
        GroupKind::new(group, "Thing")
    }

    fn quotas(owners: &[(&str, &str)]) -> Quotas {
        let mut quotas = Quotas::default();
        for (group, owner) in owners {
            quotas.set_owner(&kind(group), Some((*owner).into()));
        }
        quotas
    }

    /// How many of so many are admitted.
    fn admitted(quotas: &mut Quotas, group: &str, count: usize) -> usize {
        let all = (0..count).map(|_| quotas.admit(&kind(group), START));
        all.flatten().count()
    }

    #[test]
    fn a_plugin_with_two_groups_leaves_half_of_the_places() {
        let mut quotas = quotas(&[("a", "evil"), ("b", "evil"), ("c", "good")]);
        let evil = admitted(&mut quotas, "a", 1000) + admitted(&mut quotas, "b", 1000);
        assert_eq!(evil, WAITING_OF_OWNER);
        assert!(admitted(&mut quotas, "c", 1000) > 300);
    }

    #[test]
    fn two_plugins_that_flood_leave_the_others_their_parts() {
        let mut quotas = quotas(&[("a", "evil"), ("b", "worse"), ("c", "good")]);
        for flood in ["a", "b"] {
            admitted(&mut quotas, flood, 1000);
        }
        // An eighth for each of three plugins and for what is no plugin's.
        assert_eq!(admitted(&mut quotas, "c", 1000), WAITING / 8);
        assert_eq!(admitted(&mut quotas, "none", 1000), WAITING / 8);
    }

    #[test]
    fn an_owner_has_so_many_events_in_time() {
        let mut quotas = quotas(&[("a", "evil")]);
        let mut sent = |now, count| {
            let all = (0..count).filter(|_| {
                let owner = quotas.admit(&kind("a"), now);
                owner.is_ok_and(|owner| {
                    quotas.leave(owner.as_ref());
                    true
                })
            });
            all.count()
        };
        assert_eq!(sent(START, 10_000), 5_000);
        assert_eq!(sent(START + SignedDuration::from_secs(3), 10_000), 30);
        assert_eq!(sent(START + SignedDuration::from_hours(3), 10_000), 5_000);
    }
}
