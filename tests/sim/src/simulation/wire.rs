//! A pipe within the process that can be cut, as a connection is when one of its ends dies.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tonic::transport::server::Connected;

/// Holds up everything in the pipes that belong to it, while it is closed.
#[derive(Clone, Default)]
pub(crate) struct Valve(Arc<Mutex<Closed>>);

#[derive(Default)]
struct Closed {
    shut: bool,
    /// Closed for ever.
    welded: bool,
    /// When it was opened last.
    opened: Option<Timestamp>,
    waiting: Vec<Waker>,
}

impl Valve {
    pub(crate) fn close(&self) {
        self.0.lock().shut = true;
    }

    /// It is never opened again.
    pub(crate) fn weld(&self) {
        let mut state = self.0.lock();
        state.shut = true;
        state.welded = true;
    }

    pub(crate) fn open(&self, now: Timestamp) {
        let mut state = self.0.lock();
        if state.welded || !std::mem::take(&mut state.shut) {
            return;
        }
        state.opened = Some(now);
        for waker in state.waiting.drain(..) {
            waker.wake();
        }
    }

    /// Whether it was closed at any time since then.
    pub(crate) fn was_closed_since(&self, since: Timestamp) -> bool {
        let state = self.0.lock();
        state.shut || state.opened.is_some_and(|opened| opened >= since)
    }

    /// Closed for ever: what it held comes nowhere.
    pub(crate) fn is_welded(&self) -> bool {
        self.0.lock().welded
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.lock().shut
    }

    /// Whether something may pass; if not, the task is woken when it may.
    fn passes(&self, cx: &Context<'_>) -> bool {
        let mut state = self.0.lock();
        if state.shut && !state.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.waiting.push(cx.waker().clone());
        }
        !state.shut
    }
}

/// Cuts all pipes that belong to it, once.
#[derive(Clone, Default)]
pub(crate) struct Cutter(Arc<Mutex<Cut>>);

#[derive(Default)]
struct Cut {
    done: bool,
    waiting: Vec<Waker>,
}

impl Cutter {
    pub(crate) fn cut(&self) {
        let mut cut = self.0.lock();
        cut.done = true;
        for waker in cut.waiting.drain(..) {
            waker.wake();
        }
    }

    /// An error once it is cut; until then, the task is woken when it is.
    fn check(&self, cx: &Context<'_>) -> io::Result<()> {
        let mut cut = self.0.lock();
        if cut.done {
            return Err(io::Error::new(
                io::ErrorKind::ConnectionReset,
                "connection reset by peer",
            ));
        }
        if !cut.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            cut.waiting.push(cx.waker().clone());
        }
        Ok(())
    }
}

/// One end of a pipe.
pub(super) struct Wire {
    pub(super) stream: DuplexStream,
    /// The server's, and that of the bridge's process.
    pub(super) cutters: [Cutter; 2],
    /// Likewise.
    pub(super) valves: [Valve; 2],
}

impl Wire {
    fn check(&self, cx: &Context<'_>) -> io::Result<()> {
        self.cutters.iter().try_for_each(|cutter| cutter.check(cx))
    }

    fn passes(&self, cx: &Context<'_>) -> bool {
        self.valves.iter().all(|valve| valve.passes(cx))
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        if !self.passes(cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        if !self.passes(cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Connected for Wire {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}
