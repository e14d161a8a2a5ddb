//! What the kit has made and must remove again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::lab::Thing;

/// What may exist upstream because of the kit. A thing is entered before its creation is sent.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    things: Mutex<Vec<Thing>>,
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

    fn things(&self) -> MutexGuard<'_, Vec<Thing>> {
        self.things.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
