//! The handles by which composite resources are served: one for each definition, kept by the CRD that its objects are of.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak},
};

use bridge_core::{
    definition::Terms,
    queue::{Priority, Wake},
};
use parking_lot::Mutex;

use super::types::{DefinedType, DefinedTypes};
use crate::{
    composite::{self, CompositeReconciler, CompositeShared},
    composition_metrics::{RunningController, WatchPurpose},
    engine::Engine,
    object::ApiType,
    serve::Served,
};

/// What is served, by the name of its definition.
pub(super) struct ServedTypes {
    // The engine keeps the controller of definitions, which keeps this.
    engine: Weak<Engine>,
    composites: Arc<CompositeShared>,
    types: DefinedTypes,
    served: Mutex<BTreeMap<String, ServedType>>,
}

/// Who says how a definition stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum By {
    /// A pass that began in this time of leading.
    Pass(u64),
    /// A standby, which has no passes.
    Standby,
}

struct ServedType {
    definition: String,
    crd: String,
    reconciler: Arc<CompositeReconciler>,
    served: Served,
    _counted: RunningController,
}

impl ServedType {
    /// Its objects are the same, and are read and written in the same way.
    fn goes_on(&self, terms: &Terms, crd: &str) -> bool {
        let now = self.reconciler.terms();
        self.crd == crd
            && self.definition == terms.definition_uid
            && (&now.kind, &now.plural, &now.version, now.scope)
                == (&terms.kind, &terms.plural, &terms.version, terms.scope)
    }
}

impl ServedTypes {
    pub fn new(engine: &Arc<Engine>, composites: &Arc<CompositeShared>, types: &DefinedTypes) -> Self {
        Self {
            engine: Arc::downgrade(engine),
            composites: Arc::clone(composites),
            types: types.clone(),
            served: Mutex::default(),
        }
    }

    /// Serves the composite resources of a definition by these terms, of this CRD, which it has now. Without terms what is served of that CRD goes on, and all
    /// else ends. False: who says so has nothing to say any more, and nothing was done.
    pub fn follow(&self, definition: &str, terms: Option<Arc<Terms>>, crd: Option<&str>, by: By) -> bool {
        let mut served = self.served.lock();
        if !self.may(by) {
            return false;
        }
        match (terms, crd) {
            (Some(terms), Some(crd)) => self.serve(&mut served, &terms, crd),
            (_, crd) => {
                let keeps = |known: &ServedType| Some(known.crd.as_str()) == crd;
                if served.get(definition).is_some_and(|known| !keeps(known)) {
                    self.end(served.remove(definition));
                }
            }
        }
        if let (By::Pass(term), Some(known)) = (by, served.get(definition)) {
            known.reconciler.confirm(term);
        }
        true
    }

    /// Asked under the lock: what a pass says comes after all that was said before it began to lead, and nothing comes after what it says but by another.
    fn may(&self, by: By) -> bool {
        let right = self.composites.right(false);
        match by {
            By::Pass(term) => right.leads && right.term == term,
            By::Standby => !right.leads,
        }
    }

    /// What is served by other terms goes on with these: no run and no memory is lost, and its objects are reconciled.
    fn serve(&self, served: &mut BTreeMap<String, ServedType>, terms: &Arc<Terms>, crd: &str) {
        let Some(engine) = self.engine.upgrade() else {
            return;
        };
        match served.get(&terms.definition) {
            Some(known) if known.goes_on(terms, crd) => {
                let former = known.reconciler.terms();
                if *former == **terms {
                    return;
                }
                let enforced = &terms.enforced_composition;
                if former.enforced_composition != *enforced {
                    let edges = composite::edges(terms.scope, enforced.as_deref());
                    known.served.replace_edges(edges);
                }
                known.reconciler.set_terms(Arc::clone(terms));
                self.publish(terms, crd);
                let wake = Wake {
                    at: engine.clock.now(),
                    priority: Priority::Dependency,
                };
                for object in engine.store.list(&terms.kind) {
                    engine.dispatcher.enqueue(&object.key(), wake);
                }
                return;
            }
            // Of one kind, one at a time.
            Some(_) => drop(served.remove(&terms.definition)),
            None => {}
        }
        let reconciler = CompositeReconciler::new(&self.composites, Arc::clone(terms), api(terms));
        let reason = format!("{} defines it", terms.definition);
        let handle = engine.serve(reconciler.controller(&reason));
        tracing::info!(definition = terms.definition, kind = %terms.kind, version = terms.version, "serving composite resources");
        let one = ServedType {
            definition: terms.definition_uid.clone(),
            crd: crd.to_owned(),
            _counted: self.composites.metrics.compositions.controller(
                &reconciler.name(),
                &[WatchPurpose::CompositeResource, WatchPurpose::CompositionRevision],
            ),
            reconciler,
            served: handle,
        };
        served.insert(terms.definition.clone(), one);
        self.publish(terms, crd);
    }

    /// As a standby, serves for definitions of these uids alone.
    pub fn retain_definitions(&self, uids: &BTreeSet<&str>) {
        let mut served = self.served.lock();
        if !self.may(By::Standby) {
            return;
        }
        let gone: Vec<String> = served
            .iter()
            .filter(|(_, known)| !uids.contains(known.definition.as_str()))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.end(served.remove(&name));
        }
    }

    /// Serves nothing for a definition, if it is the one of this uid.
    pub fn stop(&self, definition: &str, uid: &str) {
        let mut served = self.served.lock();
        if served
            .get(definition)
            .is_some_and(|known| known.definition == uid)
        {
            self.end(served.remove(definition));
        }
    }

    fn end(&self, ended: Option<ServedType>) {
        if let Some(ended) = ended {
            let terms = ended.reconciler.terms();
            tracing::info!(definition = terms.definition, kind = %terms.kind, "no longer serving composite resources");
            self.types.remove(&terms.kind, &terms.definition_uid);
        }
    }

    fn publish(&self, terms: &Arc<Terms>, crd: &str) {
        let defined = DefinedType {
            terms: Arc::clone(terms),
            crd: crd.to_owned(),
        };
        self.types.set(&terms.kind, &defined);
    }
}

/// How the composite resources of a type are addressed.
fn api(terms: &Terms) -> Arc<ApiType> {
    Arc::new(ApiType {
        kind: terms.kind.clone(),
        version: terms.version.clone(),
        plural: terms.plural.clone(),
        namespaced: terms.is_namespaced(),
    })
}
