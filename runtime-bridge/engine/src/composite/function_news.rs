//! Who waits for which function: that it answers again, or listens elsewhere, is their turn.

use std::collections::{BTreeMap, BTreeSet};

use bridge_core::watch_plan::GroupKind;
use jiff::Timestamp;
use parking_lot::Mutex;

use crate::object::Key;

/// When there was news of each function last, and for which one the last run of each composite resource failed.
#[derive(Default)]
pub(crate) struct FunctionNews(Mutex<Known>);

#[derive(Default)]
struct Known {
    news: BTreeMap<String, Timestamp>,
    /// In order, so that a simulation repeats itself.
    waiting: BTreeMap<Key, String>,
}

impl FunctionNews {
    /// Its last run failed for this function, or for none.
    pub(super) fn set(&self, user: &Key, function: Option<&str>) {
        let mut known = self.0.lock();
        match function {
            Some(function) => drop(known.waiting.insert(user.clone(), function.to_owned())),
            None => drop(known.waiting.remove(user)),
        }
    }

    /// None of this kind waits.
    pub(super) fn forget_kind(&self, kind: &GroupKind) {
        self.0.lock().waiting.retain(|user, _| user.kind() != kind);
    }

    /// When there was news of a function last.
    pub(super) fn last(&self, function: &str) -> Option<Timestamp> {
        self.0.lock().news.get(function).copied()
    }

    /// These may be called again. Answers who waits for one of them; who fails for it from now on finds the news by itself.
    pub(super) fn publish(&self, functions: &BTreeSet<String>, now: Timestamp) -> Vec<Key> {
        let mut known = self.0.lock();
        known
            .news
            .extend(functions.iter().map(|function| (function.clone(), now)));
        let waiting = known.waiting.iter();
        waiting
            .filter(|(_, function)| functions.contains(*function))
            .map(|(user, _)| user.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_for_those_whose_last_run_failed_for_the_function() {
        let news = FunctionNews::default();
        let user = |name: &str| Key::new(GroupKind::new("example.org", "App"), None, name);
        let all = ["a", "b"].map(ToOwned::to_owned);
        for (name, function) in [("one", "a"), ("two", "b"), ("three", "a"), ("four", "a")] {
            news.set(&user(name), Some(function));
        }
        news.set(&user("three"), None);
        news.set(&user("four"), Some("b"));
        let at = Timestamp::UNIX_EPOCH;
        assert_eq!(news.last("a"), None);
        assert_eq!(news.publish(&[all[0].clone()].into(), at), [user("one")]);
        assert_eq!((news.last("a"), news.last("b")), (Some(at), None));
        // In the order of their keys.
        let waiting = [user("four"), user("one"), user("two")];
        assert_eq!(news.publish(&all.into(), at), waiting);
        news.forget_kind(user("one").kind());
        assert_eq!(news.publish(&["a".to_owned()].into(), at), []);
    }
}
