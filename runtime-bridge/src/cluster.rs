//! Which cluster, and in which namespace of it the bridge runs.

use std::{fs, path::PathBuf, sync::Arc};

use bridge_engine::{
    client::{Clients, ConnectError, ConnectOptions},
    metrics::Metrics,
};
use clap::Args;
use tokio::time::Instant;

use crate::retry_until::retry_until;

/// Where a pod finds the name of its namespace.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// How to reach the cluster.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster")]
pub struct ClusterArgs {
    /// Kubeconfig file. Without it: KUBECONFIG, else the pod's service account, else ~/.kube/config.
    #[arg(long, env = "CROSSBRIDGE_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; its current one if not given.
    #[arg(long, env = "CROSSBRIDGE_CONTEXT", value_name = "NAME")]
    pub context: Option<String>,
    /// Namespace of the bridge's own Secrets. Without it: the pod's, else `default`.
    #[arg(long, env = "CROSSBRIDGE_NAMESPACE", value_name = "NAME")]
    pub namespace: Option<String>,
}

impl ClusterArgs {
    /// Connects; an API server that does not answer yet is waited for until `until`.
    pub async fn connect(&self, metrics: &Arc<Metrics>, until: Instant) -> Result<Clients, ConnectError> {
        let options = ConnectOptions {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
        };
        let temporary = |error: &ConnectError| match error {
            ConnectError::Unreachable { source, .. } => source.is_transient(),
            ConnectError::Kubeconfig { .. } | ConnectError::NoConfig(_) | ConnectError::Client { .. } => {
                false
            }
        };
        retry_until("the API server", until, temporary, || {
            Clients::connect(&options, metrics)
        })
        .await
    }

    /// Namespace of the bridge's own Secrets.
    pub fn own_namespace(&self) -> String {
        let of_pod = || {
            fs::read_to_string(NAMESPACE_FILE)
                .ok()
                .map(|text| text.trim().to_owned())
        };
        self.namespace
            .clone()
            .or_else(of_pod)
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or_else(|| "default".to_owned())
    }
}
