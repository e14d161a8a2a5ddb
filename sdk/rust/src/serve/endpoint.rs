//! Where a plugin is served.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::PathBuf,
};

use super::ServeError;

/// Where a plugin is served.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// `unix:///path`: only its owner can reach it.
    Unix(PathBuf),
    /// `http://`, this machine only.
    Loopback(Vec<SocketAddr>),
    /// `https://`, with mutual TLS.
    Tls(Vec<SocketAddr>),
}

impl Endpoint {
    /// Reads an endpoint, and resolves its host.
    ///
    /// # Errors
    /// [`ServeError::Endpoint`]; also for plaintext beyond this machine.
    pub(super) fn parse(endpoint: &str) -> Result<Self, ServeError> {
        let refuse = |why: String| ServeError::Endpoint {
            endpoint: endpoint.to_owned(),
            why,
        };
        let Some((scheme, rest)) = endpoint.split_once("://") else {
            return Err(refuse(
                "write unix:///path, http://127.0.0.1:port or https://host:port".to_owned(),
            ));
        };
        match scheme {
            "unix" if rest.starts_with('/') => Ok(Self::Unix(PathBuf::from(rest))),
            "unix" => Err(refuse("a socket needs an absolute path: unix:///path".to_owned())),
            "http" | "https" => {
                let addresses: Vec<_> = rest
                    .trim_end_matches('/')
                    .to_socket_addrs()
                    .map_err(|error| refuse(format!("{error}; write {scheme}://host:port")))?
                    .collect();
                if scheme == "https" {
                    return Ok(Self::Tls(addresses));
                }
                if addresses.iter().all(|address| address.ip().is_loopback()) {
                    return Ok(Self::Loopback(addresses));
                }
                Err(refuse(
                    "plaintext is served on loopback only, as calls carry credentials; use https, or a unix socket"
                        .to_owned(),
                ))
            }
            _ => Err(refuse(format!("{scheme} is none of unix, http, https"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read() {
        let loopback = || vec!["127.0.0.1:80".parse().expect("an address")];
        let cases = [
            (
                "unix:///run/plugin.sock",
                Endpoint::Unix(PathBuf::from("/run/plugin.sock")),
            ),
            ("http://127.0.0.1:80", Endpoint::Loopback(loopback())),
            ("https://127.0.0.1:80/", Endpoint::Tls(loopback())),
            (
                "https://0.0.0.0:443",
                Endpoint::Tls(vec!["0.0.0.0:443".parse().expect("an address")]),
            ),
        ];
        for (text, endpoint) in cases {
            assert_eq!(Endpoint::parse(text).expect(text), endpoint);
        }
    }

    #[test]
    fn an_unservable_endpoint_names_the_alternative() {
        let cases = [
            ("/run/plugin.sock", "unix:///path"),
            ("unix://plugin.sock", "absolute"),
            ("http://0.0.0.0:80", "loopback only"),
            ("http://127.0.0.1", "http://host:port"),
            ("tcp://127.0.0.1:80", "none of"),
        ];
        for (text, advice) in cases {
            let error = Endpoint::parse(text).expect_err(text).to_string();
            assert!(error.contains(advice), "{text}: {error}");
        }
    }
}
