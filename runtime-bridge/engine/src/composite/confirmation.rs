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
    term: Option<u64>,
    waiting: BTreeMap<Key, Priority>,
}

impl Confirmation {
    /// A pass of this time of leading has set the terms. Returns those that waited for it, to be enqueued at these priorities.
    pub fn confirm(&self, term: u64) -> BTreeMap<Key, Priority> {
        let mut state = self.0.lock();
        state.term = Some(term);
        std::mem::take(&mut state.waiting)
    }

    /// Whether a pass of this time of leading has set the terms. If not, this object waits for it.
    pub fn is_confirmed_or_awaited(&self, term: u64, key: &Key, priority: Priority) -> bool {
        let mut state = self.0.lock();
        if state.term == Some(term) {
            return true;
        }
        let waits = state.waiting.entry(key.clone()).or_insert(priority);
        *waits = priority.min(*waits);
        false
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

    #[test]
    fn who_came_before_the_pass_is_enqueued_by_it_once() {
        let key = |name: &str| Key::new(GroupKind::new("shop.example.org", "Order"), Some("shop"), name);
        let confirmation = Confirmation::default();
        assert!(!confirmation.is_confirmed_or_awaited(0, &key("a"), Priority::InitialList));
        assert!(!confirmation.is_confirmed_or_awaited(0, &key("a"), Priority::UserChange));
        assert!(!confirmation.is_confirmed_or_awaited(0, &key("a"), Priority::DriftPoll));
        assert!(!confirmation.is_confirmed_or_awaited(0, &key("b"), Priority::InitialList));
        assert!(!confirmation.is_confirmed_or_awaited(0, &key("gone"), Priority::InitialList));
        confirmation.forget(&key("gone"));
        let waited = BTreeMap::from([
            (key("a"), Priority::UserChange),
            (key("b"), Priority::InitialList),
        ]);
        assert_eq!(confirmation.confirm(0), waited);
        assert!(confirmation.is_confirmed_or_awaited(0, &key("a"), Priority::UserChange));
        assert_eq!(confirmation.confirm(0), BTreeMap::new());
    }

    #[test]
    fn what_a_former_time_of_leading_confirmed_is_not() {
        let key = Key::new(GroupKind::new("shop.example.org", "Order"), Some("shop"), "a");
        let confirmation = Confirmation::default();
        confirmation.confirm(3);
        assert!(!confirmation.is_confirmed_or_awaited(4, &key, Priority::UserChange));
        assert_eq!(
            confirmation.confirm(4),
            BTreeMap::from([(key, Priority::UserChange)])
        );
    }
}
