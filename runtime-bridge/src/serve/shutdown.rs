//! Signals that ask the bridge to stop.

use std::{future::Future, io, process};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels the token at the first SIGTERM or SIGINT, and ends the process at the second.
pub fn signals(stop: CancellationToken) -> io::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        loop {
            tokio::select! {
                biased;
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if stop.is_cancelled() {
                tracing::warn!("received a second signal to stop: exiting at once");
                process::exit(1);
            }
            tracing::info!("received a signal to stop: draining");
            stop.cancel();
        }
    })
}
