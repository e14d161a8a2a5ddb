//! Compositions as a process serves them: their flags, the CRDs they need, and where functions listen.

mod args;
mod definitions;
mod deletion_args;
mod endpoints;
mod function_status;
mod other_core;
mod usage_guard;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bridge_core::{composite::CircuitSettings, function::FunctionEndpoint};
use bridge_function::{Client, EndpointTable, FunctionMetrics};

pub use self::{
    args::{CompositionArgs, NamedEndpoint},
    definitions::install,
    endpoints::EndpointSources,
    function_status::report_functions,
    other_core::{Obstacle, OtherCore},
    usage_guard::{GuardChoice, UsageGuardArgs},
};

/// How functions are reached.
pub struct Compositions {
    /// By name: where functions listen, whatever the cluster says.
    pub flags: BTreeMap<String, FunctionEndpoint>,
    /// What the client reads, and the process sets.
    pub endpoints: EndpointTable,
    /// The client.
    pub client: Arc<Client>,
    /// What the client counts.
    pub metrics: FunctionMetrics,
    /// After so long a deletion is overdue.
    pub deletion_deadline: Duration,
    /// Composite resources and claims do not stay until what they made is gone.
    pub vanishing_parents: bool,
    /// Revisions of a composition that are kept though nothing refers to them; 0: all.
    pub revision_history_limit: usize,
    /// Resources that one composite resource may compose.
    pub max_composed: usize,
    /// So long before the end of its usage a refused deletion may have come that is repeated.
    pub replay_window: Duration,
    /// The budget of each composite resource.
    pub circuit: CircuitSettings,
    /// What refuses deletions of what is in use.
    pub guard: GuardChoice,
    /// The bridge's own namespace.
    pub namespace: String,
    /// Namespace of Crossplane's core, beside which nothing is served; `None`: it does not matter.
    pub unless_crossplane_in: Option<String>,
}
