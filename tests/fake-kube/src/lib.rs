//! An API server in the process, as a tower service for [`kube::Client`]: for virtual time, and for faults that a real one shows once a year.
//!
//! [`state::ClusterState`] is what etcd and the API server know; it is plain, and outlives every client. [`Kube`] is a handle on it, and
//! [`Kube::client`] a client whose requests meet the [`fault::Chaos`] that was given.
//!
//! What it leaves out, on purpose: of schemas patterns, formats and CEL, of `managedFields` versions and lists with keys but for those of
//! `metadata`, who may do what, admission but for what namespaces are about and for policies that refuse deletions by a label, API servers behind this one, and the checks of built-in kinds. A verb that it does not know is answered by 501, which no client takes for
//! something else. `tests/contract.rs` and `tests/differential.rs` run against it and against a real kube-apiserver.

mod admission;
mod api;
mod collector;
mod discovery;
pub mod fault;
mod metadata;
mod owners;
mod reply;
pub mod resource;
mod schema;
mod service;
pub mod state;
mod watch;

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, header};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use tokio::sync::Notify;

use crate::{fault::Chaos, service::Connection, state::ClusterState};

/// The clock of the API server; a simulation passes virtual time.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A handle on one API server.
#[derive(Clone)]
pub struct Kube {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    state: Mutex<ClusterState>,
    /// Something was committed, or watches are to end.
    changed: Notify,
    now: Now,
}

impl Kube {
    /// An API server with the namespaces `default` and `kube-system`.
    pub fn new(now: Now) -> Self {
        let mut state = ClusterState::default();
        for name in ["default", "kube-system"] {
            state.add_namespace(name, (now)());
        }
        state.follow_services((now)());
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                changed: Notify::new(),
                now,
            }),
        }
    }

    /// A client whose requests meet this chaos. Needs a tokio runtime.
    pub fn client(&self, chaos: Arc<dyn Chaos>) -> kube::Client {
        kube::Client::new(Connection::new(Arc::clone(&self.shared), chaos), "default")
    }

    /// One request past all chaos: the code and the body of its answer. A patch is a merge patch; a new object need not hold its kind.
    pub fn request(&self, method: &Method, path: &str, body: &Value) -> (u16, Value) {
        let bytes = if body.is_null() {
            Bytes::new()
        } else {
            Bytes::from(body.to_string())
        };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/merge-patch+json")
            .body(());
        let Ok(request) = request else {
            return (400, Value::Null);
        };
        let reply = match api::read(&request.into_parts().0, &bytes) {
            Ok(call) => {
                let now = self.now();
                let mut state = self.state();
                let served = state.served();
                match served.iter().find(|resource| call.is_of(resource)) {
                    Some(resource) => api::carry_out(&mut state, resource, &call.completed(resource), now),
                    None => reply::not_served().into(),
                }
            }
            Err(refusal) => refusal.into(),
        };
        match reply.body {
            reply::Body::Json(body) => (reply.code, body),
            reply::Body::Text(_) => (reply.code, Value::Null),
        }
    }

    /// Reads or changes the state past all chaos. Watches notice what was changed.
    pub fn state(&self) -> StateGuard<'_> {
        StateGuard {
            guard: Some(self.shared.state.lock()),
            changed: &self.shared.changed,
        }
    }

    /// The present time of its clock.
    pub fn now(&self) -> Timestamp {
        (self.shared.now)()
    }
}

/// The state, locked. Watches are notified when it is dropped.
pub struct StateGuard<'a> {
    guard: Option<MutexGuard<'a, ClusterState>>,
    changed: &'a Notify,
}

impl std::ops::Deref for StateGuard<'_> {
    type Target = ClusterState;

    #[allow(clippy::expect_used)] // It is taken in drop only.
    fn deref(&self) -> &ClusterState {
        self.guard.as_ref().expect("held until it is dropped")
    }
}

impl std::ops::DerefMut for StateGuard<'_> {
    #[allow(clippy::expect_used)] // It is taken in drop only.
    fn deref_mut(&mut self) -> &mut ClusterState {
        self.guard.as_mut().expect("held until it is dropped")
    }
}

impl Drop for StateGuard<'_> {
    fn drop(&mut self) {
        self.guard = None;
        self.changed.notify_waiters();
    }
}
