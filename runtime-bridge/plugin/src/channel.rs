//! The way to a plugin, which can be made anew.

use tokio::sync::watch;
use tonic::transport::Channel;

use crate::{Endpoint, EndpointError, TlsFiles, guard::Guarded};

/// One channel, whichever it is now. Clones follow when it is made anew.
#[derive(Debug, Clone)]
pub(crate) struct Channels {
    /// `None`: it is never made anew.
    to: Option<(Endpoint, Option<TlsFiles>)>,
    now: watch::Sender<Channel>,
}

impl Channels {
    /// Nothing is sent.
    pub(crate) fn new(endpoint: &Endpoint, tls: Option<&TlsFiles>) -> Result<Self, EndpointError> {
        Ok(Self {
            to: Some((endpoint.clone(), tls.cloned())),
            now: watch::Sender::new(endpoint.channel(tls)?),
        })
    }

    /// Always this one.
    pub(crate) fn fixed(channel: Channel) -> Self {
        Self {
            to: None,
            now: watch::Sender::new(channel),
        }
    }

    pub(crate) fn now(&self) -> Guarded {
        Guarded::new(self.now.borrow().clone())
    }

    /// With a new connection, and with the TLS files as they are now. Calls under way keep the former one.
    pub(crate) fn renew(&self) -> Result<(), EndpointError> {
        if let Some((endpoint, tls)) = &self.to {
            self.now.send_replace(endpoint.channel(tls.as_ref())?);
        }
        Ok(())
    }
}
