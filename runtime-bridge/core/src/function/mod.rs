//! Composition functions as the bridge calls them: requests, responses and failures, without a wire format.
//!
//! The contract is `apiextensions.fn.proto.v1`. JSON stands for what the contract has as `Struct`: the client turns one into the other.

mod addresses;
mod cache;
mod endpoint;
mod endpoint_sources;
mod failure;
mod hidden;
mod hold;
mod openapi;
mod package_status;
mod request;
mod response;

use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;

pub use self::{
    addresses::{Addresses, RESOLVE_EVERY},
    cache::{CACHE_BYTES, Cache, CacheKey, CacheRemovals, Hit},
    endpoint::{FunctionEndpoint, InvalidEndpoint},
    endpoint_sources::{ENDPOINT_ANNOTATION, Endpoints, NO_ACTIVE_REVISION, endpoints},
    failure::FunctionFailure,
    hidden::{HiddenMap, SecretData},
    hold::{Attempt, Availability, MISSES, Probe, Signal, Transition},
    openapi::schema_of_kind,
    package_status::{Health, Standing, status as package_status},
    request::{Observed, RunRequest},
    response::{
        Condition, ConditionStatus, DesiredState, Readiness, Requirements, ResourceMatch, ResourceSelector,
        ResultTarget, RunResponse, RunResult, SchemaSelector, Severity,
    },
};

/// One resource in a request or response.
#[derive(Clone, Default, PartialEq)]
pub struct Resource {
    /// The object; of a desired one only the fields that are desired.
    pub object: Value,
    /// Connection details: a secret, whatever the names.
    pub connection_details: SecretData,
    /// Whether it is ready; in requests unspecified.
    pub ready: Readiness,
}

impl Resource {
    /// An object with neither connection details nor a report of readiness.
    pub fn of(object: Value) -> Self {
        Self {
            object,
            ..Self::default()
        }
    }
}

/// Shows no content: an observed or desired Secret is an object as well.
impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |pointer| self.object.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        f.debug_struct("Resource")
            .field("apiVersion", &text("/apiVersion"))
            .field("kind", &text("/kind"))
            .field("name", &text("/metadata/name"))
            .field("ready", &self.ready)
            .finish_non_exhaustive()
    }
}

/// The functions that a process can call: the client implements it, a simulation may bring another.
#[async_trait]
pub trait Functions: Send + Sync + 'static {
    /// Calls a function by the name that compositions know it by.
    ///
    /// Waits for one of the function's places first. Nothing is sent at `deadline` or later. Dropping the future gives the place back; the function
    /// may go on with what it was asked, which has no effect.
    ///
    /// # Errors
    /// [`FunctionFailure`]: whatever keeps the response away. A response with a fatal result is none.
    async fn run(
        &self,
        function: &str,
        request: &RunRequest,
        deadline: Timestamp,
    ) -> Result<RunResponse, FunctionFailure>;
}
