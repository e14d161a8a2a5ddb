//! Where a plugin or function listens: a Unix socket, TCP with mutual TLS, or plain TCP on loopback.

use std::{fmt, net::IpAddr, path::PathBuf, str::FromStr, time::Duration};

use bridge_core::error_chain;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint as TonicEndpoint, Uri};

use crate::{
    large, peer,
    tls::{TlsFiles, Unreadable},
};

/// An endpoint that does not accept a connection by then is unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection on which nothing is said for so long is asked whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Address of a plugin or function: `unix:///run/plugin.sock`, `https://host:port`, or `http://127.0.0.1:port`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Endpoint(Transport);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Transport {
    /// Path of the socket, and the user whose process listens there; `None`: whoever does.
    Unix(PathBuf, Option<u32>),
    /// `http://` to a loopback address, without TLS.
    Plain(Uri),
    MutualTls(Uri),
}

/// An address that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The text is no URI of a known scheme.
    #[error("`{text}` is not an endpoint: write unix:///path, https://host:port or http://127.0.0.1:port")]
    Malformed {
        /// The endpoint as it was configured.
        text: String,
    },
    /// Plain TCP to another machine.
    #[error("`{text}` would send credentials in the clear: plain http:// is for loopback only, use https://")]
    PlainText {
        /// The endpoint as it was configured.
        text: String,
    },
    /// `https://` without the files.
    #[error("{endpoint} needs mutual TLS: give the files of the authorities, the certificate and the key")]
    NoTlsFiles {
        /// The endpoint that needs them.
        endpoint: Endpoint,
    },
    /// A certificate, key or authority file cannot be read.
    #[error("cannot read {path}: {source}")]
    TlsFile {
        /// The file that cannot be read.
        path: PathBuf,
        /// Why it cannot be read.
        source: std::io::Error,
    },
    /// The files are no certificates and key.
    #[error("cannot use the TLS files for {endpoint}: {why}")]
    Tls {
        /// The endpoint that the files are for.
        endpoint: Endpoint,
        /// What is wrong with the files, without their contents.
        why: String,
    },
    /// Nothing says which user's process listens there.
    #[error("who listens at {endpoint} cannot be checked: only a Unix socket tells its user")]
    NoUser {
        /// The endpoint.
        endpoint: Endpoint,
    },
    /// The name has no address.
    #[error("cannot resolve {host}: {why}")]
    Unresolved {
        /// The name.
        host: String,
        /// Why.
        why: String,
    },
}

impl From<Unreadable> for EndpointError {
    fn from(Unreadable { path, source }: Unreadable) -> Self {
        Self::TlsFile { path, source }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || EndpointError::Malformed {
            text: text.to_owned(),
        };
        if let Some(path) = text.strip_prefix("unix://") {
            let absolute = path.starts_with('/') && path.len() > 1;
            return if absolute {
                Ok(Self(Transport::Unix(path.into(), None)))
            } else {
                Err(malformed())
            };
        }
        let uri: Uri = text.parse().map_err(|_| malformed())?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(malformed)?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() || !is_plain(&uri, host) {
            return Err(malformed());
        }
        match uri.scheme_str() {
            Some("https") => Ok(Self(Transport::MutualTls(uri))),
            Some("http") if is_loopback(host) => Ok(Self(Transport::Plain(uri))),
            Some("http") => Err(EndpointError::PlainText {
                text: text.to_owned(),
            }),
            _ => Err(malformed()),
        }
    }
}

/// Whether nothing but a port stands beside the host. A URI lets a user's name stand before it, and the parser anything behind a bracket.
fn is_plain(uri: &Uri, host: &str) -> bool {
    let authority = uri.authority().map_or("", http::uri::Authority::as_str);
    match authority.strip_prefix(host) {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix(':')
            .is_some_and(|port| port.parse::<u16>().is_ok()),
        None => false,
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Transport::Unix(path, _) => write!(f, "unix://{}", path.display()),
            Transport::Plain(uri) | Transport::MutualTls(uri) => {
                f.write_str(uri.to_string().trim_end_matches('/'))
            }
        }
    }
}

impl Endpoint {
    /// A channel that connects when it is first used, and again when the connection is lost. Nothing is sent here.
    ///
    /// No HTTP/2 keep-alive: gRPC servers in Go and C close a connection that pings more often than every five minutes. TCP's keep-alive
    /// finds out that the other machine is down.
    pub fn channel(&self, tls: Option<&TlsFiles>) -> Result<Channel, EndpointError> {
        match &self.0 {
            Transport::Unix(path, Some(user)) => {
                let endpoint = self.unconnected("http://plugin".to_owned())?;
                Ok(peer::channel(&endpoint, path.clone(), *user))
            }
            Transport::Unix(_, None) | Transport::Plain(_) => {
                Ok(self.unconnected(self.to_string())?.connect_lazy())
            }
            Transport::MutualTls(_) => {
                let config = self.files(tls)?.config()?;
                Ok(self.with_tls(self.to_string(), config)?.connect_lazy())
            }
        }
    }

