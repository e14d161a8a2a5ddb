//! How an endpoint is reached: over one channel, or over one to each of its addresses.

use std::net::SocketAddr;

use crate::{AddressChannels, Channels, Endpoint, EndpointError, Guarded, Now, Resolve, TlsFiles, addresses};

/// The channels to one endpoint.
pub enum Route {
    /// A Unix socket, loopback without TLS, or whatever a simulation has.
    Channel(Channels),
    /// Mutual TLS: all addresses in turn, with the files as they are now.
    Addresses(Box<AddressChannels>),
}

/// One channel that a call may be sent over.
pub struct Candidate {
    /// The channel.
    pub channel: Guarded,
    address: Option<SocketAddr>,
}

impl Route {
    /// Resolves names by the system.
    ///
    /// # Errors
    /// The TLS files are missing or cannot be used.
    pub fn new(endpoint: &Endpoint, tls: Option<&TlsFiles>, now: Now) -> Result<Self, EndpointError> {
        Self::resolved_by(addresses::by_system(), endpoint, tls, now)
    }

    /// Resolves names by this.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn resolved_by(
        resolve: Resolve,
        endpoint: &Endpoint,
        tls: Option<&TlsFiles>,
        now: Now,
    ) -> Result<Self, EndpointError> {
        match AddressChannels::new(endpoint, tls, resolve, now)? {
            Some(addresses) => Ok(Self::Addresses(Box::new(addresses))),
            None => Ok(Self::Channel(Channels::new(endpoint, tls)?)),
        }
    }

    /// The channels in the order in which one call tries them: the next one only where no connection could be opened.
    ///
    /// # Errors
    /// The name has no address.
    pub async fn candidates(&self) -> Result<Vec<Candidate>, EndpointError> {
        let candidates = match self {
            Self::Channel(channels) => vec![Candidate {
                channel: channels.now(),
                address: None,
            }],
            Self::Addresses(addresses) => {
                let of = |(address, channel)| Candidate {
                    channel,
                    address: Some(address),
                };
                addresses.next().await?.into_iter().map(of).collect()
            }
        };
        Ok(candidates)
    }

    /// No connection could be opened: other calls try it last, until its name is resolved anew.
    pub fn mark_failed(&self, candidate: &Candidate) {
        if let (Self::Addresses(addresses), Some(address)) = (self, candidate.address) {
            addresses.mark_failed(address);
        }
    }

    /// With new connections from now on: one to a machine that is down may seem alive for many minutes. Calls under way keep theirs.
    pub fn renew(&self) {
        match self {
            Self::Addresses(addresses) => addresses.renew(),
            Self::Channel(channels) => {
                if let Err(error) = channels.renew() {
                    tracing::warn!(%error, "failed to open a new connection: the former one is kept");
                }
            }
        }
    }
}

impl From<Channels> for Route {
    fn from(channels: Channels) -> Self {
        Self::Channel(channels)
    }
}
