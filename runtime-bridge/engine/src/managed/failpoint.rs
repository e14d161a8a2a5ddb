//! Named points right before and right after each write and each call, at which a test halts a pass so that the process can be killed
//! there. In the binary that is shipped nothing waits at them: see `tests/crash-matrix`.

use std::sync::OnceLock;

use futures::future::BoxFuture;

use crate::object::Object;

static HALT: OnceLock<Halt> = OnceLock::new();

/// Is awaited at each point: the pass goes on when it is done.
pub type Halt = fn(Point) -> BoxFuture<'static, ()>;

/// Where a pass is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Before or after what it does.
    pub side: Side,
    /// What it does: `intent`, `create`, `persist` and so on.
    pub what: &'static str,
    /// `namespace/name` of the object; nothing before the slash if it has no namespace.
    pub object: String,
    /// Its `metadata.generation`.
    pub generation: i64,
    /// It is being deleted.
    pub deleting: bool,
}

/// Before or after what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Right before it.
    Before,
    /// Right after it.
    After,
}

/// From here on every pass of this process awaits this at each point. Only the first that is set counts.
pub fn set_failpoint_handler(halt: Halt) {
    let _ = HALT.set(halt);
}

/// This object's pass is here.
pub(super) async fn reach(side: Side, what: &'static str, object: &Object) {
    let Some(halt) = HALT.get() else { return };
    halt(Point {
        side,
        what,
        object: format!("{}/{}", object.namespace().unwrap_or_default(), object.name()),
        generation: object.generation(),
        deleting: object.is_deleting(),
    })
    .await;
}
