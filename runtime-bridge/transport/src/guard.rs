//! A channel that lets nothing leave after its deadline, and turns away what tonic would report as if the server itself had said it.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use http_body::{Body as HttpBody, Frame, SizeHint};
use jiff::Timestamp;
use tonic::{
    body::Body,
    codegen::{Bytes, Service, http},
    transport::Channel,
};

use crate::{
    clock::Now,
    large::{Counted, LargeAnswer},
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Tonic reports a compressed answer as UNIMPLEMENTED, which would read as "nothing was done" although the call was served.
#[derive(Debug, thiserror::Error)]
#[error("the answer is compressed ({0}), which was not asked for")]
pub struct CompressedAnswer(String);

/// The deadline passed while the call waited for its connection: its message was never sent.
#[derive(Debug, thiserror::Error)]
#[error("the deadline of the call passed before it could be sent")]
pub struct DeadlinePassed;

/// The server sends on and on.
#[derive(Debug, thiserror::Error)]
#[error("the answer has more than {0} bytes")]
pub struct EndlessAnswer(usize);

/// A [`Channel`] whose compressed answers are errors without a gRPC code of their own, and which sends no message after the deadline.
#[derive(Clone)]
pub struct Guarded {
    channel: Channel,
    /// `None`: gRPC's own deadline is enough.
    deadline: Option<Deadline>,
    /// Of an answer, in bytes; `None`: the limit of a message is enough.
    at_most: Option<usize>,
    /// How it counts among the large ones; `None`: it does not.
    large: Option<LargeAnswer>,
}

/// An absolute deadline, and the clock that it is measured by.
#[derive(Clone)]
struct Deadline {
    at: Timestamp,
    now: Now,
}

impl Deadline {
    fn has_passed(&self) -> bool {
        (self.now)() >= self.at
    }
}

impl Guarded {
    /// A channel for calls that change nothing.
    pub fn new(channel: Channel) -> Self {
        Self {
            channel,
            deadline: None,
            at_most: None,
            large: None,
        }
    }

    /// A channel whose answers are cut off after so many bytes, all messages of one answer together: what follows the first is read only to find
    /// the status behind it.
    #[must_use]
    pub fn at_most(self, bytes: usize) -> Self {
        Self {
            at_most: Some(bytes),
            ..self
        }
    }

    /// A channel for one call, whose answer waits when it is large and others are received or read; only beside [`at_most`](Self::at_most).
    #[must_use]
    pub fn counted(self, large: LargeAnswer) -> Self {
        Self {
            large: Some(large),
            ..self
        }
    }

    /// A channel for one call, whose message is not sent at this time or after it.
    #[must_use]
    pub fn until(self, at: Timestamp, now: Now) -> Self {
        Self {
            deadline: Some(Deadline { at, now }),
            ..self
        }
    }
}

impl Service<http::Request<Body>> for Guarded {
    type Response = http::Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.channel.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let was_withheld = Arc::new(AtomicBool::new(false));
        let request = match self.deadline.clone() {
            None => request,
            Some(deadline) => request.map(|body| {
                Body::new(Message {
                    body,
                    deadline: Some(deadline),
                    was_withheld: Arc::clone(&was_withheld),
                })
            }),
        };
        let (at_most, large) = (self.at_most, self.large.clone());
        let answer = self.channel.call(request);
        Box::pin(async move {
            let answer = answer.await;
            if was_withheld.load(Ordering::Acquire) {
                return Err(DeadlinePassed.into());
            }
            let answer = answer?;
            match answer.headers().get("grpc-encoding") {
                Some(encoding) if encoding != "identity" => {
                    Err(CompressedAnswer(String::from_utf8_lossy(encoding.as_bytes()).into_owned()).into())
                }
                _ => Ok(match at_most {
                    None => answer,
                    Some(limit) => answer.map(|body| {
                        Body::new(Answer {
                            body,
                            left: limit,
                            limit,
                            counted: large.map(LargeAnswer::counted),
                        })
                    }),
                }),
            }
        })
    }
}

/// An answer that ends, one way or the other.
struct Answer {
    body: Body,
    left: usize,
    limit: usize,
    counted: Option<Counted>,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let received = self.limit - self.left;
        if let Some(counted) = &mut self.counted {
            ready!(counted.poll_more(received, cx));
        }
        let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(cx)) else {
            return Poll::Ready(None);
        };
        let frame = frame?;
        let length = frame.data_ref().map_or(0, Bytes::len);
        match self.left.checked_sub(length) {
            Some(left) => {
                self.left = left;
                Poll::Ready(Some(Ok(frame)))
            }
            None => Poll::Ready(Some(Err(EndlessAnswer(self.limit).into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A request's message, which is taken only when the connection is there and can send it. A process that was stopped while it connected finds both the
/// connection ready and its timers due, in no order: so the clock is read once more, here. Without its message no server begins a call.
struct Message {
    body: Body,
    /// `None`: its first part was taken, and the rest follows.
    deadline: Option<Deadline>,
    was_withheld: Arc<AtomicBool>,
}

impl HttpBody for Message {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.deadline.as_ref().is_some_and(Deadline::has_passed) {
            self.was_withheld.store(true, Ordering::Release);
            return Poll::Ready(Some(Err(DeadlinePassed.into())));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.deadline = None;
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LargeAnswers;

    /// Sends one message after the other, and never says how the call has ended.
    struct Endless;

    impl HttpBody for Endless {
        type Data = Bytes;
        type Error = BoxError;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[0; 5])))))
        }
    }

    #[tokio::test]
    async fn an_answer_without_end_is_cut_off() {
        let mut answer = Answer {
            body: Body::new(Endless),
            left: 1000,
            limit: 1000,
            counted: None,
        };
        let mut received = 0;
        let error = loop {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut answer).poll_frame(cx)).await;
            match frame.unwrap() {
                Ok(frame) => received += frame.data_ref().map_or(0, Bytes::len),
                Err(error) => break error,
            }
        };
        assert_eq!(received, 1000);
        assert_eq!(error.to_string(), "the answer has more than 1000 bytes");
    }

    /// What of an answer can be received now.
    fn receivable(answer: &mut Answer, most: usize) -> usize {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut received = 0;
        while received < most
            && let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut *answer).poll_frame(&mut cx)
        {
            received += frame.data_ref().map_or(0, Bytes::len);
        }
        received
    }

    #[test]
    fn a_large_answer_waits_until_another_is_read() {
        const MUCH: usize = 1 << 20;
        let answers = LargeAnswers::new(1, 64 << 10);
        let endless = |large: &LargeAnswer| Answer {
            body: Body::new(Endless),
            left: 2 * MUCH,
            limit: 2 * MUCH,
            counted: Some(large.clone().counted()),
        };
        let (first, second) = (answers.one(), answers.one());
        let (mut received, mut waits) = (endless(&first), endless(&second));
        assert!(receivable(&mut received, MUCH) >= MUCH);
        let small = receivable(&mut waits, MUCH);
        assert!(small < 100 << 10, "{small} bytes of the second are in memory");
        drop(received);
        assert_eq!(receivable(&mut waits, MUCH), 0, "the first is still read");
        drop(first);
        assert!(receivable(&mut waits, MUCH) >= MUCH);
    }
}
