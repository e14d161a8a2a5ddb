//! The engine's state as one value, for `/debug/state` and for tests.

use bridge_core::queue::Counts;
use serde::Serialize;

use crate::{
    dispatch::InFlight,
    watch::{KindWatch, WatchState},
};

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineState {
    /// `gitVersion` of the API server.
    pub server_version: String,
    /// Passes may begin: this process leads.
    pub dispatching: bool,
    /// The watch of CRDs.
    pub definitions: WatchState,
    /// What is known of kinds without a definition; `None`: nothing needs it.
    pub discovery: Option<WatchState>,
    /// Every kind that is served or watched.
    pub kinds: Vec<KindState>,
    /// Kinds that stored objects need to be watched, each with its version.
    pub needs: Vec<String>,
    /// Passes that run.
    pub in_flight: Vec<InFlight>,
    /// The last plan that started or stopped a watch.
    pub last_plan: Vec<String>,
}

/// One kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindState {
    /// Its watch.
    #[serde(flatten)]
    pub watch: KindWatch,
    /// Its objects are given their turns here; else it is watched for those that depend on it.
    pub served: bool,
    /// A user has defined its type: what is wrong with that makes its own objects wait, and nothing else.
    pub of_user: bool,
    /// Objects in the store.
    pub objects: usize,
    /// Its part of the queue.
    pub queue: Counts,
}
