//! What may become of one request.

use std::{fmt, time::Duration};

/// A request, as far as its outcome may depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, or `version`.
    pub verb: &'static str,
    /// The plural of the resource, as in the path.
    pub resource: String,
    /// `status` or another subresource; empty: the object itself.
    pub subresource: String,
    /// Empty where there is none.
    pub namespace: String,
    /// The object's name; empty for a list or a creation.
    pub name: String,
    /// A deletion of the object with this uid alone.
    pub names_uid: bool,
    /// A deletion of this version of it alone.
    pub names_version: bool,
    /// The revision of the API server when it was sent: its sender cannot know of what came later.
    pub revision: u64,
}

impl Request {
    /// Whether it may change an object.
    pub fn writes(&self) -> bool {
        matches!(self.verb, "create" | "update" | "patch" | "delete")
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        if self.name.is_empty() {
            return Ok(());
        }
        if self.namespace.is_empty() {
            write!(f, " {}", self.name)
        } else {
            write!(f, " {}/{}", self.namespace, self.name)
        }
    }
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Outcome {
    /// It is served as without a fault.
    #[default]
    Serve,
    /// The connection breaks before it gets there.
    BreakBefore,
    /// It is carried out, and the connection breaks before the answer.
    BreakAfter,
    /// It never gets there, and is never answered.
    HangBefore,
    /// It is carried out, and is never answered.
    HangAfter,
    /// 503, and nothing was done.
    Unavailable,
    /// It is never answered, and is carried out so many seconds later, though its caller no longer waits.
    Late(u32),
    /// A list for which any version will do is as it was so many commits ago.
    Stale(u32),
    /// 500, and it was done all the same.
    ErrorAfter,
    /// 409, and nothing was done.
    Conflict,
    /// 410: the version is too old.
    Gone,
    /// 422, and nothing was done.
    Invalid,
    /// 429: come back after so many seconds.
    Throttle(u32),
}

/// The outcome of a request, and its delays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestOutcome {
    /// On its way there.
    pub before: Duration,
    /// What becomes of it.
    pub outcome: Outcome,
    /// On the way back.
    pub after: Duration,
}

/// What becomes of the events of a watch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Telling {
    /// News come so much later.
    pub late: Duration,
    /// The first of them is sent twice.
    pub twice: bool,
    /// The watch ends instead.
    pub cut: bool,
}

/// Decides the outcome of requests, and receives what happens.
pub trait Chaos: Send + Sync + 'static {
    /// What becomes of this request.
    fn fate(&self, _request: &Request) -> RequestOutcome {
        RequestOutcome::default()
    }

    /// What becomes of news of this resource.
    fn telling(&self, _resource: &str) -> Telling {
        Telling::default()
    }

    /// A watch of this resource was opened, or has ended.
    fn watching(&self, _resource: &str, _opened: bool) {}

    /// A request was carried out, or rejected, with this code.
    fn served(&self, _request: &Request, _code: u16) {}

    /// While it is closed nothing comes and goes, as if the process were stopped.
    fn closed(&self) -> bool {
        false
    }
}

/// Chaos that serves every request as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Calm;

impl Chaos for Calm {}
