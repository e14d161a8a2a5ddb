//! Values that no `Debug` shows.

use std::{collections::BTreeMap, fmt};

use serde_json::{Map, Value};

/// What a Secret holds: name -> bytes. Its `Debug` shows neither.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct SecretData(pub BTreeMap<String, Vec<u8>>);

impl SecretData {
    /// Nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for SecretData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} redacted]", self.0.len())
    }
}

/// A JSON object whose `Debug` shows its names only.
#[derive(Clone, Default, PartialEq)]
pub struct HiddenMap(pub Map<String, Value>);

impl fmt::Debug for HiddenMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
