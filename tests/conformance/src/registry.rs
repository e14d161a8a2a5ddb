//! What the kit has made and must remove again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{assertion::Assertion, lab::Thing};

/// What may exist upstream because of the kit. A thing is entered before its creation is sent.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    things: Mutex<Vec<Thing>>,
    /// What is gone for certain and must not come again, and what does not hold if it does.
    watched: Mutex<Vec<(Thing, &'static Assertion)>>,
}

impl Registry {
    /// Enters it, or what is known of it by now. Its token says which it is.
    pub(crate) fn enter(&self, thing: &Thing) {
        let mut things = self.things();
        match things.iter_mut().find(|known| known.token == thing.token) {
            Some(known) => *known = thing.clone(),
            None => things.push(thing.clone()),
        }
    }

    /// It is gone for certain.
    pub(crate) fn strike(&self, thing: &Thing) {
        self.things().retain(|known| known.token != thing.token);
    }

    /// The newest first, as later ones may need earlier ones.
    pub(crate) fn all(&self) -> Vec<Thing> {
        self.things().iter().rev().cloned().collect()
    }

    pub(crate) fn watch(&self, thing: Thing, assertion: &'static Assertion) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.push((thing, assertion));
    }

    /// Those of this kind.
    pub(crate) fn watched(&self, kind: &str) -> Vec<(Thing, &'static Assertion)> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let of_kind = watched.iter().filter(|(thing, _)| thing.kind() == kind);
        of_kind.cloned().collect()
    }

    fn things(&self) -> MutexGuard<'_, Vec<Thing>> {
        self.things.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
