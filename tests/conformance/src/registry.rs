//! What the kit has created and must remove again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{assertion::Assertion, kind_context::TestResource};

/// What may exist upstream because of the kit. A resource is entered before its creation is sent.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    resources: Mutex<Vec<TestResource>>,
    /// Resources that are certainly deleted, each with the assertion that fails if it exists again.
    watched: Mutex<Vec<(TestResource, &'static Assertion)>>,
}

impl Registry {
    /// Adds the resource, or updates the entry with the same token.
    pub(crate) fn add(&self, resource: &TestResource) {
        let mut resources = self.resources();
        match resources.iter_mut().find(|known| known.token == resource.token) {
            Some(known) => *known = resource.clone(),
            None => resources.push(resource.clone()),
        }
    }

    /// Removes the entry of a resource that is certainly deleted.
    pub(crate) fn remove(&self, resource: &TestResource) {
        self.resources().retain(|known| known.token != resource.token);
    }

    /// The newest first, as later ones may need earlier ones.
    pub(crate) fn all(&self) -> Vec<TestResource> {
        self.resources().iter().rev().cloned().collect()
    }

    pub(crate) fn watch(&self, resource: TestResource, assertion: &'static Assertion) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.push((resource, assertion));
    }

    /// Those of this kind.
    pub(crate) fn watched(&self, kind: &str) -> Vec<(TestResource, &'static Assertion)> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let of_kind = watched.iter().filter(|(resource, _)| resource.kind() == kind);
        of_kind.cloned().collect()
    }

    fn resources(&self) -> MutexGuard<'_, Vec<TestResource>> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
