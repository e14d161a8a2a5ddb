//! Who waits for which function: that it answers again, or listens elsewhere, is their turn.

use std::collections::{BTreeMap, BTreeSet};

use bridge_core::watch_plan::GroupKind;
use parking_lot::Mutex;

use crate::object::Key;

/// The news of functions, in its order, and for which function the last run of each composite resource failed. No clock: that may be set back.
#[derive(Default)]
pub(crate) struct FunctionNews(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// How much there was.
    count: u64,
    /// Function -> the number of its last.
    last: BTreeMap<String, u64>,
    /// In order, so that a simulation repeats itself.
    waiting: BTreeMap<Key, String>,
}

impl FunctionNews {
    /// How much there was so far: a run that begins now meets all of it.
    pub(super) fn count(&self) -> u64 {
        self.0.lock().count
    }

    /// Whether there was any of a function beyond what a run has met.
    pub(super) fn is_beyond(&self, function: &str, met: u64) -> bool {
        self.0.lock().last.get(function).is_some_and(|last| *last > met)
    }

    /// Its last run waits for this function, or for none.
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

    /// These may be called again. Answers who waits for one of them; who fails for it from now on finds the news by itself.
    pub(super) fn publish(&self, functions: &BTreeSet<String>) -> Vec<Key> {
        let mut known = self.0.lock();
        known.count += 1;
        let number = known.count;
        known
            .last
            .extend(functions.iter().map(|function| (function.clone(), number)));
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

    fn user(name: &str) -> Key {
        Key::new(GroupKind::new("example.org", "App"), None, name)
    }

    #[test]
    fn news_is_for_those_whose_last_run_waits_for_the_function() {
        let news = FunctionNews::default();
        let all = ["a", "b"].map(ToOwned::to_owned);
        for (name, function) in [("one", "a"), ("two", "b"), ("three", "a"), ("four", "a")] {
            news.set(&user(name), Some(function));
        }
        news.set(&user("three"), None);
        news.set(&user("four"), Some("b"));
        assert_eq!(news.publish(&[all[0].clone()].into()), [user("one")]);
        // In the order of their keys.
        let waiting = [user("four"), user("one"), user("two")];
        assert_eq!(news.publish(&all.into()), waiting);
        news.forget_kind(user("one").kind());
        assert_eq!(news.publish(&["a".to_owned()].into()), []);
    }

    #[test]
    fn a_run_has_met_what_came_before_it_began() {
        let news = FunctionNews::default();
        news.publish(&["a".to_owned()].into());
        let met = news.count();
        assert!(!news.is_beyond("a", met));
        news.publish(&["b".to_owned()].into());
        assert!(!news.is_beyond("a", met));
        news.publish(&["a".to_owned()].into());
        assert!(news.is_beyond("a", met) && !news.is_beyond("a", news.count()));
    }
}
