//! The proxy before moto: one endpoint for all services, through faults and behaviors.

mod admin;
mod forward;
mod server;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use http::request::Parts;

use crate::Options;
use crate::behaviors::{Behaviors, Interception, Request};
use crate::call::Call;
use crate::calls::Calls;
use crate::fault::{Faults, Handling};
use crate::reply::{AwsError, Reply};
use crate::service::Service;

pub(crate) use forward::Upstream;
pub(crate) use server::serve;

/// Why a client gets no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// The proxy closes the connection without an answer.
    #[error("the connection is cut, as a fault asks for")]
    Cut,
    /// Nothing comes until the client gives up.
    #[error("there is silence, as a fault asks for")]
    Silence,
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) calls: Calls,
    pub(crate) faults: Faults,
    pub(crate) behaviors: Mutex<Behaviors>,
    upstream: Upstream,
    service_locks: ServiceLocks,
}

/// A lock for each service whose calls come one at a time.
#[derive(Debug, Default)]
struct ServiceLocks(Mutex<BTreeMap<Service, Arc<tokio::sync::Mutex<()>>>>);

impl ServiceLocks {
    async fn of(&self, service: Service) -> Option<tokio::sync::OwnedMutexGuard<()>> {
        if !Behaviors::are_serial(service) {
            return None;
        }
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(locks.entry(service).or_default())
        };
        Some(lock.lock_owned().await)
    }
}

impl Proxy {
    pub(crate) fn new(upstream: Upstream, options: &Options) -> Self {
        Self {
            calls: Calls::default(),
            faults: Faults::default(),
            behaviors: Mutex::new(Behaviors::new(options)),
            upstream,
            service_locks: ServiceLocks::default(),
        }
    }

    pub(crate) fn with_behaviors<T>(&self, work: impl FnOnce(&mut Behaviors) -> T) -> T {
        work(&mut self.behaviors.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers one AWS call. Runs to its end even if the client has gone, as AWS does.
    pub(crate) async fn answer(&self, parts: Parts, body: Bytes) -> Result<Reply, NoAnswer> {
        let call = Call::identify(&parts.method, &parts.uri, &parts.headers, &body);
        self.calls.count(&call);
        let handling = Handling::of(self.faults.apply(&call), call.service);
        match handling {
            Handling::Refused(error) => return Ok(error.render(call.service)),
            Handling::Cut => return Err(NoAnswer::Cut),
            Handling::Silent => return Err(NoAnswer::Silence),
            Handling::Late(time) => tokio::time::sleep(time).await,
            Handling::Clear | Handling::AnswerCut | Handling::AnswerSilent => {}
        }
        let reply = self.call_with_behaviors(&call, parts, body).await;
        match handling {
            Handling::AnswerCut => Err(NoAnswer::Cut),
            Handling::AnswerSilent => Err(NoAnswer::Silence),
            _ => Ok(reply),
        }
    }

    async fn call_with_behaviors(&self, call: &Call, parts: Parts, body: Bytes) -> Reply {
        let _turn = self.service_locks.of(call.service).await;
        let headers = parts.headers.clone();
        let sent = body.clone();
        let request = |now| Request {
            call,
            headers: &headers,
            body: &sent,
            now,
        };
        match self.with_behaviors(|behaviors| behaviors.before(&request(Instant::now()))) {
            Some(Interception::Refuse(error)) => return error.render(call.service),
            Some(Interception::Answer(reply)) => return reply,
            None => {}
        }
        let mut reply = match self.upstream.forward(parts, body).await {
            Ok(reply) => reply,
            Err(error) => {
                let message = format!("aws-emulator: moto did not answer: {error}");
                return AwsError::new(http::StatusCode::BAD_GATEWAY, "EmulatorBroken", message)
                    .render(call.service);
            }
        };
        self.with_behaviors(|behaviors| behaviors.after(&request(Instant::now()), &mut reply));
        reply
    }
}
