//! While another process leads, composite resources are watched here as well, so that this one takes over warm. Definitions are the leader's to reconcile:
//! what a standby serves follows from them and their CRDs as they are stored, and nothing of it is written.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::sync::{Notify, watch};
use tokio_util::task::AbortOnDropHandle;

use super::{DefinitionReconciler, api};
use crate::{
    engine::Engine,
    object::Object,
    store::{Listener, Store},
    watch::{Subscription, Watches},
};

/// A CRD that could not be read is read again after this.
const AGAIN: Duration = Duration::from_secs(1);

/// Follows definitions and their CRDs while this process is a standby, until it is dropped.
pub struct Standby {
    _follow: AbortOnDropHandle<()>,
    _definitions: Subscription,
}

impl Standby {
    /// Begins to follow, for this reconciler of definitions.
    pub fn start(engine: &Arc<Engine>, definitions: &Arc<DefinitionReconciler>) -> Self {
        let changed = Arc::new(Notify::new());
        let notify = Arc::clone(&changed);
        let listener: Arc<Listener> = Arc::new(move |_: &_| notify.notify_one());
        let subscription = engine.subscribe(&api(), "a standby serves them as well", &listener);
        let follow = Follow {
            store: Arc::clone(&engine.store),
            watches: Arc::clone(&engine.watches),
            leads: definitions.leads(),
            term: definitions.term(),
            definitions: Arc::clone(definitions),
            followed: BTreeMap::new(),
        };
        Self {
            _follow: AbortOnDropHandle::new(tokio::spawn(follow.run(changed))),
            _definitions: subscription,
        }
    }
}

/// By what a definition is served.
#[derive(PartialEq, Eq)]
struct Versions {
    definition: u64,
    /// `None`: it has no CRD.
    crd: Option<u64>,
}

struct Follow {
    store: Arc<Store>,
    watches: Arc<Watches>,
    leads: watch::Receiver<bool>,
    definitions: Arc<DefinitionReconciler>,
    /// The time of leading in which this was followed: what passes served since is not known.
    term: u64,
    /// By the name of the definition.
    followed: BTreeMap<String, Versions>,
}

impl Follow {
    async fn run(mut self, definitions: Arc<Notify>) {
        let mut crds = self.watches.served_changes();
        loop {
            let again = if self.compare().await {
                Duration::MAX
            } else {
                AGAIN
            };
            tokio::select! {
                // In a fixed order, so that a simulation repeats itself.
                biased;
                () = definitions.notified() => {}
                changed = crds.changed() => if changed.is_err() { return },
                changed = self.leadership_changes() => if !changed { return },
                () = tokio::time::sleep(again) => {}
            }
        }
    }

    /// This process begins to lead, or leads no more; steps of the election that change nothing are no news. False: it ends.
    async fn leadership_changes(&mut self) -> bool {
        let led = *self.leads.borrow();
        self.leads.wait_for(|leads| *leads != led).await.is_ok()
    }

    /// False: something could not be read.
    async fn compare(&mut self) -> bool {
        let term = self.definitions.term();
        if *self.leads.borrow_and_update() {
            return true;
        }
        if self.term != term {
            self.term = term;
            self.followed.clear();
        }
        let all = self.store.list(&api().kind);
        self.followed
            .retain(|name, _| all.iter().any(|definition| definition.name() == name));
        self.definitions.serve_these_as_standby(&all);
        let mut is_complete = true;
        for definition in &all {
            if *self.leads.borrow() {
                break;
            }
            is_complete &= self.follow(definition).await;
        }
        is_complete
    }

    async fn follow(&mut self, definition: &Object) -> bool {
        let name = definition.name();
        // Nothing is known yet, or no more: what is served goes on.
        let Some(crd) = self.watches.definition_version(name) else {
            return true;
        };
        let versions = Versions {
            definition: definition.resource_version(),
            crd,
        };
        if self.followed.get(name) == Some(&versions) {
            return true;
        }
        match self.definitions.serve_as_standby(definition).await {
            Ok(is_served) => {
                if is_served {
                    self.followed.insert(name.to_owned(), versions);
                }
                true
            }
            Err(error) => {
                tracing::warn!(crd = name, %error, "failed to read the CRD of composite resources; will retry");
                false
            }
        }
    }
}
