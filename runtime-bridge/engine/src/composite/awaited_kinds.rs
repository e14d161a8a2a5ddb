//! Kinds that the cluster does not serve, and who composes objects of them: that one is served is their turn.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bridge_core::watch_plan::GroupKind;
use parking_lot::Mutex;

use crate::{
    dispatch::Dispatcher,
    object::Key,
    watch::{ServedChange, Watches},
};

/// `apiVersion` and kind.
type KindName = (String, String);

/// Who waits for which kinds; in order, so that a simulation repeats itself.
#[derive(Default)]
pub(super) struct AwaitedKinds(Mutex<BTreeMap<Key, BTreeSet<KindName>>>);

impl AwaitedKinds {
    /// A composite resource waits for these, and no others.
    pub(super) fn set(&self, user: &Key, kinds: BTreeSet<KindName>) {
        let mut users = self.0.lock();
        if kinds.is_empty() {
            users.remove(user);
        } else {
            users.insert(user.clone(), kinds);
        }
    }

    /// No composite resource of this kind waits for any.
    pub(super) fn forget_kind(&self, kind: &GroupKind) {
        self.0.lock().retain(|user, _| user.kind() != kind);
    }

    /// Who waits for a kind that is served now. They wait no more: their next turn looks again.
    fn take(&self, is_served: impl Fn(&KindName) -> bool) -> Vec<Key> {
        let mut users = self.0.lock();
        let all: BTreeSet<&KindName> = users.values().flatten().collect();
        let served: BTreeSet<KindName> = all.into_iter().filter(|kind| is_served(kind)).cloned().collect();
        let taken = users.extract_if(.., |_, kinds| !kinds.is_disjoint(&served));
        taken.map(|(user, _)| user).collect()
    }

    /// Wakes who waits for it after each change of what is served.
    pub(super) async fn follow(
        self: Arc<Self>,
        mut served: ServedChange,
        watches: Arc<Watches>,
        dispatcher: Arc<Dispatcher>,
    ) {
        while served.changed().await.is_ok() {
            let users = self.take(|(api_version, kind)| watches.resolve_any(api_version, kind).is_ok());
            dispatcher.wake_dependants(users);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> Key {
        Key::new(GroupKind::new("example.org", "App"), None, name)
    }

    fn kinds(names: &[&str]) -> BTreeSet<KindName> {
        let names = names.iter();
        names
            .map(|name| ("example.org/v1".to_owned(), (*name).to_owned()))
            .collect()
    }

    #[test]
    fn who_waits_for_a_kind_is_woken_once_when_it_is_served() {
        let awaited = AwaitedKinds::default();
        awaited.set(&user("one"), kinds(&["A", "B"]));
        awaited.set(&user("two"), kinds(&["B"]));
        awaited.set(&user("three"), kinds(&["A"]));
        awaited.set(&user("three"), kinds(&[]));
        let is = |name: &'static str| move |kind: &KindName| kind.1 == name;
        assert_eq!(awaited.take(is("C")), []);
        assert_eq!(awaited.take(is("A")), [user("one")]);
        assert_eq!(awaited.take(is("A")), []);
        assert_eq!(awaited.take(is("B")), [user("two")]);
    }

    #[test]
    fn who_is_not_served_any_more_waits_for_nothing() {
        let awaited = AwaitedKinds::default();
        awaited.set(&user("one"), kinds(&["A"]));
        awaited.forget_kind(&GroupKind::new("example.org", "App"));
        assert_eq!(awaited.take(|_| true), []);
    }
}
