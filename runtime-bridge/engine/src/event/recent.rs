use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use jiff::{SignedDuration, Timestamp};

/// Within this time after the last, the same is counted by the same event.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// So many repeats are written at once; then no more than one in [`COUNTED_EVERY`], with all that came in between.
const COUNTED_AT_ONCE: i32 = 10;
const COUNTED_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// So many are remembered; then those that are no longer needed are let go, and if that does not help, all.
const REMEMBERED: usize = 20_000;

/// Different events of one object that may come at once.
const AT_ONCE: u32 = 25;

/// Then one more in this time.
const ONE_MORE: SignedDuration = SignedDuration::from_mins(1);

/// What was recorded lately.
#[derive(Debug, Default)]
pub(super) struct Recent {
    recorded: HashMap<EventDigest, Series>,
    /// By the object's uid.
    rooms: HashMap<u64, Room>,
}

/// How many events more an object may have.
#[derive(Debug)]
struct Room {
    left: u32,
    since: Timestamp,
}

/// One event, and how often it has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Series {
    /// What makes the name of the event object unique.
    pub(super) unique: u64,
    pub(super) first: Timestamp,
    pub(super) count: i32,
    pub(super) last: Timestamp,
    written: Timestamp,
}

impl Series {
    /// An event that happens for the first time.
    pub(super) fn new(unique: u64, now: Timestamp) -> Self {
        Self {
            unique,
            first: now,
            count: 1,
            last: now,
            written: now,
        }
    }

    /// Whether this count is to be written now, and not with a later one.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.count <= COUNTED_AT_ONCE || now.duration_since(self.written) >= COUNTED_EVERY
    }
}

/// What is said of an object, as a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EventDigest(u64);

impl EventDigest {
    pub(super) fn of(uid: &str, reason: &str, message: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (uid, reason, message).hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl Recent {
    /// The event once more, if it happened within the window; else `None`: it is a new one.
    pub(super) fn again(&self, what: EventDigest, now: Timestamp) -> Option<Series> {
        let former = self.recorded.get(&what)?;
        (now.duration_since(former.last) < WINDOW).then(|| Series {
            count: former.count.saturating_add(1),
            last: now,
            ..*former
        })
    }

    /// Whether the object may have one event more now, which it then has.
    pub(super) fn has_room(&mut self, uid: &str, now: Timestamp) -> bool {
        if self.rooms.len() >= REMEMBERED {
            self.rooms.retain(|_, room| room.after(now).left < AT_ONCE);
            if self.rooms.len() >= REMEMBERED {
                self.rooms.clear();
            }
        }
        let mut hasher = DefaultHasher::new();
        uid.hash(&mut hasher);
        let room = self.rooms.entry(hasher.finish()).or_insert(Room {
            left: AT_ONCE,
            since: now,
        });
        *room = room.after(now);
        let has_room = room.left > 0;
        room.left = room.left.saturating_sub(1);
        has_room
    }

    /// It has happened; `written`: the cluster is told so.
    pub(super) fn remember(&mut self, what: EventDigest, series: Series, written: bool) {
        let now = series.last;
        if self.recorded.len() >= REMEMBERED && !self.recorded.contains_key(&what) {
            self.recorded
                .retain(|_, one| now.duration_since(one.last) < WINDOW);
            if self.recorded.len() >= REMEMBERED {
                self.recorded.clear();
            }
        }
        let written = if written { now } else { series.written };
        self.recorded.insert(what, Series { written, ..series });
    }
}

impl Room {
    fn after(&self, now: Timestamp) -> Self {
        let gained = now.duration_since(self.since).as_secs() / ONE_MORE.as_secs();
        let gained = u32::try_from(gained.max(0)).unwrap_or(u32::MAX);
        let left = self.left.saturating_add(gained).min(AT_ONCE);
        let since = if gained == 0 { self.since } else { now };
        Self { left, since }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_has_no_more_than_its_share() {
        let mut recent = Recent::default();
        let count =
            |recent: &mut Recent, uid: &str, now| (0..100).filter(|_| recent.has_room(uid, now)).count();
        assert_eq!(count(&mut recent, "u", START), 25);
        assert_eq!(count(&mut recent, "v", START), 25, "another has its own");
        let later = |minutes| START + SignedDuration::from_mins(minutes);
        assert_eq!(count(&mut recent, "u", later(3)), 3);
        assert_eq!(count(&mut recent, "u", later(300)), 25);
    }

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    /// Records it; its count, and whether that is written.
    fn record(recent: &mut Recent, uid: &str, reason: &str, message: &str, now: Timestamp) -> (i32, bool) {
        let what = EventDigest::of(uid, reason, message);
        let series = recent.again(what, now).unwrap_or_else(|| Series::new(1, now));
        let written = series.is_due(now);
        recent.remember(what, series, written);
        (series.count, written)
    }

    #[test]
    fn the_same_is_counted_until_it_stays_away_for_the_window() {
        let mut recent = Recent::default();
        let mut at = |minutes| {
            let now = START + SignedDuration::from_mins(minutes);
            record(&mut recent, "u", "Created", "done", now)
        };
        assert_eq!(
            [at(0), at(9), at(18), at(28)],
            [(1, true), (2, true), (3, true), (1, true)]
        );
    }

    #[test]
    fn many_repeats_are_written_once_a_minute_and_none_is_lost() {
        let mut recent = Recent::default();
        let written: Vec<i32> = (0..180)
            .map(|second| {
                record(
                    &mut recent,
                    "u",
                    "Failed",
                    "no",
                    START + SignedDuration::from_secs(second),
                )
            })
            .filter_map(|(count, written)| written.then_some(count))
            .collect();
        assert_eq!(written, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 70, 130]);
    }

    #[test]
    fn another_object_reason_or_message_is_another_event() {
        let mut recent = Recent::default();
        for (uid, reason, message) in [("u", "R", "m"), ("v", "R", "m"), ("u", "S", "m"), ("u", "R", "n")] {
            assert_eq!(
                record(&mut recent, uid, reason, message, START),
                (1, true),
                "{uid} {reason} {message}"
            );
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut recent = Recent::default();
        for n in 0..=REMEMBERED {
            assert_eq!(record(&mut recent, &n.to_string(), "R", "m", START).0, 1);
        }
        assert!(recent.recorded.len() <= REMEMBERED);
    }
}
