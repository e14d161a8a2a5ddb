//! Writes of composed objects: each by itself, guarded, some at once.

use std::sync::Arc;

use bridge_core::composite::{
    Change, ComposedResource, Deletion, LiveObject, WriteFailure, WriteFailureKind, composed_manager, names,
};
use futures::{StreamExt, stream};
use serde_json::Value;

use super::{
    find::{Finder, key_of},
    live::live,
    reconciler::CompositeReconciler,
};
use crate::{
    api_error::ApiError,
    metrics::Metrics,
    object::{ApiType, Key, Object},
    write::{Apply, Deleted, Deletion as Delete, Propagation, Release, Writer},
};

/// Writes of one composite resource at once.
const WRITES: usize = 16;

impl CompositeReconciler {
    /// Creates objects; of those that exist none is touched.
    pub(super) async fn create(
        &self,
        xr: &Object,
        all: &[ComposedResource],
    ) -> Vec<Result<LiveObject, WriteFailure>> {
        let writer = self
            .shared
            .writer
            .for_reconcile(&xr.key())
            .as_manager(names::CREATED_MANAGER);
        let writer = &writer;
        let create = |resource: ComposedResource| async move {
            let api = self.api_of(&resource)?;
            let namespace = resource.id.namespace.as_deref().filter(|_| api.namespaced);
            let created = writer.create_document(&api, namespace, &resource.created()).await;
            created
                .and_then(|object| live(&object))
                .map_err(|error| failure(&error))
        };
        stream::iter(all.iter().cloned().map(create))
            .buffered(WRITES)
            .collect()
            .await
    }

    /// Changes objects, each if it is still of the version that this was decided on.
    pub(super) async fn apply(&self, xr: &Object, all: &[Change]) -> Vec<Result<LiveObject, WriteFailure>> {
        let manager = composed_manager(xr.name(), &self.api.kind);
        let writer = self.shared.writer.for_reconcile(&xr.key()).as_manager(&manager);
        let writer = &writer;
        let apply = |change: Change| async move {
            let api = self.api_of(&change.resource)?;
            let resource = &change.resource;
            let namespace = resource.id.namespace.as_deref().filter(|_| api.namespaced);
            let apply = GuardedApply {
                key: Key::new(api.kind.clone(), namespace, &resource.id.name),
                uid: &change.uid,
                version: &change.resource_version,
                fields: resource.applied(),
                former: if change.convert { &FORMER } else { &[] },
            };
            let applied = apply.send(writer, &api).await;
            applied
                .and_then(|object| live(&object))
                .map_err(|error| failure(&error))
        };
        stream::iter(all.iter().cloned().map(apply))
            .buffered(WRITES)
            .collect()
            .await
    }

    /// Deletes objects, each if it is still of the version that this was decided on; true: it is gone.
    pub(super) async fn delete(&self, xr: &Object, all: &[Deletion]) -> Vec<Result<bool, WriteFailure>> {
        let writer = self.shared.writer.for_reconcile(&xr.key());
        let finder = Finder::in_any_version(&self.shared);
        let (writer, finder) = (&writer, &finder);
        let delete = |deletion: Deletion| async move {
            let reference = &deletion.reference;
            let Ok(api) = finder.api(&reference.api_version, &reference.kind) else {
                return Err(not_served(&reference.kind, &reference.api_version));
            };
            let key = key_of(&api, reference, xr.namespace());
            let options = Delete {
                uid: &deletion.uid,
                version: deletion.resource_version.parse().ok(),
                propagation: Propagation::Background,
            };
            match writer.delete(&api, &key, options).await {
                Ok(Deleted::Gone) => Ok(true),
                Ok(Deleted::Marked(_)) => Ok(false),
                Err(error) => Err(failure(&error)),
            }
        };
        stream::iter(all.iter().cloned().map(delete))
            .buffered(WRITES)
            .collect()
            .await
    }

