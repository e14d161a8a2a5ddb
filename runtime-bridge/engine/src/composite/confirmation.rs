//! Composite resources wait for a pass of their definition, as the terms that a standby goes by may be older than what is stored.

use std::collections::BTreeMap;

use bridge_core::queue::Priority;
use parking_lot::Mutex;

use crate::object::Key;

/// Whether a pass of the definition has set the terms, and who waits for that.
#[derive(Default)]
pub(super) struct Confirmation(Mutex<State>);

#[derive(Default)]
struct State {
    /// The time of leading in which a pass did so last.
    confirmed: Option<u64>,
    /// The time of leading in which such a pass was asked for last.
    asked: Option<u64>,
    waiting: BTreeMap<Key, Priority>,
}

/// What an object finds at its turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It may be reconciled.
    Confirmed,
    /// It waits for a pass of the definition.
    Waits,
    /// It waits, and is the first to do so in this time of leading: that pass is to be asked for. Once: a pass that fails comes again after its back-off.
    WaitsFirst,
}

impl Confirmation {
    /// A pass of this time of leading has set the terms. Returns those that waited for it, to be enqueued at these priorities.
    pub fn confirm(&self, term: u64) -> BTreeMap<Key, Priority> {
        let mut state = self.0.lock();
        state.confirmed = Some(term);
        std::mem::take(&mut state.waiting)
    }

    /// The turn of an object in this time of leading.
    pub fn turn(&self, term: u64, key: &Key, priority: Priority) -> Turn {
        let mut state = self.0.lock();
        if state.confirmed == Some(term) {
            return Turn::Confirmed;
        }
        let waits = state.waiting.entry(key.clone()).or_insert(priority);
        *waits = priority.min(*waits);
        if state.asked.replace(term) == Some(term) {
            Turn::Waits
        } else {
            Turn::WaitsFirst
        }
    }

    /// The object is gone.
    pub fn forget(&self, key: &Key) {
        self.0.lock().waiting.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use bridge_core::watch_plan::GroupKind;

    use super::*;

    fn key(name: &str) -> Key {
        Key::new(GroupKind::new("shop.example.org", "Order"), Some("shop"), name)
    }

    #[test]
    fn who_came_before_the_pass_is_enqueued_by_it_once() {
        let confirmation = Confirmation::default();
        let turn = |name: &str, priority| confirmation.turn(0, &key(name), priority);
        assert_eq!(turn("a", Priority::InitialList), Turn::WaitsFirst);
        assert_eq!(turn("a", Priority::UserChange), Turn::Waits);
        assert_eq!(turn("a", Priority::DriftPoll), Turn::Waits);
        assert_eq!(turn("b", Priority::InitialList), Turn::Waits);
        assert_eq!(turn("gone", Priority::InitialList), Turn::Waits);
        confirmation.forget(&key("gone"));
        let waited = BTreeMap::from([
            (key("a"), Priority::UserChange),
            (key("b"), Priority::InitialList),
        ]);
        assert_eq!(confirmation.confirm(0), waited);
        assert_eq!(turn("a", Priority::UserChange), Turn::Confirmed);
        assert_eq!(confirmation.confirm(0), BTreeMap::new());
    }

    #[test]
    fn each_time_of_leading_asks_anew() {
        let confirmation = Confirmation::default();
        let turn = |term| confirmation.turn(term, &key("a"), Priority::UserChange);
        confirmation.confirm(3);
        assert_eq!(turn(3), Turn::Confirmed);
        assert_eq!((turn(4), turn(4)), (Turn::WaitsFirst, Turn::Waits));
        let waited = BTreeMap::from([(key("a"), Priority::UserChange)]);
        assert_eq!(confirmation.confirm(3), waited, "a pass that began before");
        assert_eq!(turn(4), Turn::Waits);
        confirmation.confirm(4);
        assert_eq!(turn(4), Turn::Confirmed);
    }
}
