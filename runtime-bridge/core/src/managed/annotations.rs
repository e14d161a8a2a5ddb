//! The annotations of one version of an object. The record among them is parsed once, however often it is asked for.

use std::{
    collections::BTreeMap,
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use super::{names, record::Stored};

/// `metadata.annotations`. Cheap to clone: clones share the text and the parsed record until one of them is changed.
#[derive(Clone, Default)]
pub struct Annotations(Arc<Inner>);

#[derive(Default)]
struct Inner {
    values: BTreeMap<String, String>,
    /// Of the object with this uid.
    record: OnceLock<(String, Arc<Stored>)>,
}

impl Annotations {
    /// Sets one.
    pub fn insert(&mut self, key: String, value: String) -> Option<String> {
        self.change().insert(key, value)
    }

    /// Takes one away.
    pub fn remove(&mut self, key: &str) -> Option<String> {
        self.change().remove(key)
    }

    /// The record among them, if it is that of the object of `uid`.
    pub(super) fn record(&self, uid: &str) -> Arc<Stored> {
        let read = || Arc::new(Stored::read(self.get(names::RECORD).map(String::as_str), uid));
        let (of, record) = self.0.record.get_or_init(|| (uid.to_owned(), read()));
        if of == uid { Arc::clone(record) } else { read() }
    }

    /// What was parsed of the former text is forgotten.
    fn change(&mut self) -> &mut BTreeMap<String, String> {
        if Arc::get_mut(&mut self.0).is_none() {
            self.0 = Arc::new(Inner {
                values: self.0.values.clone(),
                record: OnceLock::new(),
            });
        }
        let inner = Arc::get_mut(&mut self.0).expect("it was just made, or is nobody else's");
        inner.record = OnceLock::new();
        &mut inner.values
    }
}

impl Deref for Annotations {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &BTreeMap<String, String> {
        &self.0.values
    }
}

impl From<BTreeMap<String, String>> for Annotations {
    fn from(values: BTreeMap<String, String>) -> Self {
        Self(Arc::new(Inner {
            values,
            record: OnceLock::new(),
        }))
    }
}

impl PartialEq for Annotations {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Annotations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_record_is_parsed_anew_and_clones_keep_theirs() {
        let broken = Annotations::from(BTreeMap::from([(names::RECORD.to_owned(), "{".to_owned())]));
        assert!(matches!(&*broken.record("uid"), Stored::Unreadable(_)));
        let mut mended = broken.clone();
        mended.remove(names::RECORD);
        assert_eq!(*mended.record("uid"), Stored::None);
        assert!(matches!(&*broken.record("uid"), Stored::Unreadable(_)));
        assert!(Arc::ptr_eq(&broken.record("uid"), &broken.clone().record("uid")));
    }
}
