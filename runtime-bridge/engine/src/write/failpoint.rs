//! Points right before and right after each write, at which a test halts a reconcile so that the process can be killed there. In the binary
//! that is shipped nothing waits at them: see `tests/crash-matrix`.

use std::sync::OnceLock;

use futures::future::BoxFuture;

pub use crate::managed::failpoint::Side;

static HALT: OnceLock<Halt> = OnceLock::new();

/// Is awaited at each point: the write, or what follows it, goes on when it is done.
pub type Halt = fn(Point) -> BoxFuture<'static, ()>;

/// A write, and which side of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Before or after it.
    pub side: Side,
    /// `create`, `update`, `patch`, `apply`, `delete`.
    pub verb: &'static str,
    /// Plural of the kind, followed by `/status` for the status.
    pub resource: String,
    /// Path and query of the request.
    pub path: String,
    /// What is sent.
    pub body: Vec<u8>,
}

/// From here on every write of this process awaits this on both sides. Only the first that is set counts.
pub fn set_write_handler(halt: Halt) {
    let _ = HALT.set(halt);
}

/// One write's points; nothing in a process without a handler.
pub(super) struct Failpoint(Option<(Halt, Point)>);

impl Failpoint {
    pub fn of(verb: &'static str, plural: &str, path: &str, body: &[u8]) -> Self {
        Self(HALT.get().map(|halt| {
            let is_status = path
                .split('?')
                .next()
                .is_some_and(|path| path.ends_with("/status"));
            let point = Point {
                side: Side::Before,
                verb,
                resource: format!("{plural}{}", if is_status { "/status" } else { "" }),
                path: path.to_owned(),
                body: body.to_vec(),
            };
            (*halt, point)
        }))
    }

    pub async fn reach(&self, side: Side) {
        let Some((halt, point)) = &self.0 else { return };
        halt(Point {
            side,
            ..point.clone()
        })
        .await;
    }
}
