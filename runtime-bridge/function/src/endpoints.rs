//! Which function listens where, changed while calls are under way.

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::function::{FunctionEndpoint, FunctionFailure};
use tokio::sync::watch;

type Known = BTreeMap<String, Result<FunctionEndpoint, String>>;

/// Function -> endpoint, or why it has none that can be used. Clones are the same table: whoever knows sets it, a client reads it with each call.
#[derive(Debug, Clone, Default)]
pub struct EndpointTable(Arc<watch::Sender<Known>>);

impl EndpointTable {
    /// Replaces the table. Calls under way go on; those that wait for a place at a former endpoint go to the new one.
    pub fn set(&self, known: BTreeMap<String, Result<FunctionEndpoint, String>>) {
        self.0.send_if_modified(|before| {
            let is_other = *before != known;
            *before = known;
            is_other
        });
    }

    pub(crate) fn of(&self, function: &str) -> Result<FunctionEndpoint, FunctionFailure> {
        match self.0.borrow().get(function) {
            Some(Ok(endpoint)) => Ok(endpoint.clone()),
            Some(Err(why)) => Err(FunctionFailure::NoEndpoint(why.clone())),
            None => Err(FunctionFailure::NoEndpoint(
                "neither a flag, nor an annotation of its Function, nor an active FunctionRevision has one"
                    .into(),
            )),
        }
    }

    /// Ends when the function no longer listens there.
    pub(crate) async fn changed(&self, function: &str, from: &FunctionEndpoint) {
        let mut known = self.0.subscribe();
        let is_other =
            |known: &Known| known.get(function).and_then(|found| found.as_ref().ok()) != Some(from);
        // The sender is there as long as this table.
        let _ = known.wait_for(is_other).await;
    }
}
