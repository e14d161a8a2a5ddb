//! Which function listens where, changed while calls are under way.

use std::{collections::BTreeSet, mem, sync::Arc};

use bridge_core::function::{Endpoints, FunctionEndpoint, FunctionFailure, NO_ACTIVE_REVISION};
use tokio::sync::watch;

use crate::news::{Changes, News};

/// Function -> endpoint, or why it has none that can be used. Clones are the same table: whoever knows sets it, a client reads it with each call.
#[derive(Debug, Clone, Default)]
pub struct EndpointTable(Arc<Table>);

#[derive(Debug, Default)]
struct Table {
    known: watch::Sender<Endpoints>,
    news: News,
}

impl EndpointTable {
    /// Replaces the table. Calls under way go on; those that wait for a place at a former endpoint go to the new one.
    pub fn set(&self, known: Endpoints) {
        let mut others = BTreeSet::new();
        self.0.known.send_modify(|now| {
            let before = mem::replace(now, known);
            let names = before.keys().chain(now.keys());
            let is_other = |name: &&String| before.get(*name) != now.get(*name);
            others.extend(names.filter(is_other).cloned());
        });
        self.publish(others.iter().map(String::as_str));
    }

    /// News from now on: of functions that listen elsewhere, and of those that answer again.
    pub(crate) fn changes(&self) -> Changes {
        self.0.news.subscribe()
    }

    pub(crate) fn publish<'a>(&self, functions: impl IntoIterator<Item = &'a str>) {
        self.0.news.publish(functions);
    }

    pub(crate) fn of(&self, function: &str) -> Result<FunctionEndpoint, FunctionFailure> {
        match self.0.known.borrow().get(function) {
            Some(Ok(endpoint)) => Ok(endpoint.clone()),
            Some(Err(why)) => Err(FunctionFailure::NoEndpoint(why.clone())),
            None => Err(FunctionFailure::NoEndpoint(NO_ACTIVE_REVISION.into())),
        }
    }

    /// All that are known.
    pub(crate) fn all(&self) -> Endpoints {
        self.0.known.borrow().clone()
    }

    /// Whether it has one that can be used.
    pub(crate) fn has(&self, function: &str) -> bool {
        matches!(self.0.known.borrow().get(function), Some(Ok(_)))
    }

    /// Ends when the function no longer listens there.
    pub(crate) async fn changed(&self, function: &str, from: &FunctionEndpoint) {
        let mut known = self.0.known.subscribe();
        let is_other =
            |known: &Endpoints| known.get(function).and_then(|found| found.as_ref().ok()) != Some(from);
        // The sender is there as long as this table.
        let _ = known.wait_for(is_other).await;
    }
}
