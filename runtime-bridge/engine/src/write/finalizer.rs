//! Taking finalizers off.

use std::sync::Arc;

use super::Writer;
use crate::{api_error::ApiError, object::Object};

/// What became of an object when a finalizer was taken off.
#[derive(Debug, Clone)]
pub enum Finalized {
    /// It is gone.
    Gone,
    /// It stays: it is not being deleted, or others hold it.
    Remains(Arc<Object>),
}

impl Writer {
    /// Takes a finalizer off an object of just this version, about which that was decided: of a later one nothing was. Not to find it is success.
    /// A replacement costs the API server two thirds of what a patch does.
    ///
    /// # Errors
    /// [`ApiError::Conflict`] if it has changed, or is another object of that name; what the API server says.
    pub async fn remove_finalizer(&self, object: &Object, finalizer: &str) -> Result<Finalized, ApiError> {
        let key = object.key();
        if let Some(known) = self.store.get(&key)
            && known.uid() == object.uid()
            && known.resource_version() > object.resource_version()
        {
            return Err(ApiError::Conflict(format!("{key} has changed since it was seen")));
        }
        let mut without = object.clone();
        let finalizers = &mut without.meta.finalizers;
        if let Some(all) = finalizers {
            all.retain(|one| one != finalizer);
        }
        if *finalizers == object.meta.finalizers {
            return Ok(Finalized::Remains(Arc::new(without)));
        }
        match self.put(&without).await {
            Ok(object) if object.is_finally_deleted() => Ok(Finalized::Gone),
            Ok(object) => Ok(Finalized::Remains(object)),
            Err(ApiError::NotFound(_)) => Ok(Finalized::Gone),
            Err(error) => Err(error),
        }
    }
}
