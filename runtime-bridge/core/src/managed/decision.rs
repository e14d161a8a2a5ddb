//! What was decided: a value that prints.

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;

pub use crate::external::Call;
use crate::external::{DesiredState, Target, Verb};
use crate::reasons::Reason;

use super::{attempt::Attempt, last_observation::OwnLookUp, status::Status};

/// Annotations to set, and with `None` to remove.
pub type AnnotationChanges = BTreeMap<String, Option<String>>;

/// At most one thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision<A = Action> {
    /// Do it, take in what it brought, and decide again.
    Act(A),
    /// Nothing to do before this; `None`: before something changes.
    Rest(Rest),
}

/// When to come back.
#[derive(Debug, Clone, PartialEq)]
pub struct Rest {
    /// `None`: when something changes.
    pub wake: Option<Timestamp>,
    /// What for.
    pub purpose: Purpose,
}

impl Rest {
    /// Until then, if that is sooner: something is to be tried again.
    pub(super) fn or_retry_at(self, at: Timestamp) -> Self {
        match self.wake {
            Some(wake) if wake <= at => self,
            _ => Self {
                wake: Some(at),
                purpose: match self.purpose {
                    Purpose::Operation => Purpose::Operation,
                    Purpose::Drift | Purpose::Unsettled | Purpose::Retry => Purpose::Retry,
                },
            },
        }
    }

    /// Until something changes.
    pub const NEVER: Self = Self {
        wake: None,
        purpose: Purpose::Drift,
    };
}

/// What a later pass is for: it sets its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// An operation is to be polled, or a call to be settled.
    Operation,
    /// Drift is to be looked for. Nobody waits for it: it may come a little later, with others.
    Drift,
    /// It is not ready, or not seen as it is yet, and is observed again.
    Unsettled,
    /// Something failed.
    Retry,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Look at the external resource.
    Observe(Box<ObserveCall>),
    /// Read the object live: a call that needs no intent may follow only on the same resourceVersion.
    VerifyResourceVersion,
    /// Write metadata, guarded by resourceVersion.
    WriteMetadata(MetadataChange),
    /// Call the plugin. The result is persisted before anything else is done.
    Call(Box<Call>),
    /// Bring the connection details that the memory holds into the connection Secret, which costs nothing where they are there.
    Publish,
    /// Write the status, guarded by resourceVersion.
    WriteStatus(Box<StatusWrite>),
    /// Take our finalizer away; then tell what was left behind, if anything.
    RemoveFinalizer(Option<Event>),
}

/// A status to write.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusWrite {
    /// Whole.
    pub status: Status,
    /// The Delete that it records: it may be sent once this is written.
    pub allows: Option<Attempt>,
    /// To be told once it is written.
    pub events: Vec<Event>,
}

/// A look that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ObserveCall {
    /// With the name, or without one.
    pub target: Target,
    /// For comparison and derived names; to resolve a create after the spec was edited, the recorded parameters.
    pub desired: DesiredState,
    /// It goes by recorded parameters that are not today's.
    pub as_recorded: bool,
    /// It looks up a name that a person gave; this was observed before, and counts on.
    pub beside: Option<OwnLookUp>,
}

/// A change of metadata.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetadataChange {
    /// Why, for the log.
    pub why: &'static str,
    /// Put our finalizer on.
    pub add_finalizer: bool,
    /// Annotations to set, and with `None` to remove.
    pub annotations: AnnotationChanges,
    /// The intent that it records: its call may be sent once this is written.
    pub allows: Option<Attempt>,
    /// To be told once it is written.
    pub event: Option<Event>,
}

/// Something that a person would want to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// `Warning`, else `Normal`.
    pub warning: bool,
    /// PascalCase.
    pub reason: String,
    /// For people.
    pub message: String,
    /// The claim of a composite resource gets an event, too, with this message.
    pub on_claim: Option<String>,
}

impl Event {
    /// Something to worry about.
    pub fn warning(reason: impl Into<Reason>, message: &str) -> Self {
        Self {
            warning: true,
            reason: reason.into().into(),
            message: message.to_owned(),
            on_claim: None,
        }
    }

    /// Something that happened.
    pub fn normal(reason: impl Into<Reason>, message: &str) -> Self {
        Self {
            warning: false,
            reason: reason.into().into(),
            message: message.to_owned(),
            on_claim: None,
        }
    }

    /// Likewise on the claim, with a message of its own.
    #[must_use]
    pub fn with_claim(self, message: &str) -> Self {
        Self {
            on_claim: Some(message.to_owned()),
            ..self
        }
    }
}

impl Decision {
    /// With an event, where metadata is written.
    pub(super) fn telling(mut self, event: Option<Event>) -> Self {
        if let (Self::Act(Action::WriteMetadata(change)), Some(event)) = (&mut self, event) {
            change.event = Some(event);
        }
        self
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Act(action) => action.fmt(f),
            Self::Rest(Rest {
                wake: Some(wake),
                purpose,
            }) => write!(f, "rest until {wake} ({purpose:?})"),
            Self::Rest(Rest { wake: None, .. }) => f.write_str("rest until something changes"),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Observe(asked) => write!(f, "observe {:?}", asked.target.external_name),
            Self::VerifyResourceVersion => f.write_str("read live"),
            Self::WriteMetadata(change) => write!(f, "write metadata: {}", change.why),
            Self::Call(call) => match call.verb {
                Verb::Create => write!(
                    f,
                    "create {:?} attempt {}",
                    call.target.external_name, call.attempt
                ),
                verb => write!(
                    f,
                    "{} {:?}",
                    format!("{verb:?}").to_lowercase(),
                    call.target.external_name
                ),
            },
            Self::Publish => f.write_str("publish connection details"),
            Self::WriteStatus(write) => {
                f.write_str("write status:")?;
                write
                    .status
                    .conditions
                    .iter()
                    .try_for_each(|one| write!(f, " {}={}/{}", one.kind, one.status, one.reason))
            }
            Self::RemoveFinalizer(_) => f.write_str("remove the finalizer"),
        }
    }
}
