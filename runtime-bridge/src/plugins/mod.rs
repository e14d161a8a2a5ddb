//! The plugins of a bridge: connected, known by name, watched over.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod address;
mod calls;
mod groups;
mod link;
mod recent;
mod tls;

use std::{sync::Arc, time::Duration};

use bridge_plugin::{Endpoint, EndpointError, HandshakeError, Options, Plugin, Served, Supervision};
use clap::Args;
use futures::future::try_join_all;
use tokio::time::Instant;

pub use address::{AddressError, OfPlugin, PluginAddress};
pub use calls::CallMetrics;
pub use groups::Groups;
pub use link::{PluginLink, Standing, any_connected};
pub use recent::{RecentCall, RecentCalls};
pub use tls::TlsArgs;

use crate::retry_until::retry_until;

/// Which plugins, and how to reach them.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Plugins")]
pub struct PluginArgs {
    /// Where a plugin listens: unix:///path, https://host:port (mutual TLS), or http://127.0.0.1:port; with NAME= before it, what it must call
    /// itself: one of another name is not served. Give it once per plugin; in the environment variable they are separated by commas.
    #[arg(
        long = "plugin",
        env = "CROSSBRIDGE_PLUGIN",
        value_name = "[NAME=]ENDPOINT",
        value_delimiter = ','
    )]
    pub addresses: Vec<PluginAddress>,
    /// The numeric user that the plugin of this name runs as. What listens at its Unix socket under another user is not connected to.
    #[arg(
        long,
        env = "CROSSBRIDGE_PLUGIN_UID",
        value_name = "NAME=UID",
        value_delimiter = ',',
        value_parser = address::user
    )]
    pub plugin_uid: Vec<OfPlugin<u32>>,
    /// How large an answer of the plugin of this name about a resource may be, in MiB; 4, unless this is given. The bridge holds up to 12 such answers of
    /// a plugin at once: it takes as much more memory.
    #[arg(
        long,
        env = "CROSSBRIDGE_PLUGIN_MAX_ANSWER",
        value_name = "NAME=MIB",
        value_delimiter = ',',
        value_parser = address::mebibytes
    )]
    pub plugin_max_answer: Vec<OfPlugin<usize>>,
    /// An API group in which the plugin of this name may serve kinds, beside those that are its name or end in a dot and its name.
    #[arg(
        long,
        env = "CROSSBRIDGE_ALLOW_GROUP",
        value_name = "NAME=GROUP",
        value_delimiter = ',',
        value_parser = address::group
    )]
    pub allow_group: Vec<OfPlugin<String>>,
    /// TLS files, for `https://` endpoints.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// How long plugins or an API server that are not there yet are waited for at start. Once one plugin is served, the others are connected
    /// to whenever they are there.
    #[arg(
        long,
        env = "CROSSBRIDGE_STARTUP_TIMEOUT",
        value_name = "DURATION",
        default_value = "30s",
        value_parser = crate::duration::parse
    )]
    pub startup_timeout: Duration,
}

/// One plugin that answers.
#[derive(Clone)]
pub struct Connected {
    /// The endpoint at which it answered.
    pub endpoint: Endpoint,
    /// The client to it, shared by all of its kinds.
    pub plugin: Plugin,
}

impl Connected {
    /// What it serves now.
    pub fn served(&self) -> Arc<Served> {
        Arc::clone(&self.plugin.state().borrow().served)
    }
}

/// Why a plugin cannot be served.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PluginsError {
    /// A plugin cannot be reached, or what answers is none.
    #[error(transparent)]
    Handshake(Arc<HandshakeError>),
    /// Two are the same.
    #[error("{first} and {second} are both the plugin {name}")]
    SamePlugin {
        /// The name that both report.
        name: String,
        /// The endpoint of one of them.
        first: String,
        /// Address of the other.
        second: String,
    },
    /// The operator has said what it must be called.
    #[error("what listens at {endpoint} calls itself {found}, and must be the plugin {name}")]
    OtherName {
        /// Where it listens.
        endpoint: String,
        /// What `--plugin` says.
        name: String,
        /// What it says.
        found: String,
    },
}

