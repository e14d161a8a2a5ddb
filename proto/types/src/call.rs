//! The calls about one resource, from the decision to send one to the wire, and from the wire to a plugin's code.

use jiff::Timestamp;

use crate::{DesiredState, OperationVerb, Target, Violation, check};

/// A call that a plugin serves for one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Reads, and changes nothing.
    Observe,
    /// Creates the resource, or begins an operation that does.
    Create,
    /// Changes the resource in place, never creates it.
    Update,
    /// Deletes the resource; an absent one is success.
    Delete,
    /// Polls an operation that an earlier call began.
    Poll,
}

/// A request to observe one resource.
#[derive(Debug, Clone, PartialEq)]
pub struct Observe {
    /// With an external name, or to be found by derived name or marker.
    pub target: Target,
    /// The desired state, for comparison and for derived names; may be incomplete.
    pub desired: DesiredState,
}

/// A call that may change something: the same value where it is decided, where it is sent and where it is served.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Create, Update, Delete or Poll.
    pub verb: Verb,
    /// The resource that the call is about: type, config, owner, name.
    pub target: Target,
    /// The desired state; in a Create the recorded parameters. In a Delete or Poll it may be incomplete.
    pub desired: DesiredState,
    /// The absolute time after which no process sends the call.
    pub deadline: Timestamp,
    /// Client request token of the recorded intent that it carries out; empty: it has none.
    pub token: String,
    /// The attempt of that intent. Not sent.
    pub attempt: u32,
    /// Of a Create: an earlier call with this token may have had an effect.
    pub outcome_unknown: bool,
    /// Of an Update: JSON Pointers of what differs; empty where the plugin compares.
    pub changed_paths: Vec<String>,
    /// Of an Update or Delete: from the last observation; empty: none.
    pub etag: String,
    /// Of a Poll: the operation's handle, as stored.
    pub handle: String,
    /// Of a Poll: what the operation does. Not sent.
    pub operation: Option<OperationVerb>,
    /// Keyed digest of the sensitive values that an Update applies; of a Poll, those that its operation applies, if that is known. Not sent.
    pub sensitive_digest: Option<String>,
}

impl Call {
    /// A call without anything that only one verb has.
    pub fn new(verb: Verb, target: Target, desired: DesiredState, deadline: Timestamp) -> Self {
        Self {
            verb,
            target,
            desired,
            deadline,
            token: String::new(),
            attempt: 0,
            outcome_unknown: false,
            changed_paths: Vec::new(),
            etag: String::new(),
            handle: String::new(),
            operation: None,
            sensitive_digest: None,
        }
    }

    /// What the call itself does upstream; `None`: it follows an operation, which may be of any verb.
    pub fn operation_verb(&self) -> Option<OperationVerb> {
        match self.verb {
            Verb::Create => Some(OperationVerb::Create),
            Verb::Update => Some(OperationVerb::Update),
            Verb::Delete => Some(OperationVerb::Delete),
            Verb::Poll | Verb::Observe => None,
        }
    }

    /// Checks what the call's verb requires.
    ///
    /// # Errors
    /// The first field that is missing or out of form, by its path in the request of that verb.
    pub fn check(&self) -> Result<(), Violation> {
        match self.verb {
            Verb::Create => check::uuid(&self.token, "client_request_token"),
            Verb::Update => {
                check::required(&self.target.external_name, "target.external_name")?;
                check::each(&self.changed_paths, "changed_paths", |path| {
                    check::pointer(path, "")
                })
            }
            Verb::Delete => check::required(&self.target.external_name, "target.external_name"),
            Verb::Poll => {
                check::required(&self.handle, "handle")?;
                check::at_most(&self.handle, check::STATE_LIMIT, "handle")
            }
            Verb::Observe => Ok(()),
        }
    }
}
