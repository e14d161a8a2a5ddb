//! Where the plugin listens, and a channel to it.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint as TonicEndpoint, Identity, Uri};

/// An endpoint that does not accept a connection by then is unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The kit's side of mutual TLS, all PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Authorities that may have signed the plugin's certificate.
    pub ca: PathBuf,
    /// The kit's certificate chain.
    pub certificate: PathBuf,
    /// The private key of that certificate.
    pub key: PathBuf,
}

/// Address of a plugin, and what is needed to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    uri: String,
    tls: Option<TlsFiles>,
    /// Comes without a certificate of its own.
    is_anonymous: bool,
}

/// An address that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EndpointError(String);

impl TlsFiles {
    /// The kit's flags that name them.
    pub fn flags(&self) -> [String; 3] {
        let flag = |name: &str, path: &Path| format!("--tls-{name}={}", path.display());
        [
            flag("ca", &self.ca),
            flag("cert", &self.certificate),
            flag("key", &self.key),
        ]
    }
}

impl Endpoint {
    /// `unix:/path`, `unix:///path`, `https://host:port`, or `http://` on loopback.
    pub fn new(text: &str, tls: Option<TlsFiles>) -> Result<Self, EndpointError> {
        let malformed = || {
            EndpointError(format!(
                "`{text}` is not the address of a plugin: write unix:///path, https://host:port or http://127.0.0.1:port"
            ))
        };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if !path.starts_with('/') || path.len() < 2 {
                return Err(malformed());
            }
            return Ok(Self {
                uri: format!("unix://{path}"),
                tls: None,
                is_anonymous: false,
            });
        }
        let uri: Uri = text.parse().map_err(|_| malformed())?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(malformed)?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(malformed());
        }
        match uri.scheme_str() {
            Some("https") if tls.is_some() => Ok(Self {
                uri: text.to_owned(),
                tls,
                is_anonymous: false,
            }),
            Some("https") => Err(EndpointError(format!(
                "{text} needs mutual TLS: give --tls-ca, --tls-cert and --tls-key"
            ))),
            Some("http") if is_loopback(host) => Ok(Self {
                uri: text.to_owned(),
                tls: None,
                is_anonymous: false,
            }),
            Some("http") => Err(EndpointError(format!(
                "`{text}` would send credentials in the clear: plain http:// is for loopback only, use https://"
            ))),
            _ => Err(malformed()),
        }
    }

    /// The address, as the plugin's `PROVIDER_PLUGIN_ENDPOINT` wants it.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The same for a client that has no certificate.
    pub(crate) fn without_name(&self) -> Self {
        Self {
            is_anonymous: true,
            ..self.clone()
        }
    }

    /// The path of a Unix socket.
    pub(crate) fn socket(&self) -> Option<&str> {
        self.uri.strip_prefix("unix://")
    }

    /// A channel that connects when it is first used, and again when the connection is lost. With `authority`, requests name that
    /// one as whom they are for.
    pub(crate) fn channel(&self, authority: Option<&str>) -> Result<Channel, EndpointError> {
        let mut endpoint = TonicEndpoint::from_shared(self.uri.clone())
            .map_err(|_| EndpointError(format!("`{}` is no address", self.uri)))?
            .connect_timeout(CONNECT_TIMEOUT);
        if let Some(authority) = authority {
            let origin: Uri = format!("http://{authority}")
                .parse()
                .map_err(|_| EndpointError(format!("`{authority}` is no authority")))?;
            endpoint = endpoint.origin(origin);
        }
        let Some(files) = &self.tls else {
            return Ok(endpoint.connect_lazy());
        };
        let read = |path: &PathBuf| {
            fs::read(path).map_err(|error| EndpointError(format!("cannot read {}: {error}", path.display())))
        };
        // tonic takes the process's provider, and a program that links two needs one named. An error means that one is named already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(&files.ca)?));
        if !self.is_anonymous {
            config = config.identity(Identity::from_pem(read(&files.certificate)?, read(&files.key)?));
        }
        let endpoint = endpoint
            .tls_config(config)
            .map_err(|error| EndpointError(format!("cannot use the TLS files: {error}")))?;
        Ok(endpoint.connect_lazy())
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn sockets_and_loopback_are_accepted_in_every_spelling() {
        for (text, uri) in [
            ("unix:/run/plugin.sock", "unix:///run/plugin.sock"),
            ("unix:///run/plugin.sock", "unix:///run/plugin.sock"),
            ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
            ("http://[::1]:9000", "http://[::1]:9000"),
        ] {
            assert_eq!(Endpoint::new(text, None).unwrap().uri(), uri);
        }
    }

    #[test]
    fn an_invalid_endpoint_is_rejected() {
        for text in [
            "",
            "plugin.sock",
            "unix:",
            "unix:plugin.sock",
            "http://10.0.0.1:80",
            "https://host:1",
            "tcp://127.0.0.1:1",
        ] {
            assert!(Endpoint::new(text, None).is_err(), "{text}");
        }
    }
}
