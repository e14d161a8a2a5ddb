//! A CRD that changes is its definition's turn.

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::queue::{Priority, Wake};

use super::{api, crds::crd_names};
use crate::{
    clock::Clock,
    dispatch::Dispatcher,
    engine::Engine,
    object::{Key, Object},
    store::Store,
    watch::Watches,
};

/// What is followed of one definition.
struct Followed {
    /// Of the definition, whose names were read.
    version: u64,
    /// Name of each of its CRDs -> its version when it was looked at last.
    crds: BTreeMap<String, Option<u64>>,
}

/// Follows the CRDs of all definitions until it is dropped.
pub(super) struct Follow {
    store: Arc<Store>,
    watches: Arc<Watches>,
    dispatcher: Arc<Dispatcher>,
    clock: Arc<dyn Clock>,
    followed: BTreeMap<Key, Followed>,
}

impl Follow {
    pub fn new(engine: &Engine) -> Self {
        Self {
            store: Arc::clone(&engine.store),
            watches: Arc::clone(&engine.watches),
            dispatcher: Arc::clone(&engine.dispatcher),
            clock: Arc::clone(&engine.clock),
            followed: BTreeMap::new(),
        }
    }

    pub async fn run(mut self) {
        let mut changes = self.watches.served_changes();
        while changes.changed().await.is_ok() {
            self.compare();
        }
    }

    fn compare(&mut self) {
        let definitions = self.store.list(&api().kind);
        let mut followed = std::mem::take(&mut self.followed);
        for definition in &definitions {
            let key = definition.key();
            let known = followed.remove(&key);
            if let Some(known) = self.look(definition, known) {
                self.followed.insert(key, known);
            }
        }
    }

    /// `None`: nothing is known of the CRDs.
    fn look(&self, definition: &Object, known: Option<Followed>) -> Option<Followed> {
        let version = definition.resource_version();
        let names = match &known {
            Some(known) if known.version == version => known.crds.keys().cloned().collect(),
            _ => crd_names(definition),
        };
        let mut crds = BTreeMap::new();
        for name in names {
            let version = self.watches.definition_version(&name)?;
            crds.insert(name, version);
        }
        if known.is_none_or(|known| known.crds != crds) {
            let wake = Wake {
                at: self.clock.now(),
                priority: Priority::Dependency,
            };
            self.dispatcher.enqueue(&definition.key(), wake);
        }
        Some(Followed { version, crds })
    }
}
