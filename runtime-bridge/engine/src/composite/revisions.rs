//! Compositions and their revisions as they are stored, each version parsed once.

use std::{collections::HashMap, sync::Arc};

use bridge_core::{
    composite::{
        Choice, ChoiceProblem, Chosen, Composite, Library as Stored, PipelineSpec, Preferences, choose,
    },
    revision::{COMPOSITION, COMPOSITION_REVISION, Composition, Revision},
    watch_plan::GroupKind,
};
use parking_lot::Mutex;
use serde_json::Value;

use super::{find::value, reconciler::CompositeReconciler};
use crate::{object::Object, store::Store};

const GROUP: &str = "apiextensions.crossplane.io";

pub(super) fn composition_kind() -> GroupKind {
    GroupKind::new(GROUP, COMPOSITION)
}

pub(super) fn revision_kind() -> GroupKind {
    GroupKind::new(GROUP, COMPOSITION_REVISION)
}

/// What was read of stored objects, by uid: parsed once for each version.
pub(super) struct Parsed<T> {
    by_uid: Mutex<HashMap<String, (u64, Arc<T>)>>,
    read: fn(&Value) -> T,
}

impl<T> Parsed<T> {
    pub(super) fn new(read: fn(&Value) -> T) -> Self {
        Self {
            by_uid: Mutex::default(),
            read,
        }
    }

    /// All objects of a kind that are stored now.
    fn all(&self, store: &Store, kind: &GroupKind) -> Vec<Arc<T>> {
        let stored = store.list(kind);
        let mut parsed = self.by_uid.lock();
        if parsed.len() > stored.len() {
            parsed.retain(|uid, _| stored.iter().any(|object| object.uid() == uid));
        }
        stored
            .iter()
            .map(|object| self.get(&mut parsed, object))
            .collect()
    }

    fn get(&self, parsed: &mut HashMap<String, (u64, Arc<T>)>, object: &Object) -> Arc<T> {
        let version = object.resource_version();
        match parsed.get(object.uid()) {
            Some((known, one)) if *known == version => Arc::clone(one),
            _ => {
                let one = Arc::new((self.read)(&value(object)));
                parsed.insert(object.uid().to_owned(), (version, Arc::clone(&one)));
                one
            }
        }
    }
}

/// All that compositions can be chosen from.
pub(super) struct Library {
    compositions: Parsed<Composition>,
    revisions: Parsed<Revision>,
    pipelines: Mutex<HashMap<String, Pipeline>>,
}

type Pipeline = Result<Arc<PipelineSpec>, String>;

impl Default for Library {
    fn default() -> Self {
        Self {
            compositions: Parsed::new(Composition::read),
            revisions: Parsed::new(Revision::read),
            pipelines: Mutex::default(),
        }
    }
}

impl Library {
    /// The steps of a revision, whose spec never changes.
    fn pipeline(&self, revision: &Revision) -> Pipeline {
        let mut pipelines = self.pipelines.lock();
        let parse = || {
            PipelineSpec::parse(&revision.spec["pipeline"])
                .map(Arc::new)
                .map_err(|error| error.to_string())
        };
        pipelines
            .entry(revision.uid.clone())
            .or_insert_with(parse)
            .clone()
    }
}

impl CompositeReconciler {
    /// What a composite resource is composed by.
    pub(super) fn choose(&self, xr: &Composite) -> Result<Chosen, ChoiceProblem> {
        let library = &self.shared.library;
        let store = &self.shared.store;
        let compositions = library.compositions.all(store, &composition_kind());
        let revisions = library.revisions.all(store, &revision_kind());
        let terms = self.terms();
        let preferences = Preferences::read(&xr.object, terms.machinery);
        let stored = Stored {
            compositions: &compositions,
            revisions: &revisions,
        };
        match choose(&terms, &preferences, stored) {
            Choice::Chosen(chosen) => Ok(Chosen {
                pipeline: library.pipeline(&chosen.revision),
                revision_uid: chosen.revision.uid.clone(),
                selected: chosen.selected,
            }),
            Choice::Missing(missing) => Err(ChoiceProblem {
                event: missing.event(),
                message: missing.to_string(),
            }),
        }
    }
}
