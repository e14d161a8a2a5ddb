//! Why a plugin could not be served.

use std::{error::Error, fmt, io, path::PathBuf};

/// Why a plugin could not be served. `Debug` reads like `Display` with its causes, so that `main` may return it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The plugin's own declarations are wrong: a kind, a name, a schema.
    #[error("the plugin is declared wrongly: {0}")]
    Declaration(String),
    /// The environment names no endpoint.
    #[error(
        "set {0} to the address at which the bridge finds this plugin: unix:///path, https://host:port, or http://127.0.0.1:port"
    )]
    NoEndpoint(&'static str),
    /// The endpoint is of no form that can be served.
    #[error("cannot serve at {endpoint:?}: {why}")]
    Endpoint {
        /// The text as it was configured.
        endpoint: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The socket file is another's, or cannot be created.
    #[error("cannot serve at the socket {}: {why}", path.display())]
    Socket {
        /// The socket file's path.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A TCP port cannot be bound.
    #[error("cannot bind the port")]
    Bind(#[source] io::Error),
    /// A file of certificates or keys cannot be read.
    #[error("cannot read the file that {variable} names")]
    TlsFile {
        /// The environment variable that names the file.
        variable: &'static str,
        /// Why the file cannot be read.
        #[source]
        source: io::Error,
    },
    /// An `https` endpoint needs three files.
    #[error("an https endpoint needs mutual TLS: set {0} to a PEM file")]
    NoTlsFile(&'static str),
    /// The name that clients must bear is none.
    #[error(
        "{0} is neither a DNS name nor an IP address: set it to a subject alternative name of the bridge's certificate, or not at all"
    )]
    ClientName(&'static str),
    /// Certificates and keys do not fit together.
    #[error("the certificate, its key and the CA cannot be used")]
    Tls(#[source] TlsProblem),
    /// Signals cannot be heard.
    #[error("cannot listen for SIGTERM and SIGINT")]
    Signal(#[source] io::Error),
    /// The reflection service cannot be built.
    #[error("cannot serve reflection")]
    Reflection(#[source] tonic_reflection::server::Error),
    /// The server broke off.
    #[error("the gRPC server failed")]
    Transport(#[source] tonic::transport::Error),
}

/// What is wrong with a certificate, a key or an authority.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsProblem {
    /// A file is no PEM, or holds nothing of the kind.
    #[error("a file is not in PEM form")]
    Pem(#[from] rustls::pki_types::pem::Error),
    /// A certificate and its key do not fit together, or are of no known form.
    #[error("a certificate or a key cannot be used")]
    Certificate(#[from] rustls::Error),
    /// The authority of clients holds no certificate that can be used.
    #[error("the authority of clients cannot be used")]
    Authority(#[from] rustls::server::VerifierBuilderError),
}

impl fmt::Debug for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut source = self.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}
