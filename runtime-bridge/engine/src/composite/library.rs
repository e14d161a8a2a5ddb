//! Compositions and their revisions as they are stored, each version parsed once.

use std::{collections::HashMap, sync::Arc};

use bridge_core::{
    composite::PipelineSpec,
    revision::{COMPOSITION, COMPOSITION_REVISION, Composition, Revision},
    watch_plan::GroupKind,
};
use parking_lot::Mutex;
use serde_json::Value;

use crate::{
    object::{Key, Object},
    store::Store,
};

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
                let one = Arc::new((self.read)(&object.to_value()));
                parsed.insert(object.uid().to_owned(), (version, Arc::clone(&one)));
                one
            }
        }
    }
}

/// The steps of a revision; `Err`: they cannot be used, and why.
type Pipeline = Result<Arc<PipelineSpec>, String>;

/// All that compositions can be chosen from.
pub(super) struct Library {
    compositions: Parsed<Composition>,
    revisions: Parsed<Revision>,
    pipelines: Parsed<Pipeline>,
}

impl Default for Library {
    fn default() -> Self {
        Self {
            compositions: Parsed::new(Composition::read),
            revisions: Parsed::new(Revision::read),
            pipelines: Parsed::new(|revision| {
                let pipeline = PipelineSpec::parse(&revision["spec"]["pipeline"]);
                pipeline.map(Arc::new).map_err(|error| error.to_string())
            }),
        }
    }
}

impl Library {
    pub(super) fn compositions(&self, store: &Store) -> Vec<Arc<Composition>> {
        self.compositions.all(store, &composition_kind())
    }

    pub(super) fn revisions(&self, store: &Store) -> Vec<Arc<Revision>> {
        self.revisions.all(store, &revision_kind())
    }

    /// The steps of a revision; `None`: it is not stored any more.
    pub(super) fn pipeline(&self, store: &Store, revision: &str) -> Option<Pipeline> {
        let revision = store.get(&Key::new(revision_kind(), None, revision))?;
        let mut parsed = self.pipelines.by_uid.lock();
        // Those of deleted revisions go with the next one that is new.
        if !parsed.contains_key(revision.uid()) {
            let stored = store.list(&revision_kind());
            parsed.retain(|uid, _| stored.iter().any(|object| object.uid() == uid));
        }
        Some(Pipeline::clone(&self.pipelines.get(&mut parsed, &revision)))
    }
}