    /// Takes owner and labels off objects, each if it is still of the version that this was decided on.
    pub(super) async fn release(&self, xr: &Object, all: &[Deletion]) -> Vec<Result<(), WriteFailure>> {
        let writer = self
            .shared
            .writer
            .for_reconcile(&xr.key())
            .as_manager(names::CROSSPLANE_MANAGER);
        let finder = Finder::in_any_version(&self.shared);
        let (writer, finder) = (&writer, &finder);
        let release = |one: Deletion| async move {
            let reference = &one.reference;
            let Ok(api) = finder.api(&reference.api_version, &reference.kind) else {
                return Err(not_served(&reference.kind, &reference.api_version));
            };
            let key = key_of(&api, reference, xr.namespace());
            let release = Release {
                uid: &one.uid,
                version: one.resource_version.parse().ok(),
                owner: xr.uid(),
                labels: &[names::COMPOSITE, names::CLAIM_NAME, names::CLAIM_NAMESPACE],
            };
            let released = writer.release(&api, &key, release).await;
            released.map_err(|error| failure(&error))?;
            Metrics::count(&self.shared.metrics.released, key.kind());
            Ok(())
        };
        stream::iter(all.iter().cloned().map(release))
            .buffered(WRITES)
            .collect()
            .await
    }

    fn api_of(&self, resource: &ComposedResource) -> Result<Arc<ApiType>, WriteFailure> {
        let finder = Finder::new(&self.shared);
        finder
            .api(&resource.api_version, &resource.id.kind)
            .map_err(|_| not_served(&resource.id.kind, &resource.api_version))
    }
}

/// Managers that may have written what an apply is to remove.
const FORMER: [&str; 2] = [names::CREATED_MANAGER, names::CROSSPLANE_MANAGER];

/// An apply over exactly the version that it was decided on.
pub(crate) struct GuardedApply<'a> {
    /// Which object.
    pub key: Key,
    /// Uid that it was decided on.
    pub uid: &'a str,
    /// `resourceVersion` that it was decided on.
    pub version: &'a str,
    /// All that is wanted.
    pub fields: Value,
    /// Whose fields are handed over first: only then does an apply remove what they wrote and nobody wants any more.
    pub former: &'a [&'a str],
}

impl GuardedApply<'_> {
    pub(crate) async fn send(&self, writer: &Writer, api: &Arc<ApiType>) -> Result<Arc<Object>, ApiError> {
        let mut version = self.version.parse().ok();
        if !self.former.is_empty() {
            let (object, managers) = writer.get_live_with_managers(api, &self.key).await?;
            if object.uid() != self.uid || Some(object.resource_version()) != version {
                return Err(ApiError::Conflict("it is of another version".to_owned()));
            }
            if let Some(converted) = writer.convert(&object, &managers, self.former).await? {
                version = Some(converted.resource_version());
            }
        }
        let apply = Apply {
            api,
            key: &self.key,
            uid: self.uid,
            version,
            fields: &self.fields,
            force: true,
        };
        writer.apply(apply).await
    }
}

fn not_served(kind: &str, api_version: &str) -> WriteFailure {
    WriteFailure {
        kind: WriteFailureKind::NotDone,
        message: format!("the cluster does not serve {kind} in {api_version}"),
    }
}

/// What a failed request means for the object.
pub(crate) fn failure(error: &ApiError) -> WriteFailure {
    let kind = match error {
        ApiError::AlreadyExists(_) => WriteFailureKind::AlreadyExists,
        ApiError::Conflict(_) | ApiError::NotFound(_) => WriteFailureKind::Conflict,
        ApiError::Invalid(_) | ApiError::Denied(_) | ApiError::Forbidden(_) | ApiError::FieldConflict(_) => {
            WriteFailureKind::Rejected
        }
        error if error.may_have_taken_effect() => WriteFailureKind::Unknown,
        _ => WriteFailureKind::NotDone,
    };
    WriteFailure {
        kind,
        message: error.to_string(),
    }
}
