//! Large answers: of one server only so many are in memory at once, the others wait in its own buffers.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

/// In bytes: what is smaller is not counted.
const LARGE: usize = 64 << 10;

/// The large answers of one server. Clones count together.
#[derive(Debug, Clone)]
pub struct LargeAnswers(Arc<Semaphore>);

impl LargeAnswers {
    /// So many at once.
    pub fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once)))
    }

    /// The next answer.
    pub fn one(&self) -> LargeAnswer {
        LargeAnswer {
            of: self.clone(),
            held: Arc::default(),
        }
    }
}

/// One answer. It counts from the moment that it is large until each clone of this is dropped: whoever reads the answer keeps one as long as it has
/// what it read.
#[derive(Debug, Clone)]
pub struct LargeAnswer {
    of: LargeAnswers,
    held: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl LargeAnswer {
    pub(crate) fn counted(self) -> Counted {
        Counted {
            waiting: PollSemaphore::new(self.of.0),
            held: self.held,
        }
    }
}

/// An answer that is being received.
pub(crate) struct Counted {
    waiting: PollSemaphore,
    held: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl Counted {
    /// Ready as soon as more may be received of an answer of which there are so many bytes.
    pub(crate) fn poll_more(&mut self, received: usize, cx: &mut Context<'_>) -> Poll<()> {
        if received >= LARGE && self.held.lock().is_none() {
            // It is never closed.
            let slot = ready!(self.waiting.poll_acquire(cx));
            *self.held.lock() = slot;
        }
        Poll::Ready(())
    }
}
