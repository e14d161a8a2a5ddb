//! The plugins of a bridge: connected, known by name, watched over.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod calls;
mod recent;
mod tls;

use std::{sync::Arc, time::Duration};

use bridge_plugin::{Endpoint, HandshakeError, Options, Plugin, Served, Supervision};
use clap::Args;
use futures::future::try_join_all;
use tokio::time::Instant;

pub use calls::CallMetrics;
pub use recent::{RecentCall, RecentCalls};
pub use tls::TlsArgs;

use crate::retry_until::retry_until;

/// Which plugins, and how to reach them.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Plugins")]
pub struct PluginArgs {
    /// Where a plugin listens: unix:///path, https://host:port (mutual TLS), or http://127.0.0.1:port. Give it once per plugin; in the
    /// environment variable they are separated by commas.
    #[arg(
        long = "plugin",
        env = "CROSSBRIDGE_PLUGIN",
        value_name = "ENDPOINT",
        value_delimiter = ','
    )]
    pub endpoints: Vec<Endpoint>,
    /// TLS files, for `https://` endpoints.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// How long a plugin or an API server that is not there yet is waited for at start.
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

/// Why the plugins cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum PluginsError {
    /// A plugin cannot be reached, or what answers is none.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
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
    /// Two serve the same kind.
    #[error("{first} and {second} both serve {kind}")]
    SameKind {
        /// The kind that both publish.
        kind: String,
        /// Name of one plugin.
        first: String,
        /// Name of the other.
        second: String,
    },
}

impl PluginArgs {
    /// Connects to all at once; those that are not there yet are waited for.
    pub async fn connect(
        &self,
        until: Instant,
        calls: &Arc<CallMetrics>,
    ) -> Result<(Vec<Connected>, Vec<Supervision>), PluginsError> {
        let connecting = self.endpoints.iter().map(|endpoint| {
            let mut options = Options::new(endpoint.clone());
            options.tls = self.tls.files();
            options.bridge_version = env!("CARGO_PKG_VERSION").into();
            options.observer = Arc::clone(calls) as _;
            async move {
                let what = format!("the plugin at {endpoint}");
                let connect = || Plugin::connect(options.clone());
                let (plugin, supervision) =
                    retry_until(&what, until, HandshakeError::is_temporary, connect).await?;
                let endpoint = endpoint.clone();
                Ok::<_, HandshakeError>((Connected { endpoint, plugin }, supervision))
            }
        });
        let (connected, supervisions): (Vec<_>, Vec<_>) = try_join_all(connecting).await?.into_iter().unzip();
        check_distinct(&connected)?;
        Ok((connected, supervisions))
    }
}

/// No plugin twice, and no kind from two plugins.
fn check_distinct(plugins: &[Connected]) -> Result<(), PluginsError> {
    for (i, second) in plugins.iter().enumerate() {
        for first in &plugins[..i] {
            let (one, other) = (first.served(), second.served());
            if one.info.name == other.info.name {
                return Err(PluginsError::SamePlugin {
                    name: one.info.name.clone(),
                    first: first.endpoint.to_string(),
                    second: second.endpoint.to_string(),
                });
            }
            let both = one.kinds.iter().find(|kind| {
                other.kinds.iter().any(|another| {
                    (&another.resource_type.group, &another.plural)
                        == (&kind.resource_type.group, &kind.plural)
                })
            });
            if let Some(kind) = both {
                return Err(PluginsError::SameKind {
                    kind: kind.resource_type.to_string(),
                    first: one.info.name.clone(),
                    second: other.info.name.clone(),
                });
            }
        }
    }
    Ok(())
}
