//! A channel that can be replaced.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tonic::transport::Channel;

use crate::{Endpoint, EndpointError, TlsFiles, guard::Guarded, tls::Stamps};

/// One channel, whichever it is now. Clones follow when it is replaced.
#[derive(Debug, Clone)]
pub struct Channels {
    /// `None`: it is never replaced.
    to: Option<(Endpoint, Option<Files>)>,
    now: watch::Sender<Channel>,
}

/// The files of mutual TLS, and what they were when the channel was created.
#[derive(Debug, Clone)]
struct Files {
    tls: TlsFiles,
    used: Arc<Mutex<Stamps>>,
}

impl Channels {
    /// Creates the channel without connecting: it connects when the first call needs it.
    pub fn new(endpoint: &Endpoint, tls: Option<&TlsFiles>) -> Result<Self, EndpointError> {
        let files = tls.filter(|_| endpoint.tls_host().is_some()).map(|tls| Files {
            tls: tls.clone(),
            used: Arc::new(Mutex::new(tls.stamps())),
        });
        Ok(Self {
            to: Some((endpoint.clone(), files)),
            now: watch::Sender::new(endpoint.channel(tls)?),
        })
    }

    /// Wraps a channel that is never replaced.
    pub fn fixed(channel: Channel) -> Self {
        Self {
            to: None,
            now: watch::Sender::new(channel),
        }
    }

    /// The channel as it is now, for calls that change nothing; see [`Guarded::until`]. Where the TLS files have changed since, a new one: an
    /// authority that was withdrawn is trusted no longer.
    pub fn now(&self) -> Guarded {
        if let Some((_, Some(files))) = &self.to {
            let stamps = files.tls.stamps();
            let is_new = std::mem::replace(&mut *files.used.lock(), stamps) != stamps;
            if is_new && let Err(error) = self.renew() {
                tracing::warn!(%error, "failed to use the TLS files that have changed: the former ones count");
            }
        }
        Guarded::new(self.now.borrow().clone())
    }

    /// With a new connection, and with the TLS files as they are now. Calls under way keep the former one.
    pub fn renew(&self) -> Result<(), EndpointError> {
        if let Some((endpoint, files)) = &self.to {
            let tls = files.as_ref().map(|files| &files.tls);
            self.now.send_replace(endpoint.channel(tls)?);
        }
        Ok(())
    }
}
