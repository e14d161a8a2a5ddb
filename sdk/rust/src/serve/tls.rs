//! Mutual TLS from files that the environment names, read anew when they change.

use std::{
    env, fs, io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{
        CertificateDer, PrivateKeyDer, ServerName,
        pem::{self, PemObject},
    },
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::{ServeError, client_name::NamedClient, error::TlsProblem};

/// How long a client may take to introduce itself.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Connections that wait to be served.
const BACKLOG: usize = 16;

/// What is wrong for a moment, such as too many open files, is no reason for a busy loop.
const PAUSE: Duration = Duration::from_millis(100);

const CERTIFICATE: &str = "PROVIDER_PLUGIN_TLS_CERT";
const KEY: &str = "PROVIDER_PLUGIN_TLS_KEY";
const CLIENTS: &str = "PROVIDER_PLUGIN_TLS_CA";
const CLIENT_NAME: &str = "PROVIDER_PLUGIN_TLS_CLIENT_NAME";

/// The files, and what was made of them.
pub(super) struct Certificates {
    certificate: PathBuf,
    key: PathBuf,
    clients: PathBuf,
    /// That clients must bear; `None`: every one of the authority may call.
    client_name: Option<ServerName<'static>>,
    current: Mutex<Current>,
}

struct Current {
    files: Files,
    config: Arc<ServerConfig>,
    /// What keeps newer files from being used, so that it is logged once.
    problem: String,
}

/// Their contents. Has no `Debug`: one is a private key.
#[derive(PartialEq)]
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
    clients: Vec<u8>,
}

impl Certificates {
    /// Reads certificate, key and the authority of clients. A client without a certificate of that authority is not served.
    ///
    /// # Errors
    /// A variable that is not set, a file that cannot be read, or files that do not fit together.
    pub(super) fn of_environment() -> Result<Self, ServeError> {
        let path = |variable| {
            env::var_os(variable)
                .map(PathBuf::from)
                .ok_or(ServeError::NoTlsFile(variable))
        };
        let certificate = path(CERTIFICATE)?;
        let certificate_text = read(&certificate, CERTIFICATE)?;
        let (key, clients) = (path(KEY)?, path(CLIENTS)?);
        let files = Files {
            certificate: certificate_text,
            key: read(&key, KEY)?,
            clients: read(&clients, CLIENTS)?,
        };
        let client_name = client_name()?;
        let config = files.config(client_name.as_ref()).map_err(ServeError::Tls)?;
        Ok(Self {
            client_name,
            certificate,
            key,
            clients,
            current: Mutex::new(Current {
                files,
                config,
                problem: String::new(),
            }),
        })
    }

    /// For the next connection. Three small files are read for each: connections are rare, and last.
    fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match self.newer(&current) {
            Ok(None) => current.problem.clear(),
            Ok(Some((files, config))) => {
                tracing::info!("the TLS files have changed: new connections use them");
                *current = Current {
                    files,
                    config,
                    problem: String::new(),
                };
            }
            Err(error) => {
                // In the middle of a renewal the files may not fit together.
                let problem = format!("{error:?}");
                if current.problem != problem {
                    tracing::warn!(
                        problem,
                        "the TLS files have changed and cannot be used: those read last count"
                    );
                    current.problem = problem;
                }
            }
        }
        TlsAcceptor::from(Arc::clone(&current.config))
    }

    fn newer(&self, current: &Current) -> Result<Option<(Files, Arc<ServerConfig>)>, ServeError> {
        let files = Files {
            certificate: read(&self.certificate, CERTIFICATE)?,
            key: read(&self.key, KEY)?,
            clients: read(&self.clients, CLIENTS)?,
        };
        if files == current.files {
            return Ok(None);
        }
        let config = files.config(self.client_name.as_ref()).map_err(ServeError::Tls)?;
        Ok(Some((files, config)))
    }
}

fn read(path: &PathBuf, variable: &'static str) -> Result<Vec<u8>, ServeError> {
    fs::read(path).map_err(|source| ServeError::TlsFile { variable, source })
}

/// A DNS name or an IP address; none if the variable is not set, or empty.
fn client_name() -> Result<Option<ServerName<'static>>, ServeError> {
    match env::var(CLIENT_NAME) {
        Err(env::VarError::NotPresent) => Ok(None),
        Ok(name) if name.is_empty() => Ok(None),
        Ok(name) => ServerName::try_from(name)
            .map(Some)
            .map_err(|_| ServeError::ClientName(CLIENT_NAME)),
        Err(env::VarError::NotUnicode(_)) => Err(ServeError::ClientName(CLIENT_NAME)),
    }
}

impl Files {
    fn config(&self, client_name: Option<&ServerName<'static>>) -> Result<Arc<ServerConfig>, TlsProblem> {
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)?;
        let mut authority = RootCertStore::empty();
        for certificate in certificates(&self.clients)? {
            authority.add(certificate)?;
        }
        // A program that links two providers needs one named.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(authority), Arc::clone(&provider))
            .build()?;
        let clients: Arc<dyn ClientCertVerifier> = match client_name {
            Some(name) => Arc::new(NamedClient {
                authority: clients,
                name: name.clone(),
            }),
            None => clients,
        };
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(config))
    }
}

fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, pem::Error> {
    CertificateDer::pem_slice_iter(text).collect()
}

/// The connections of clients that have introduced themselves. One that is slow at it delays no other.
pub(super) fn incoming(
    listener: TcpListener,
    certificates: Certificates,
) -> mpsc::Receiver<io::Result<TlsStream<TcpStream>>> {
    let (accepted, connections) = mpsc::channel(BACKLOG);
    tokio::spawn(async move {
        loop {
            let connection = tokio::select! {
                connection = listener.accept() => connection,
                // Nobody serves them any more.
                () = accepted.closed() => return,
            };
            let stream = match connection {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let acceptor = certificates.acceptor();
            let accepted = accepted.clone();
            tokio::spawn(async move {
                // An answer is small, and should not wait for more.
                let _ = stream.set_nodelay(true);
                match timeout(HANDSHAKE, acceptor.accept(stream)).await {
                    Ok(Ok(stream)) => {
                        // It is closed if nobody serves any more.
                        let _ = accepted.send(Ok(stream)).await;
                    }
                    Ok(Err(error)) => tracing::debug!(%error, "a client was not served"),
                    Err(_elapsed) => tracing::debug!("a client did not introduce itself in time"),
                }
            });
        }
    });
    connections
}
