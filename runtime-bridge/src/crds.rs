//! `runtime-bridge crds`: CRDs as YAML.

use std::io::{self, Write};

use bridge_core::crd::CROSSPLANE;
use bridge_engine::metrics::Metrics;
use clap::Args;
use tokio::time::Instant;

use crate::{
    definitions::Definitions,
    manifests::yaml_document,
    plugins::{CallMetrics, Groups, PluginArgs, PluginsError},
};

/// The plugins whose CRDs are printed.
#[derive(Debug, Clone, Args)]
pub struct CrdsArgs {
    #[command(flatten)]
    pub plugins: PluginArgs,
    /// Print the CRDs of the kinds that compositions are written in, before those of plugins.
    #[arg(long, env = "CROSSBRIDGE_COMPOSITIONS")]
    pub compositions: bool,
}

impl CrdsArgs {
    /// Something is printed.
    pub fn check(&self) -> Result<(), String> {
        if self.plugins.addresses.is_empty() && !self.compositions {
            return Err("nothing to print: give --plugin <ENDPOINT>, --compositions, or both".to_owned());
        }
        self.plugins.check()
    }
}

/// Why not all CRDs were printed.
#[derive(Debug, thiserror::Error)]
pub enum CrdsError {
    /// A plugin cannot be asked.
    #[error(transparent)]
    Plugins(#[from] PluginsError),
    /// Standard output is closed, or full.
    #[error("cannot write the CRDs: {0}")]
    Output(#[from] io::Error),
    /// A CRD is no YAML.
    #[error("cannot write a CRD as YAML: {0}")]
    Yaml(#[from] serde_yaml_ng::Error),
    /// The others were printed.
    #[error("left out: {}", .0.join("; "))]
    Refused(Vec<String>),
}

/// Prints the CRDs of compositions, if wanted, and of all plugins. A kind that cannot be served is left out, and is an error in the end.
pub async fn run(args: CrdsArgs) -> Result<(), CrdsError> {
    let until = Instant::now() + args.plugins.startup_timeout;
    let calls = CallMetrics::new(&Metrics::new());
    let plugins = args.plugins.connect_all(until, &calls).await?;
    let mut refused = Vec::new();
    let mut output = io::stdout().lock();
    for crd in CROSSPLANE.into_iter().filter(|_| args.compositions) {
        output.write_all(yaml_document(serde_yaml_ng::from_str(crd)?)?.as_bytes())?;
    }
    for plugin in plugins {
        let served = plugin.served();
        let groups = Groups::of(&served.info.name, &args.plugins.allow_group);
        let definitions = Definitions::of(&served, &groups);
        let configs = definitions.configs.into_iter().map(|(_, crd)| crd);
        let kinds = definitions.kinds.into_iter().map(|(_, crd)| crd);
        for crd in configs.chain(kinds) {
            output.write_all(yaml_document(crd)?.as_bytes())?;
        }
        refused.extend(definitions.refused.into_iter().map(|refused| refused.to_string()));
    }
    output.flush()?;
    if refused.is_empty() {
        Ok(())
    } else {
        Err(CrdsError::Refused(refused))
    }
}
