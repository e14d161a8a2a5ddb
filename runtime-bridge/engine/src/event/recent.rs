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
    said: HashMap<u64, Timestamp>,
}

impl Recent {
    /// Not said of this object within the window. Remembers it as said now.
    pub(super) fn is_news(&mut self, uid: &str, reason: &str, message: &str, now: Timestamp) -> bool {
        let mut hasher = DefaultHasher::new();
        (uid, reason, message).hash(&mut hasher);
        let what = hasher.finish();
        if self
            .said
            .get(&what)
            .is_some_and(|then| now.duration_since(*then) < WINDOW)
        {
            return false;
        }
        if self.said.len() >= REMEMBERED {
            self.said.retain(|_, then| now.duration_since(*then) < WINDOW);
            if self.said.len() >= REMEMBERED {
                self.said.clear();
            }
        }
        self.said.insert(what, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn the_same_is_news_again_after_the_window() {
        let mut recent = Recent::default();
        assert!(recent.is_news("u", "Created", "done", START));
        assert!(!recent.is_news("u", "Created", "done", START + SignedDuration::from_mins(9)));
        assert!(recent.is_news("u", "Created", "done", START + SignedDuration::from_mins(10)));
    }

    #[test]
    fn another_object_reason_or_message_is_news() {
        let mut recent = Recent::default();
        for (uid, reason, message) in [("u", "R", "m"), ("v", "R", "m"), ("u", "S", "m"), ("u", "R", "n")] {
            assert!(
                recent.is_news(uid, reason, message, START),
                "{uid} {reason} {message}"
            );
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut recent = Recent::default();
        for n in 0..=REMEMBERED {
            assert!(recent.is_news(&n.to_string(), "R", "m", START));
        }
        assert!(recent.said.len() <= REMEMBERED);
    }
}
