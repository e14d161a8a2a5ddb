//! Deletes the objects that a definition leaves, each as it was seen and as long as no usage protects it.

use std::sync::Arc;

use bridge_core::definition::teardown::Rejected;
use futures::{StreamExt, stream};

use crate::{
    api_error::ApiError,
    object::{ApiType, Object},
    protection::StoredUsages,
    store::Store,
    write::{Deletion, Propagation, Writer},
};

/// Deletions under way at once.
const DELETIONS: usize = 16;

/// What came of the deletions of a plan.
#[derive(Default)]
pub(super) struct Outcome {
    /// The first by name of those that were rejected.
    pub rejected: Option<Failed>,
    /// Something is not as it was seen, and may be another one of its name: the next look shows it.
    pub is_stale: bool,
}

/// A deletion that did not take place.
pub(super) struct Failed {
    pub what: String,
    pub error: ApiError,
}

impl Outcome {
    pub(super) fn rejected(&self) -> Option<Rejected> {
        self.rejected.as_ref().map(|Failed { what, error }| Rejected {
            what: what.clone(),
            why: error.to_string(),
        })
    }
}

/// The objects of one kind.
pub(super) struct InstanceDeletions<'a> {
    pub api: &'a Arc<ApiType>,
    pub writer: &'a Writer,
    pub store: &'a Store,
    pub may_act: &'a (dyn Fn() -> bool + Sync),
}

impl InstanceDeletions<'_> {
    /// Deletes them.
    ///
    /// # Errors
    /// [`ApiError::NotSent`]: this process may not act any more.
    pub(super) async fn run(
        &self,
        objects: impl IntoIterator<Item = &Arc<Object>>,
    ) -> Result<Outcome, ApiError> {
        let deletions: Vec<_> = objects.into_iter().map(|object| self.delete(object)).collect();
        let failed: Vec<Failed> = stream::iter(deletions)
            .buffer_unordered(DELETIONS)
            .filter_map(std::future::ready)
            .collect()
            .await;
        let (stale, rejected): (Vec<Failed>, Vec<Failed>) = failed
            .into_iter()
            .partition(|failed| matches!(failed.error, ApiError::Conflict(_)));
        let rejected = rejected
            .into_iter()
            .min_by(|one, other| one.what.cmp(&other.what));
        match rejected {
            Some(Failed {
                error: ApiError::NotSent,
                ..
            }) => Err(ApiError::NotSent),
            rejected => Ok(Outcome {
                rejected,
                is_stale: !stale.is_empty(),
            }),
        }
    }

    async fn delete(&self, object: &Object) -> Option<Failed> {
        let key = object.key();
        let error = self.try_delete(object).await.err()?;
        Some(Failed {
            what: key.to_string(),
            error,
        })
    }

    async fn try_delete(&self, object: &Object) -> Result<(), ApiError> {
        if !(self.may_act)() {
            return Err(ApiError::NotSent);
        }
        // Those before it took their time, in which a usage may have come.
        if let Some(usage) = StoredUsages::new(self.store).protecting(object).first() {
            let why = format!("it is in use since it was seen: {}", usage.text());
            return Err(ApiError::Conflict(why));
        }
        let deletion = Deletion {
            uid: object.uid(),
            version: Some(object.resource_version()),
            propagation: Propagation::Background,
        };
        match self.writer.delete(self.api, &object.key(), deletion).await {
            Ok(_) | Err(ApiError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
#[path = "instance_deletions_tests.rs"]
mod tests;
