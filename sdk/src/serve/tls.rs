//! Mutual TLS from files that the environment names.

use std::{env, fs};

use tonic::transport::{Certificate, Identity, ServerTlsConfig};

use super::ServeError;

/// Reads certificate, key and the CA of clients. A client without a certificate of that CA is not served.
pub(super) fn of_environment() -> Result<ServerTlsConfig, ServeError> {
    let certificate = pem("PROVIDER_PLUGIN_TLS_CERT")?;
    let key = pem("PROVIDER_PLUGIN_TLS_KEY")?;
    let clients = pem("PROVIDER_PLUGIN_TLS_CA")?;
    // tonic takes the process's provider, and a program that links two needs one named. An error means that one is named already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(ServerTlsConfig::new()
        .identity(Identity::from_pem(certificate, key))
        .client_ca_root(Certificate::from_pem(clients)))
}

fn pem(variable: &'static str) -> Result<Vec<u8>, ServeError> {
    let path = env::var_os(variable).ok_or(ServeError::NoTlsFile(variable))?;
    fs::read(path).map_err(|source| ServeError::TlsFile { variable, source })
}
