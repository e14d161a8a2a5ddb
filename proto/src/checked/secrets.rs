//! Secret values, which no log may show.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

/// Secret values by key. `Debug` prints the keys only.
#[derive(Clone, PartialEq, Eq)]
pub struct Secrets<V = Vec<u8>>(pub BTreeMap<String, V>);

impl<V> Default for Secrets<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

#[allow(clippy::implicit_hasher)] // Prost's maps have the default one.
impl<V> From<HashMap<String, V>> for Secrets<V> {
    fn from(values: HashMap<String, V>) -> Self {
        Self(values.into_iter().collect())
    }
}

#[allow(clippy::implicit_hasher)] // Prost's maps have the default one.
impl<V> From<Secrets<V>> for HashMap<String, V> {
    fn from(secrets: Secrets<V>) -> Self {
        secrets.0.into_iter().collect()
    }
}

impl<V> fmt::Debug for Secrets<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.0.keys().map(|key| (key, "redacted")))
            .finish()
    }
}
