//! What a plugin can answer.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CallError, Document, Failure, Secrets};

/// The answer to a look, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Look {
    /// It exists.
    Found(Box<Observation>),
    /// The upstream said that there is no such resource.
    Absent(Absent),
    /// The look failed: nobody knows.
    Failed(Failure),
}

/// The answer to a call that changes something, or to a poll.
pub type Answer = Result<Outcome, CallError>;

/// An external resource that exists, as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The name under which it was found.
    pub external_name: String,
    /// Globally unique id; empty: not told.
    pub canonical_id: String,
    /// Replaces the recorded state; empty keeps it.
    pub provider_state: String,
    /// Same shape as desired parameters, without sensitive values.
    pub parameters: Document,
    /// Goes to `status.atProvider`.
    pub status: Option<Document>,
    /// Usable by others.
    pub ready: bool,
    /// Why not.
    pub ready_message: String,
    /// Set in the plugin's own diff mode.
    pub up_to_date: Option<bool>,
    /// What differs, in the plugin's own diff mode.
    pub diffs: Vec<FieldDiff>,
    /// For the connection Secret.
    pub connection_details: Secrets,
    /// Upstream version; empty: none.
    pub etag: String,
    /// Removal has begun upstream and goes on by itself.
    pub deleting: bool,
    /// An operation that the bridge may not know of.
    pub operation: Option<Operation>,
    /// Empty where the kind holds one: nobody has claimed it.
    pub found_marker: String,
    /// Look again no sooner than this.
    pub observe_after: Option<Duration>,
    /// Worth an event.
    pub warnings: Vec<Warning>,
}

/// The upstream said that there is no such resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Absent {
    /// The name that it would have; set where names are derived.
    pub external_name: String,
}

/// One difference between wish and fact. Values of sensitive paths are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldDiff {
    /// JSON Pointer into the parameters.
    pub path: String,
    /// What is wished; `None`: left out.
    pub desired: Option<serde_json::Value>,
    /// What is; `None`: absent or left out.
    pub observed: Option<serde_json::Value>,
    /// Cannot be changed in place.
    pub needs_replacement: bool,
}

/// Not an error, worth an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// PascalCase, stable.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// How a call that changes something ended, or goes on. The name counts whatever the result is.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Empty: not known yet.
    pub external_name: String,
    /// Empty: not told.
    pub canonical_id: String,
    /// Empty keeps the recorded one.
    pub provider_state: String,
    /// For the connection Secret.
    pub connection_details: Secrets,
    /// Worth an event.
    pub warnings: Vec<Warning>,
    /// Exactly one.
    pub result: OutcomeResult,
}

/// The three ways a call can have fared.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeResult {
    /// Finished and verified.
    Completed(Box<Completed>),
    /// Under way.
    Operation(Operation),
    /// Refused.
    Failure(Failure),
}

/// Finished.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Completed {
    /// Saves a read. Its name, id, state and details are the outcome's.
    pub observation: Option<Observation>,
    /// Delete found nothing, or Create found its own earlier work.
    pub already_done: bool,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum OperationVerb {
    Create,
    Update,
    Delete,
}

/// Work upstream that outlasts a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Opaque, at most 4 KiB.
    pub handle: String,
    /// What it does.
    pub verb: OperationVerb,
    /// Polls after this may find it expired.
    pub expire_time: Option<Timestamp>,
    /// Earliest next poll.
    pub poll_after: Option<Duration>,
    /// 0 to 100.
    pub progress_percent: Option<u8>,
    /// PascalCase step; empty: not told.
    pub phase: String,
    /// For people; empty: nothing to say.
    pub message: String,
    /// It moves only when polled.
    pub poll_driven: bool,
    /// The upstream's own id; empty: none.
    pub upstream_operation_id: String,
}