impl From<HandshakeError> for PluginsError {
    fn from(error: HandshakeError) -> Self {
        Self::Handshake(Arc::new(error))
    }
}

impl PluginsError {
    /// Whether trying again may help: it is not there yet, or not ready.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Handshake(error) if error.is_temporary())
    }
}

impl PluginArgs {
    /// What flags must be to one another.
    pub fn check(&self) -> Result<(), String> {
        for OfPlugin { plugin, .. } in &self.plugin_uid {
            let address = self.named("--plugin-uid", plugin)?;
            self.endpoint(address).map_err(|error| error.to_string())?;
        }
        for OfPlugin { plugin, .. } in &self.plugin_max_answer {
            self.named("--plugin-max-answer", plugin)?;
        }
        Ok(())
    }

    /// The plugin that a flag names.
    fn named(&self, flag: &str, plugin: &str) -> Result<&PluginAddress, String> {
        let mut all = self.addresses.iter();
        all.find(|address| address.name.as_deref() == Some(plugin))
            .ok_or_else(|| {
                format!("{flag} names {plugin}, and no --plugin does: write --plugin {plugin}=unix:///path")
            })
    }

    /// With the user that must listen there.
    fn endpoint(&self, address: &PluginAddress) -> Result<Endpoint, EndpointError> {
        let endpoint = address.endpoint.clone();
        let mut users = self.plugin_uid.iter();
        match users.find(|user| address.name.as_ref() == Some(&user.plugin)) {
            Some(user) => endpoint.of_user(user.value),
            None => Ok(endpoint),
        }
    }

    fn options(&self, address: &PluginAddress, calls: &Arc<CallMetrics>) -> Result<Options, PluginsError> {
        let endpoint = self.endpoint(address).map_err(HandshakeError::from)?;
        let mut options = Options::new(endpoint);
        options.tls = self.tls.files();
        let mut larger = self.plugin_max_answer.iter();
        if let Some(most) = larger.find(|most| address.name.as_ref() == Some(&most.plugin)) {
            options.max_answer_bytes = most.value;
        }
        options.bridge_version = env!("CARGO_PKG_VERSION").into();
        options.observer = Arc::clone(calls) as _;
        Ok(options)
    }

    /// Connects to all at once; those that are not there yet are waited for.
    pub async fn connect_all(
        &self,
        until: Instant,
        calls: &Arc<CallMetrics>,
    ) -> Result<Vec<Connected>, PluginsError> {
        let connecting = self.addresses.iter().map(|address| async move {
            let options = self.options(address, calls)?;
            let what = format!("the plugin at {}", address.endpoint);
            let connect = || connect(address, options.clone());
            let (connected, _) = retry_until(&what, until, PluginsError::is_temporary, connect).await?;
            Ok::<_, PluginsError>(connected)
        });
        let connected = try_join_all(connecting).await?;
        for (i, second) in connected.iter().enumerate() {
            let name = &second.served().info.name;
            let mut before = connected[..i].iter();
            if let Some(first) = before.find(|first| first.served().info.name == *name) {
                return Err(PluginsError::SamePlugin {
                    name: name.clone(),
                    first: first.endpoint.to_string(),
                    second: second.endpoint.to_string(),
                });
            }
        }
        Ok(connected)
    }
}

/// Connects to one. Its own name counts if the operator has said none.
async fn connect(
    address: &PluginAddress,
    options: Options,
) -> Result<(Connected, Supervision), PluginsError> {
    let (plugin, supervision) = Plugin::connect(options).await?;
    let endpoint = address.endpoint.clone();
    let found = plugin.state().borrow().served.info.name.clone();
    match &address.name {
        Some(name) if *name != found => Err(PluginsError::OtherName {
            endpoint: endpoint.to_string(),
            name: name.clone(),
            found,
        }),
        _ => Ok((Connected { endpoint, plugin }, supervision)),
    }
}
