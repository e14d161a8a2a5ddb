//! For whom a Secret counts: its changes are their turn.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use bridge_core::{composite::SecretName, watch_plan::GroupKind};
use parking_lot::Mutex;

use crate::{
    engine::Engine,
    object::{ApiType, Key},
    store::Listener,
    watch::Subscription,
};

/// Composite resources and claims by the Secrets that count for them: no stored field of theirs names those of what they composed, or are composed
/// by.
#[derive(Default)]
pub(crate) struct SecretUsers {
    users: Mutex<Users>,
}

#[derive(Default)]
struct Users {
    /// In order, so that a simulation repeats itself.
    by_secret: HashMap<Key, BTreeSet<Key>>,
    by_user: HashMap<Key, BTreeSet<SecretName>>,
}

impl SecretUsers {
    /// These count for it from now on, and no others.
    pub(crate) fn set(&self, user: &Key, secrets: BTreeSet<SecretName>) {
        let mut users = self.users.lock();
        if users.by_user.get(user).unwrap_or(&BTreeSet::new()) == &secrets {
            return;
        }
        for former in users.by_user.remove(user).unwrap_or_default() {
            let key = key(&former);
            if let Some(of) = users.by_secret.get_mut(&key) {
                of.remove(user);
                if of.is_empty() {
                    users.by_secret.remove(&key);
                }
            }
        }
        for secret in &secrets {
            users
                .by_secret
                .entry(key(secret))
                .or_default()
                .insert(user.clone());
        }
        if !secrets.is_empty() {
            users.by_user.insert(user.clone(), secrets);
        }
    }

    pub(crate) fn forget(&self, user: &Key) {
        self.set(user, BTreeSet::new());
    }

    /// None counts for any of this kind.
    pub(crate) fn forget_kind(&self, kind: &GroupKind) {
        let users = self.users.lock();
        let of_kind = users.by_user.keys().filter(|user| user.kind() == kind);
        let of_kind: Vec<Key> = of_kind.cloned().collect();
        drop(users);
        for user in of_kind {
            self.forget(&user);
        }
    }

    /// For whom a Secret counts.
    fn of(&self, secret: &Key) -> Vec<Key> {
        let users = self.users.lock();
        users
            .by_secret
            .get(secret)
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// A change of a Secret is the turn of all for whom it counts.
    pub(super) fn subscribe(self: &Arc<Self>, engine: &Engine) -> Subscription {
        let users = Arc::clone(self);
        let dispatcher = Arc::clone(&engine.dispatcher);
        let listener: Arc<Listener> = Arc::new(move |change| {
            let users = users.of(&change.key);
            dispatcher.wake_dependants(users);
        });
        let reason = "connection details and credentials of composite resources";
        engine
            .watches
            .subscribe(&Arc::new(ApiType::secrets()), reason, &listener)
    }
}

pub(super) fn key(secret: &SecretName) -> Key {
    Key::secret(&secret.namespace, &secret.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_those_users_for_whom_it_counts_now() {
        let users = SecretUsers::default();
        let user = |name: &str| Key::new(GroupKind::new("example.org", "XShop"), None, name);
        let secret = |name: &str| SecretName {
            namespace: "n".to_owned(),
            name: name.to_owned(),
        };
        users.set(&user("x"), [secret("a"), secret("b")].into());
        users.set(&user("y"), [secret("a")].into());
        let of = |name: &str| {
            let mut of = users.of(&key(&secret(name)));
            of.sort();
            of
        };
        assert_eq!(of("a"), [user("x"), user("y")]);
        assert_eq!(of("b"), [user("x")]);
        users.set(&user("x"), [secret("b")].into());
        users.forget(&user("y"));
        assert_eq!((of("a"), of("b")), (vec![], vec![user("x")]));
        users.forget(&user("x"));
        assert!(users.users.lock().by_secret.is_empty());
    }
}
