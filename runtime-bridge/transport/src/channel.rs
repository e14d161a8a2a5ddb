//! A channel that can be replaced.

use tokio::sync::watch;
use tonic::transport::Channel;

use crate::{Endpoint, EndpointError, TlsFiles, guard::Guarded};

/// One channel, whichever it is now. Clones follow when it is replaced.
#[derive(Debug, Clone)]
pub struct Channels {
    /// `None`: it is never replaced.
    to: Option<(Endpoint, Option<TlsFiles>)>,
    now: watch::Sender<Channel>,
}

impl Channels {
    /// Creates the channel without connecting: it connects when the first call needs it.
    pub fn new(endpoint: &Endpoint, tls: Option<&TlsFiles>) -> Result<Self, EndpointError> {
        Ok(Self {
            to: Some((endpoint.clone(), tls.cloned())),
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

    /// The channel as it is now, for calls that change nothing; see [`Guarded::until`].
    pub fn now(&self) -> Guarded {
        Guarded::new(self.now.borrow().clone())
    }

    /// With a new connection, and with the TLS files as they are now. Calls under way keep the former one.
    pub fn renew(&self) -> Result<(), EndpointError> {
        if let Some((endpoint, tls)) = &self.to {
            self.now.send_replace(endpoint.channel(tls.as_ref())?);
        }
        Ok(())
    }
}
