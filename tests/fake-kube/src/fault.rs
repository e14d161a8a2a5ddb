//! What may become of one request.

use std::{fmt, time::Duration};

/// A request, as far as its fate may depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, or `version`.
    pub verb: &'static str,
    /// Plural.
    pub resource: String,
    /// `status`, or empty.
    pub subresource: String,
    /// Empty where there is none.
    pub namespace: String,
    /// Likewise.
    pub name: String,
}

impl Request {
    /// It changes something.
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
    /// It is served.
    #[default]
    Serve,
    /// The connection breaks before it gets there.
    BreakBefore,
    /// It is carried out, and the connection breaks before the answer.
    BreakAfter,
    /// It never gets there, and nobody answers.
    HangBefore,
    /// It is carried out, and nobody answers.
    HangAfter,
    /// 503, and nothing was done.
    Unavailable,
    /// Nobody answers, and it is carried out so many seconds later, though nobody waits any more.
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

/// The fate of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestOutcome {
    /// On its way there.
    pub before: Duration,
    /// What becomes of it.
    pub outcome: Outcome,
    /// On the way back.
    pub after: Duration,
}

/// What becomes of what a watch tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Telling {
    /// News come so much later.
    pub late: Duration,
    /// The first of them is told twice.
    pub twice: bool,
    /// The watch ends instead.
    pub cut: bool,
}

/// Decides the fate of requests, and is told what happens.
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

    /// A request was carried out, or refused, with this code.
    fn served(&self, _request: &Request, _code: u16) {}

    /// While it is closed nothing comes and goes, as if the process were stopped.
    fn closed(&self) -> bool {
        false
    }
}

/// Nothing goes wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct Calm;

impl Chaos for Calm {}
