use std::path::PathBuf;

use bridge_plugin::TlsFiles;
use clap::Args;

/// Mutual TLS with plugins: all three files, or none.
#[derive(Debug, Clone, Args)]
pub struct TlsArgs {
    /// PEM file of the authorities that sign plugins' certificates, for https:// endpoints.
    #[arg(
        long,
        env = "CROSSBRIDGE_PLUGIN_CA",
        value_name = "FILE",
        requires = "plugin_cert"
    )]
    pub plugin_ca: Option<PathBuf>,
    /// Client certificate (PEM file), for https:// endpoints.
    #[arg(
        long,
        env = "CROSSBRIDGE_PLUGIN_CERT",
        value_name = "FILE",
        requires = "plugin_key"
    )]
    pub plugin_cert: Option<PathBuf>,
    /// PEM file of the certificate's key.
    #[arg(
        long,
        env = "CROSSBRIDGE_PLUGIN_KEY",
        value_name = "FILE",
        requires = "plugin_ca"
    )]
    pub plugin_key: Option<PathBuf>,
}

impl TlsArgs {
    /// The files, where they are given.
    pub fn files(&self) -> Option<TlsFiles> {
        Some(TlsFiles {
            ca: self.plugin_ca.clone()?,
            certificate: self.plugin_cert.clone()?,
            key: self.plugin_key.clone()?,
        })
    }
}
