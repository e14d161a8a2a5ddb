//! `observed` is the same for all calls of a run, and its largest part: it is encoded once.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use bridge_core::function::{FunctionFailure, Observed};
use bytes::Bytes;
use parking_lot::Mutex;

use crate::encode;

/// Encodings of what runs under way observe, by the address of the value: while a weak reference exists, no other value can have it.
#[derive(Default)]
pub(crate) struct EncodedObserved(Mutex<BTreeMap<usize, (Weak<Observed>, Bytes)>>);

impl EncodedObserved {
    /// Field 2 of a request. Two calls at once may both encode it, to the same bytes.
    pub(crate) fn field(&self, observed: &Arc<Observed>) -> Result<Bytes, FunctionFailure> {
        let address = Arc::as_ptr(observed).addr();
        if let Some((of, encoded)) = self.0.lock().get(&address)
            && of.as_ptr() == Arc::as_ptr(observed)
        {
            return Ok(encoded.clone());
        }
        let encoded = encode::observed_field(observed)?;
        let mut known = self.0.lock();
        // What ended runs observed goes now.
        known.retain(|_, (of, _)| of.strong_count() > 0);
        known.insert(address, (Arc::downgrade(observed), encoded.clone()));
        Ok(encoded)
    }
}

#[cfg(test)]
mod tests {
    use bridge_core::function::Resource;
    use serde_json::json;

    use super::*;

    fn observed(name: &str) -> Arc<Observed> {
        let composite = Resource::of(json!({"metadata": {"name": name}}));
        Arc::new(Observed {
            composite,
            ..Observed::default()
        })
    }

    #[test]
    fn one_value_is_encoded_once_and_dropped_with_its_run() {
        let encoded = EncodedObserved::default();
        let (a, b) = (observed("a"), observed("b"));
        let first = encoded.field(&a).unwrap();
        assert_eq!(first.as_ptr(), encoded.field(&Arc::clone(&a)).unwrap().as_ptr());
        assert_ne!(encoded.field(&b).unwrap(), first);
        drop(a);
        encoded.field(&observed("c")).unwrap();
        let known = encoded.0.lock();
        assert_eq!(
            known
                .values()
                .filter(|(of, _)| of.ptr_eq(&Arc::downgrade(&b)))
                .count(),
            1
        );
        assert_eq!(known.len(), 2, "b and c");
    }
}
