//! Channels to all addresses of a name, over mutual TLS.

use std::{collections::BTreeMap, future::Future, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use bridge_core::function::Addresses;
use parking_lot::Mutex;
use tokio::{sync::Mutex as AsyncMutex, time::timeout};
use tonic::transport::{Channel, ClientTlsConfig};

use crate::{Endpoint, EndpointError, Guarded, Now, TlsFiles, tls::Stamps};

/// Finds the addresses of a host and port.
pub type Resolve = Arc<
    dyn Fn(String, u16) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>> + Send + Sync,
>;

/// By the resolver of the system.
pub(crate) fn by_system() -> Resolve {
    Arc::new(|host, port| {
        Box::pin(async move { Ok(tokio::net::lookup_host((host.as_str(), port)).await?.collect()) })
    })
}

/// Calls that know an address already do not wait for a name server that is down, and the one that asks it for so long only.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The addresses of one endpoint, each with a channel of its own. The TLS files are read again when they change.
pub struct AddressChannels {
    endpoint: Endpoint,
    host: String,
    port: u16,
    tls: TlsFiles,
    resolve: Resolve,
    now: Now,
    /// One call resolves the name, and not under the lock of all others.
    resolving: AsyncMutex<()>,
    state: Mutex<State>,
}

struct State {
    addresses: Addresses,
    channels: BTreeMap<SocketAddr, Channel>,
    config: ClientTlsConfig,
    /// Of the files as they were looked at last, whether they could be used or not.
    stamps: Stamps,
}

impl AddressChannels {
    /// Reads the files; resolves and connects with the first call. `None`: an endpoint without TLS.
    ///
    /// # Errors
    /// The files are missing or cannot be used.
    pub(crate) fn new(
        endpoint: &Endpoint,
        tls: Option<&TlsFiles>,
        resolve: Resolve,
        now: Now,
    ) -> Result<Option<Self>, EndpointError> {
        let Some((host, port)) = endpoint.tls_host() else {
            return Ok(None);
        };
        let tls = endpoint.files(tls)?;
        let stamps = tls.stamps();
        let config = tls.config()?;
        endpoint.with_tls(endpoint.to_string(), config.clone())?;
        Ok(Some(Self {
            endpoint: endpoint.clone(),
            host,
            port,
            tls: tls.clone(),
            resolve,
            now,
            resolving: AsyncMutex::default(),
            state: Mutex::new(State {
                addresses: Addresses::default(),
                channels: BTreeMap::new(),
                config,
                stamps,
            }),
        }))
    }

    /// Channels in the order in which one call tries them.
    pub(crate) async fn next(&self) -> Result<Vec<(SocketAddr, Guarded)>, EndpointError> {
        self.refresh_files();
        self.refresh_addresses().await?;
        let mut state = self.state.lock();
        let State {
            addresses,
            channels,
            config,
            ..
        } = &mut *state;
        channels.retain(|address, _| addresses.contains(address));
        let order = addresses.next_order().into_iter();
        order
            .map(|address| {
                let channel = match channels.get(&address) {
                    Some(channel) => channel.clone(),
                    None => self.endpoint.channel_to(&address.to_string(), config.clone())?,
                };
                channels.insert(address, channel.clone());
                Ok((address, Guarded::new(channel)))
            })
            .collect()
    }

    /// No connection could be opened there.
    pub(crate) fn mark_failed(&self, address: SocketAddr) {
        self.state.lock().addresses.mark_failed(address);
    }

    /// The next call resolves the name, and connects anew.
    pub(crate) fn renew(&self) {
        let mut state = self.state.lock();
        state.addresses.expire();
        state.channels.clear();
    }

    /// Calls under way keep their connections. Files that do not fit together are not used: they are being written, or wrong.
    fn refresh_files(&self) {
        let stamps = self.tls.stamps();
        if self.state.lock().stamps == stamps {
            return;
        }
        let config = self.usable();
        let mut state = self.state.lock();
        state.stamps = stamps;
        match config {
            Ok(config) => {
                state.config = config;
                state.channels.clear();
            }
            Err(error) => {
                tracing::warn!(%error, "failed to use the TLS files as they are now: the former ones are kept");
            }
        }
    }

    fn usable(&self) -> Result<ClientTlsConfig, EndpointError> {
        let config = self.tls.config()?;
        self.endpoint
            .with_tls(self.endpoint.to_string(), config.clone())?;
        Ok(config)
    }

    async fn refresh_addresses(&self) -> Result<(), EndpointError> {
        let is_due = || {
            let state = self.state.lock();
            (state.addresses.are_due((self.now)()), state.addresses.is_empty())
        };
        let _resolving = match is_due() {
            (false, _) => return Ok(()),
            (true, true) => self.resolving.lock().await,
            (true, false) => match self.resolving.try_lock() {
                Ok(resolving) => resolving,
                Err(_) => return Ok(()),
            },
        };
        if !is_due().0 {
            return Ok(());
        }
        let resolved = timeout(RESOLVE_TIMEOUT, (self.resolve)(self.host.clone(), self.port)).await;
        let (found, why) = match resolved {
            Ok(Ok(found)) => (found, "it has no address".to_owned()),
            Ok(Err(error)) => (Vec::new(), error.to_string()),
            Err(_) => (Vec::new(), format!("no answer within {RESOLVE_TIMEOUT:?}")),
        };
        let mut state = self.state.lock();
        state.addresses.resolve(found, (self.now)());
        if state.addresses.is_empty() {
            return Err(EndpointError::Unresolved {
                host: self.host.clone(),
                why,
            });
        }
        Ok(())
    }
}