    /// The same, where only a process of this user is connected to.
    ///
    /// # Errors
    /// It is no Unix socket.
    pub fn of_user(self, user: u32) -> Result<Self, EndpointError> {
        match self.0 {
            Transport::Unix(path, _) => Ok(Self(Transport::Unix(path, Some(user)))),
            other => Err(EndpointError::NoUser {
                endpoint: Self(other),
            }),
        }
    }

    /// The host and port of one with TLS.
    pub(crate) fn tls_host(&self) -> Option<(String, u16)> {
        let Transport::MutualTls(uri) = &self.0 else {
            return None;
        };
        let host = uri.host()?.trim_start_matches('[').trim_end_matches(']');
        Some((host.to_owned(), uri.port_u16().unwrap_or(443)))
    }

    /// The files, which one with TLS needs.
    pub(crate) fn files<'a>(&self, tls: Option<&'a TlsFiles>) -> Result<&'a TlsFiles, EndpointError> {
        tls.ok_or_else(|| EndpointError::NoTlsFiles {
            endpoint: self.clone(),
        })
    }

    /// A channel to one of its addresses: what is checked and asked for there is the endpoint itself.
    pub(crate) fn channel_to(
        &self,
        address: &str,
        config: ClientTlsConfig,
    ) -> Result<Channel, EndpointError> {
        let Transport::MutualTls(uri) = &self.0 else {
            return self.channel(None);
        };
        let endpoint = self.with_tls(format!("https://{address}"), config)?;
        Ok(endpoint.origin(uri.clone()).connect_lazy())
    }

    /// With its own name in the TLS files' configuration, whatever is connected to.
    pub(crate) fn with_tls(
        &self,
        connected: String,
        config: ClientTlsConfig,
    ) -> Result<TonicEndpoint, EndpointError> {
        // The limit of a connection is one of TCP alone: a peer that accepts and says nothing would hold a call up for all of its time.
        let config = config.timeout(CONNECT_TIMEOUT);
        let config = match self.tls_host() {
            Some((host, _)) => config.domain_name(host),
            None => config,
        };
        let endpoint = self.unconnected(connected)?.tls_config(config);
        endpoint.map_err(|error| EndpointError::Tls {
            endpoint: self.clone(),
            why: error_chain(&error),
        })
    }

    fn unconnected(&self, connected: String) -> Result<TonicEndpoint, EndpointError> {
        Ok(TonicEndpoint::from_shared(connected)
            .map_err(|_| EndpointError::Malformed {
                text: self.to_string(),
            })?
            .initial_stream_window_size(large::STREAM)
            .initial_connection_window_size(large::CONNECTION)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(Some(KEEP_ALIVE))
            .tcp_keepalive_interval(Some(KEEP_ALIVE / 3))
            .tcp_keepalive_retries(Some(3)))
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, EndpointError};

    #[test]
    fn an_endpoint_prints_as_it_was_given() {
        for text in [
            "unix:///run/plugin.sock",
            "http://127.0.0.1:9000",
            "http://[::1]:9000",
            "http://localhost:9000",
            "https://plugin.example.org:9000",
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_endpoint_is_rejected() {
        for text in [
            "",
            "plugin.sock",
            "/run/plugin.sock",
            "unix:",
            "unix://",
            "unix:///",
            "unix://run/plugin.sock",
            "tcp://127.0.0.1:9000",
            "https://",
            "https://host/path",
            "127.0.0.1:9000",
            "http://[::1]x",
            "http://127.0.0.1:port",
            "https://user@host:443",
        ] {
            let error = text.parse::<Endpoint>().unwrap_err();
            assert!(
                matches!(error, EndpointError::Malformed { .. }),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn plain_tcp_is_for_loopback_only() {
        for text in [
            "http://10.0.0.1:80",
            "http://plugin.example.org:80",
            "http://localhost.example.org:80",
        ] {
            let error = text.parse::<Endpoint>().unwrap_err();
            assert!(
                matches!(error, EndpointError::PlainText { .. }),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn https_needs_its_files() {
        let endpoint: Endpoint = "https://plugin.example.org:9000".parse().unwrap();
        let error = endpoint.channel(None).unwrap_err();
        assert!(matches!(error, EndpointError::NoTlsFiles { .. }), "{error}");
    }
}
