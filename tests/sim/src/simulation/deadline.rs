//! Ends what is busy without end: virtual time does not pass then, and no limit of it counts.

use std::{
    io::{self, Write},
    process,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

/// A seed or a scenario takes some seconds; within this time it has ended on the slowest machine, or never will.
const ENDS_WITHIN: Duration = Duration::from_mins(5);

/// Counts until it is dropped.
pub(crate) struct Deadline {
    _ended: Sender<()>,
}

impl Deadline {
    /// `what` is busy from now on.
    pub(crate) fn begin(what: String) -> Self {
        let (ended, wait) = channel::<()>();
        thread::spawn(move || {
            if wait.recv_timeout(ENDS_WITHIN) == Err(RecvTimeoutError::Timeout) {
                // What a test prints is kept until its end, which does not come.
                let _ = writeln!(io::stderr(), "{what} does not end: a task is busy without end");
                process::exit(1);
            }
        });
        Self { _ended: ended }
    }
}
