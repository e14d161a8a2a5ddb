//! Compositions as a process serves them: their flags, the CRDs they need, and where functions listen.

mod args;
mod definitions;
mod endpoints;

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::function::FunctionEndpoint;
use bridge_function::{Client, EndpointTable};

pub use self::{
    args::{CompositionArgs, NamedEndpoint},
    definitions::install,
    endpoints::EndpointSources,
};

/// How functions are reached.
pub struct Compositions {
    /// By name: where functions listen, whatever the cluster says.
    pub flags: BTreeMap<String, FunctionEndpoint>,
    /// What the client reads, and the process sets.
    pub endpoints: EndpointTable,
    /// The client.
    pub client: Arc<Client>,
}
