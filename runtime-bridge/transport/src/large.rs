//! Large answers: of one server only so many are in memory at once, the others wait in its own buffers.
//!
//! What waits fills the window of its own stream alone: that of the connection has room for every stream ([`STREAM`], [`CONNECTION`]). Were it
//! full of what nobody reads, nothing of those that are read would arrive either.

use std::{
    sync::Arc,
    task::{Context, Poll, ready},
};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

/// What a server may send in one stream before it is read, in bytes.
pub(crate) const STREAM: u32 = 256 << 10;

/// Likewise in all streams together: of as many calls as nobody has under way at once.
pub(crate) const CONNECTION: u32 = 1024 * STREAM;

/// The large answers of one server. Clones count together.
#[derive(Debug, Clone)]
pub struct LargeAnswers {
    at_once: Arc<Semaphore>,
    large: usize,
}

impl LargeAnswers {
    /// So many at once of those that have so many bytes.
    pub fn new(at_once: usize, large: usize) -> Self {
        Self {
            at_once: Arc::new(Semaphore::new(at_once)),
            large,
        }
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
    /// Whether so much of it has been received that it counts.
    pub fn is_large(&self) -> bool {
        self.held.lock().is_some()
    }

    pub(crate) fn counted(self) -> Counted {
        Counted {
            waiting: PollSemaphore::new(self.of.at_once),
            large: self.of.large,
            held: self.held,
        }
    }
}

/// An answer that is being received.
pub(crate) struct Counted {
    waiting: PollSemaphore,
    large: usize,
    held: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl Counted {
    /// Ready as soon as more may be received of an answer of which there are so many bytes.
    pub(crate) fn poll_more(&mut self, received: usize, cx: &mut Context<'_>) -> Poll<()> {
        if received >= self.large && self.held.lock().is_none() {
            // It is never closed.
            let slot = ready!(self.waiting.poll_acquire(cx));
            *self.held.lock() = slot;
        }
        Poll::Ready(())
    }
}
