//! Answers of `Observe`: an observation, or absence.

use std::{fmt, time::Duration};

use crossbridge_types::{Secrets, Warning};

use super::Operation;
use crate::document::Documents;

/// The answer to an Observe that could read the upstream.
pub enum Observed<R: Documents> {
    /// The resource exists, as described.
    Found(Box<Observation<R>>),
    /// The upstream said that there is no such resource.
    Absent {
        /// The name that it would have; empty, save where names are derived.
        external_name: String,
    },
}

impl<R: Documents> Observed<R> {
    /// Answers that the resource exists, as described.
    pub fn found(observation: Observation<R>) -> Self {
        Self::Found(Box::new(observation))
    }

    /// The upstream said that there is no such resource.
    pub fn absent() -> Self {
        Self::Absent {
            external_name: String::new(),
        }
    }

    /// The same, for a kind whose names are derived: the name that it would have.
    pub fn absent_as(external_name: impl Into<String>) -> Self {
        Self::Absent {
            external_name: external_name.into(),
        }
    }
}

impl<R: Documents> From<Observation<R>> for Observed<R> {
    fn from(observation: Observation<R>) -> Self {
        Self::found(observation)
    }
}

/// An external resource that exists, as it is. Not ready until [`ready`](Self::ready) is said.
#[must_use]
pub struct Observation<R: Documents> {
    pub(crate) external_name: String,
    pub(crate) parameters: R::Parameters,
    pub(crate) status: Option<R::Status>,
    pub(crate) canonical_id: String,
    pub(crate) provider_state: String,
    pub(crate) ready: bool,
    pub(crate) ready_message: String,
    pub(crate) up_to_date: Option<bool>,
    pub(crate) diffs: Vec<Diff>,
    pub(crate) connection_details: Secrets,
    pub(crate) etag: String,
    pub(crate) deleting: bool,
    pub(crate) operation: Option<Operation>,
    pub(crate) found_marker: String,
    pub(crate) observe_after: Option<Duration>,
    pub(crate) warnings: Vec<Warning>,
}

#[derive(Debug, Clone)]
pub(crate) struct Diff {
    pub(crate) path: String,
    pub(crate) needs_replacement: bool,
}

impl<R: Documents> Observation<R> {
    /// What was found under this name, in the shape of the desired parameters. Sensitive fields and nulls are left out by the SDK.
    pub fn new(external_name: impl Into<String>, parameters: R::Parameters) -> Self {
        Self {
            external_name: external_name.into(),
            parameters,
            status: None,
            canonical_id: String::new(),
            provider_state: String::new(),
            ready: false,
            ready_message: String::new(),
            up_to_date: None,
            diffs: Vec::new(),
            connection_details: Secrets::default(),
            etag: String::new(),
            deleting: false,
            operation: None,
            found_marker: String::new(),
            observe_after: None,
            warnings: Vec::new(),
        }
    }

    /// What is only observed.
    pub fn status(mut self, status: R::Status) -> Self {
        self.status = Some(status);
        self
    }

    /// Others can use it.
    pub fn ready(mut self) -> Self {
        self.ready = true;
        self.ready_message.clear();
        self
    }

    /// Others cannot use it yet, and why.
    pub fn not_ready(mut self, why: impl Into<String>) -> Self {
        self.ready = false;
        self.ready_message = why.into();
        self
    }

    /// Globally unique id (ARN, self link), to catch two owners of one thing.
    pub fn canonical_id(mut self, id: impl Into<String>) -> Self {
        self.canonical_id = id.into();
        self
    }

    /// To be handed back on every later call. At most 4 KiB, no secrets. Unset keeps the former one.
    pub fn provider_state(mut self, state: impl Into<String>) -> Self {
        self.provider_state = state.into();
        self
    }

    /// The upstream's version of the resource, to be handed back on update and delete.
    pub fn etag(mut self, etag: impl Into<String>) -> Self {
        self.etag = etag.into();
        self
    }

    /// The marker found on it; empty where no owner has claimed it. If it cannot be read, answer a failure instead.
    pub fn found_marker(mut self, marker: impl Into<String>) -> Self {
        self.found_marker = marker.into();
        self
    }

    /// Removal has begun upstream and goes on by itself.
    pub fn deleting(mut self) -> Self {
        self.deleting = true;
        self
    }

    /// An operation was found running.
    pub fn operation(mut self, operation: Operation) -> Self {
        self.operation = Some(operation);
        self
    }

    /// A key for the connection Secret. One that is not given stays as it was published.
    pub fn connection(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.connection_details.0.insert(key.into(), value.into());
        self
    }

    /// Observe again no sooner than this; the bridge takes more than an hour for an hour.
    pub fn observe_after(mut self, after: Duration) -> Self {
        self.observe_after = Some(after);
        self
    }

    /// Where the plugin compares ([`Kind::plugin_compares`](crate::Kind::plugin_compares)): observed and desired state agree.
    pub fn up_to_date(mut self) -> Self {
        self.up_to_date = Some(true);
        self
    }

    /// Where the plugin compares: this field differs. Once for each.
    pub fn differs(mut self, pointer: impl Into<String>, needs_replacement: bool) -> Self {
        self.up_to_date = Some(false);
        self.diffs.push(Diff {
            path: pointer.into(),
            needs_replacement,
        });
        self
    }

    /// Worth an event: a stable reason in `PascalCase`, and a sentence.
    pub fn warning(mut self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.warnings.push(Warning {
            reason: reason.into(),
            message: message.into(),
        });
        self
    }
}

impl<R: Documents> fmt::Debug for Observed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(observation) => observation.fmt(f),
            Self::Absent { external_name } => f
                .debug_struct("Absent")
                .field("external_name", external_name)
                .finish(),
        }
    }
}

/// The documents are left out: their types need no `Debug`, and may hold what no log should show.
impl<R: Documents> fmt::Debug for Observation<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observation")
            .field("external_name", &self.external_name)
            .field("ready", &self.ready)
            .field("ready_message", &self.ready_message)
            .field("etag", &self.etag)
            .field("deleting", &self.deleting)
            .field("found_marker", &self.found_marker)
            .field("operation", &self.operation)
            .field("connection_details", &self.connection_details)
            .finish_non_exhaustive()
    }
}
