use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use jiff::{SignedDuration, Timestamp};

/// Within this time, the same is no news.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// So many are remembered; then those that are no longer needed are let go, and if that does not help, all.
const REMEMBERED: usize = 20_000;

/// What was said lately.
#[derive(Debug, Default)]
pub(super) struct Recent {
    recorded: HashMap<EventDigest, Timestamp>,
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

#[cfg(test)]
mod tests {
    use super::*;

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
