//! `runtime-bridge crds`: CRDs as YAML.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use bridge_core::crd::CROSSPLANE;
use bridge_engine::metrics::Metrics;
use clap::Args;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    definitions::Definitions,
    manifests::yaml_document,
    output::print,
    plugins::{CallMetrics, PluginArgs, PluginsError},
};

/// The plugins whose CRDs are printed.
#[derive(Debug, Clone, Args)]
pub struct CrdsArgs {
    #[command(flatten)]
    pub plugins: PluginArgs,
    /// Print the CRDs of the kinds that compositions are written in, before those of plugins.
    #[arg(long)]
    pub compositions: bool,
    /// Write each CRD into a file of its own, NAME.yaml, in this folder, which is created.
    #[arg(long, value_name = "DIR")]
    pub output_dir: Option<PathBuf>,
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
    /// Standard output cannot be written.
    #[error("cannot write the CRDs: {0}")]
    Output(#[from] io::Error),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
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
    let mut crds = Vec::new();
    for crd in CROSSPLANE.into_iter().filter(|_| args.compositions) {
        crds.push(serde_yaml_ng::from_str(crd)?);
    }
    for plugin in plugins {
        let served = plugin.served();
        let groups = args.plugins.groups();
        let definitions = Definitions::of(&served, &groups);
        let configs = definitions.configs.into_iter().map(|(_, crd)| crd);
        let kinds = definitions.kinds.into_iter().map(|(_, crd)| crd);
        crds.extend(configs.chain(kinds));
        refused.extend(definitions.refused.into_iter().map(|refused| refused.to_string()));
    }
    write(crds, args.output_dir.as_deref())?;
    if refused.is_empty() {
        Ok(())
    } else {
        Err(CrdsError::Refused(refused))
    }
}

/// All of them to standard output, or each into a file of the folder.
fn write(crds: Vec<Value>, folder: Option<&Path>) -> Result<(), CrdsError> {
    let Some(folder) = folder else {
        let documents: Result<String, _> = crds.into_iter().map(yaml_document).collect();
        return Ok(print(&documents?)?);
    };
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| CrdsError::File { path, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    for crd in crds {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        let path = folder.join(format!("{name}.yaml"));
        fs::write(&path, yaml_document(crd)?).map_err(failed(&path))?;
    }
    Ok(())
}
