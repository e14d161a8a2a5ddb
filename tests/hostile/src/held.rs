//! Answers whose last byte comes late: whoever receives them has all of each in memory, and may not yet believe any.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use http_body::Frame;
use tokio::{sync::Barrier, time::timeout};
use tonic::{Status, body::Body, codegen::Bytes};

/// What is smaller is not held.
const LARGE: usize = 64 << 10;

/// As gRPC frames them, five bytes each.
static EMPTY_MESSAGES: [u8; 50_000] = [0; 50_000];

/// Who is held waits no longer than this for others.
const PATIENCE: Duration = Duration::from_secs(3);

/// Holds the ends of large answers until there are so many.
#[derive(Clone)]
pub struct Held {
    all: Arc<Barrier>,
    instead: Option<Bytes>,
    is_endless: bool,
}

impl Held {
    /// Until there are so many.
    pub fn until(many: usize) -> Self {
        Self {
            all: Arc::new(Barrier::new(many)),
            instead: None,
            is_endless: false,
        }
    }

    /// Nothing is held: after a large answer empty messages follow, and never an end.
    pub fn endless() -> Self {
        Self {
            is_endless: true,
            ..Self::until(1)
        }
    }

    /// Likewise, where this message goes out in place of each large answer: what it decodes to need not be in memory here.
    ///
    /// # Panics
    /// If it is larger than gRPC can say.
    #[must_use]
    pub fn sending(self, message: &[u8]) -> Self {
        let size = u32::try_from(message.len()).expect("a message of less than 4 GiB");
        let framed = [&[0], &size.to_be_bytes()[..], message].concat();
        Self {
            instead: Some(framed.into()),
            ..self
        }
    }

    pub(crate) fn hold(&self, answer: http::Response<Body>) -> http::Response<Body> {
        answer.map(|body| {
            Body::new(Answer {
                body,
                sent: 0,
                of: self.clone(),
                waiting: None,
            })
        })
    }
}

struct Answer {
    body: Body,
    sent: usize,
    of: Held,
    waiting: Option<Waiting>,
}

struct Waiting {
    last: Option<Frame<<Body as http_body::Body>::Data>>,
    others: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl http_body::Body for Answer {
    type Data = <Body as http_body::Body>::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Status>>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.others.as_mut().poll(cx));
                let last = waiting.last.take();
                self.waiting = None;
                return Poll::Ready(last.map(Ok));
            }
            if self.of.is_endless && self.sent >= LARGE {
                return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&EMPTY_MESSAGES)))));
            }
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                ended => return Poll::Ready(ended),
            };
            let size = frame.data_ref().map_or(0, Bytes::len);
            self.sent += size;
            if size >= LARGE
                && let Some(instead) = &self.of.instead
            {
                return Poll::Ready(Some(Ok(Frame::data(instead.clone()))));
            }
            if frame.is_data() || self.sent < LARGE {
                return Poll::Ready(Some(Ok(frame)));
            }
            let all = Arc::clone(&self.of.all);
            self.waiting = Some(Waiting {
                last: Some(frame),
                others: Box::pin(async move {
                    // Fewer are let go, too.
                    let _ = timeout(PATIENCE, all.wait()).await;
                }),
            });
        }
    }
}
