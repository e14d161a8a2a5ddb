use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use jiff::{SignedDuration, Timestamp};

/// Within this time, the same is no news.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// So many are remembered; then those that are no longer needed are let go, and if that does not help, all.
const REMEMBERED: usize = 20_000;

/// Different events of one object that may come at once.
const AT_ONCE: u32 = 25;

/// Then one more in this time.
const ONE_MORE: SignedDuration = SignedDuration::from_mins(1);

/// What was said lately.
#[derive(Debug, Default)]
pub(super) struct Recent {
    recorded: HashMap<EventDigest, Timestamp>,
    /// By the object's uid.
    rooms: HashMap<u64, Room>,
}

/// How many events more an object may have.
#[derive(Debug)]
struct Room {
    left: u32,
    since: Timestamp,
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
    /// Whether it was not said within the window.
    pub(super) fn is_new(&self, what: EventDigest, now: Timestamp) -> bool {
        self.recorded
            .get(&what)
            .is_none_or(|then| now.duration_since(*then) >= WINDOW)
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

    /// It is said now.
    pub(super) fn remember(&mut self, what: EventDigest, now: Timestamp) {
        if self.recorded.len() >= REMEMBERED {
            self.recorded.retain(|_, then| now.duration_since(*then) < WINDOW);
            if self.recorded.len() >= REMEMBERED {
                self.recorded.clear();
            }
        }
        self.recorded.insert(what, now);
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

    /// Says it, if it is news.
    fn say(recent: &mut Recent, uid: &str, reason: &str, message: &str, now: Timestamp) -> bool {
        let what = EventDigest::of(uid, reason, message);
        let news = recent.is_new(what, now);
        if news {
            recent.remember(what, now);
        }
        news
    }

    #[test]
    fn the_same_is_news_again_after_the_window() {
        let mut recent = Recent::default();
        assert!(say(&mut recent, "u", "Created", "done", START));
        assert!(!say(
            &mut recent,
            "u",
            "Created",
            "done",
            START + SignedDuration::from_mins(9)
        ));
        assert!(say(
            &mut recent,
            "u",
            "Created",
            "done",
            START + SignedDuration::from_mins(10)
        ));
    }

    #[test]
    fn another_object_reason_or_message_is_news() {
        let mut recent = Recent::default();
        for (uid, reason, message) in [("u", "R", "m"), ("v", "R", "m"), ("u", "S", "m"), ("u", "R", "n")] {
            assert!(
                say(&mut recent, uid, reason, message, START),
                "{uid} {reason} {message}"
            );
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut recent = Recent::default();
        for n in 0..=REMEMBERED {
            assert!(say(&mut recent, &n.to_string(), "R", "m", START));
        }
        assert!(recent.recorded.len() <= REMEMBERED);
    }
}
