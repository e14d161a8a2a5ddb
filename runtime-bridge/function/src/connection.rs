//! One function at one endpoint: its channels, its places, the version that it serves, whether it answers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bridge_core::function::{FunctionEndpoint, FunctionFailure};
use bridge_transport::{Guarded, LargeAnswer, LargeAnswers, Now, Route, status};
use function_proto::{RUN_FUNCTION, RUN_FUNCTION_V1BETA1, v1::RunFunctionResponse};
use http::uri::PathAndQuery;
use jiff::Timestamp;
use tokio::time::timeout;
use tonic::{Code, Request, Status, client::Grpc};

use crate::{
    attempt::Watched,
    codec::RequestCodec,
    encode::{EncodedRequest, MAX_MESSAGE_BYTES},
    failure,
    places::Places,
};

/// Calls of one function that may be under way at once.
pub const PLACES: usize = 16;

/// How long a function may take for one call.
pub const CALL_TIMEOUT: Duration = Duration::from_mins(1);

/// What frames the longest response, in bytes.
const FRAMES: usize = 64 << 10;

/// A response of more than this is a large one, in bytes: as much as a function may send before anything is read.
const LARGE: usize = 256 << 10;

/// Large responses of one function that are received and read at once. Not of all functions together: one that stops in the middle of its responses
/// would keep the others waiting.
const LARGE_AT_ONCE: usize = 4;

pub(crate) struct Connection {
    pub(crate) endpoint: FunctionEndpoint,
    route: Route,
    /// Another endpoint has places of its own.
    pub(crate) places: Places,
    pub(crate) large: LargeAnswers,
    pub(crate) watched: Watched,
    /// Whether the last call was answered by the former version.
    is_v1beta1: AtomicBool,
    now: Now,
}

impl Connection {
    pub(crate) fn new(endpoint: FunctionEndpoint, route: Route, now: Now) -> Arc<Self> {
        Arc::new(Self {
            endpoint,
            route,
            places: Places::new(PLACES),
            large: LargeAnswers::new(LARGE_AT_ONCE, LARGE),
            watched: Watched::new(Arc::clone(&now)),
            is_v1beta1: AtomicBool::new(false),
            now,
        })
    }

    /// One call: as the version that answered last, and as the other one where that is not served. `large`: how its response counts among the large
    /// ones, which the caller keeps as long as it has the response.
    pub(crate) async fn call(
        &self,
        request: EncodedRequest,
        deadline: Timestamp,
        large: &LargeAnswer,
    ) -> Result<RunFunctionResponse, FunctionFailure> {
        let now = (self.now)();
        let by_limit = now.saturating_add(CALL_TIMEOUT).unwrap_or(deadline);
        let (until, when_over) = if by_limit < deadline {
            (by_limit, FunctionFailure::TimedOut(CALL_TIMEOUT))
        } else {
            (deadline, FunctionFailure::OutOfTime)
        };
        let left = Duration::try_from(until.duration_since(now)).unwrap_or_default();
        if left.is_zero() {
            return Err(when_over);
        }
        let sent = timeout(left, self.send(request, until, left, large)).await;
        let status = match sent {
            Err(_) => return Err(when_over),
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(status)) => status,
        };
        Err(failure::of_status(&status, when_over))
    }

    /// Later calls connect anew.
    pub(crate) fn renew(&self) {
        self.route.renew();
    }

    async fn send(
        &self,
        request: EncodedRequest,
        until: Timestamp,
        left: Duration,
        large: &LargeAnswer,
    ) -> Result<RunFunctionResponse, Status> {
        let is_v1beta1 = self.is_v1beta1.load(Ordering::Relaxed);
        let sent = self.send_as(is_v1beta1, request.clone(), until, left, large);
        match sent.await {
            Err(status) if status.code() == Code::Unimplemented => {
                let response = self.send_as(!is_v1beta1, request, until, left, large).await?;
                self.is_v1beta1.store(!is_v1beta1, Ordering::Relaxed);
                Ok(response)
            }
            answered => answered,
        }
    }

    /// Over the first channel that is connected or can be.
    async fn send_as(
        &self,
        is_v1beta1: bool,
        request: EncodedRequest,
        until: Timestamp,
        left: Duration,
        large: &LargeAnswer,
    ) -> Result<RunFunctionResponse, Status> {
        let path = if is_v1beta1 {
            PathAndQuery::from_static(RUN_FUNCTION_V1BETA1)
        } else {
            PathAndQuery::from_static(RUN_FUNCTION)
        };
        let candidates = self.route.candidates().await;
        let candidates = candidates.map_err(|error| Status::from_error(error.into()))?;
        let guarded = |channel: Guarded| {
            let channel = channel.until(until, Arc::clone(&self.now));
            // All messages of a response together: those behind the first are decoded, too.
            channel.at_most(MAX_MESSAGE_BYTES + FRAMES).counted(large.clone())
        };
        let mut last = Status::unavailable("it has no address");
        for candidate in candidates {
            let channel = guarded(candidate.channel.clone());
            match send_over(channel, path.clone(), request.clone(), left).await {
                Err(status) if status::never_connected(&status) => {
                    self.route.mark_failed(&candidate);
                    last = status;
                }
                Err(status) if status::was_not_processed(&status) => {
                    return send_over(guarded(candidate.channel), path, request, left).await;
                }
                answered => return answered,
            }
        }
        Err(last)
    }
}

async fn send_over(
    channel: Guarded,
    path: PathAndQuery,
    request: EncodedRequest,
    left: Duration,
) -> Result<RunFunctionResponse, Status> {
    // What is sent is measured before.
    let mut client = Grpc::new(channel)
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(usize::MAX);
    client.ready().await.map_err(Status::from_error)?;
    let mut request = Request::new(request);
    request.set_timeout(left);
    let response = client.unary(request, path, RequestCodec).await?;
    Ok(response.into_inner())
}
