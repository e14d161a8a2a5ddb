//! How often what was called.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::call::Call;
use crate::service::Service;

/// Calls that arrived, whatever became of them.
#[derive(Debug, Default)]
pub(crate) struct Calls(Mutex<BTreeMap<(Service, String), u64>>);

impl Calls {
    pub(crate) fn count(&self, call: &Call) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((call.service, call.action.clone())).or_default() += 1;
    }

    pub(crate) fn of(&self, service: Service, action: &str) -> u64 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts
            .get(&(service, action.to_owned()))
            .copied()
            .unwrap_or_default()
    }

    pub(crate) fn all(&self) -> BTreeMap<(Service, String), u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn reset(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
