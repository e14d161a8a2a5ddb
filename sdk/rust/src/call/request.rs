//! What each call carries beside its context.

use serde_json::{Map, Value};

use crate::{Desired, Known};

/// A request to create one resource.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Create<P> {
    /// The parameters and sensitive values to create it with.
    pub desired: Desired<P>,
    /// A UUID, the same for each repeat of this creation. Hand it to the upstream where it takes one.
    pub client_request_token: String,
    /// The bridge does not know how an earlier call with this token ended: search by token, name or marker first.
    pub outcome_unknown: bool,
}

/// A request to change one resource in place.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Update<P> {
    /// What it should become.
    pub desired: Desired<P>,
    /// JSON Pointers that the bridge found to differ: a hint. Empty where the plugin compares.
    pub changed_paths: Vec<String>,
    /// From the last observation; empty: none. Does it no longer hold: [`ensure_etag`](Self::ensure_etag).
    pub etag: String,
}

/// A request to delete one resource.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Delete<P> {
    /// The last known desired state, perhaps incomplete: see [`Known`].
    pub desired: Known<P>,
    /// From the last observation; empty: none. Does it no longer hold: [`ensure_etag`](Self::ensure_etag).
    pub etag: String,
}

/// A request to poll an operation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Poll<P> {
    /// As this plugin returned it, perhaps in an earlier version.
    pub handle: String,
    /// Today's desired state, which may be newer than the operation.
    pub desired: Known<P>,
}

/// A request for one page of the external resources that exist.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct List {
    /// Valid by the kind's filter schema.
    pub filter: Map<String, Value>,
    /// At most this many; 0: the plugin's choice.
    pub page_size: usize,
    /// The token from the page before; empty: the first page.
    pub page_token: String,
    /// Fill in the parameters of each item.
    pub include_parameters: bool,
}
