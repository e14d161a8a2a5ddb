//! Where a function listens, as text.

use std::{fmt, net::IpAddr, str::FromStr};

/// Endpoint of a function. Prints as a URI: a gRPC target `host:port` or `dns:///host:port` as `https://host:port`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionEndpoint(String);

/// Text that is no endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEndpoint {
    /// Of no known form.
    #[error(
        "\"{text}\" is not an endpoint of a function: write unix:///path, https://host:port, host:port or http://127.0.0.1:port"
    )]
    Malformed {
        /// As it was given.
        text: String,
    },
    /// Plain TCP to another machine.
    #[error(
        "\"{text}\" would send objects and credentials in the clear: plain http:// is for loopback only, use https://"
    )]
    PlainText {
        /// As it was given.
        text: String,
    },
}

impl FromStr for FunctionEndpoint {
    type Err = InvalidEndpoint;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let malformed = || InvalidEndpoint::Malformed {
            text: text.to_owned(),
        };
        if let Some(rest) = text.strip_prefix("unix:") {
            let path = rest.strip_prefix("//").unwrap_or(rest);
            let is_file = path.starts_with('/') && !path.starts_with("//") && !path.ends_with('/');
            return if is_file {
                Ok(Self(format!("unix://{path}")))
            } else {
                Err(malformed())
            };
        }
        if let Some(address) = text.strip_prefix("http://") {
            let address = address.strip_suffix('/').unwrap_or(address);
            let host = host_of(address).ok_or_else(malformed)?;
            return if is_loopback(host) {
                Ok(Self(format!("http://{address}")))
            } else {
                Err(InvalidEndpoint::PlainText {
                    text: text.to_owned(),
                })
            };
        }
        let address = match text.strip_prefix("https://") {
            Some(address) => address.strip_suffix('/').unwrap_or(address),
            None => text.strip_prefix("dns:///").unwrap_or(text),
        };
        host_of(address).ok_or_else(malformed)?;
        Ok(Self(format!("https://{address}")))
    }
}

impl fmt::Display for FunctionEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The host of `host:port`, where that is what it is.
fn host_of(address: &str) -> Option<&str> {
    let (host, port) = address.rsplit_once(':')?;
    let is_port =
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0);
    let is_host = if let Some(rest) = host.strip_prefix('[') {
        let address = rest.strip_suffix(']')?.parse::<IpAddr>();
        address.is_ok_and(|address| address.is_ipv6())
    } else {
        let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        !host.is_empty() && host.bytes().all(is_of_name)
    };
    (is_port && is_host).then_some(host)
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> String {
        text.parse::<FunctionEndpoint>()
            .map_or_else(|error| error.to_string(), |endpoint| endpoint.to_string())
    }

    #[test]
    fn every_form_prints_as_a_uri() {
        for (text, uri) in [
            ("unix:///run/f.sock", "unix:///run/f.sock"),
            ("unix:/run/f.sock", "unix:///run/f.sock"),
            ("https://f.example.org:9443", "https://f.example.org:9443"),
            ("https://f.example.org:9443/", "https://f.example.org:9443"),
            ("f.example.org:9443", "https://f.example.org:9443"),
            ("dns:///f.example.org:9443", "https://f.example.org:9443"),
            ("10.0.0.1:9443", "https://10.0.0.1:9443"),
            ("[fd00::1]:9443", "https://[fd00::1]:9443"),
            ("http://127.0.0.1:9443", "http://127.0.0.1:9443"),
            ("http://localhost:9443/", "http://localhost:9443"),
            ("http://[::1]:9443", "http://[::1]:9443"),
        ] {
            assert_eq!(printed(text), uri, "{text}");
        }
    }

    #[test]
    fn other_text_is_rejected_with_what_to_write() {
        for text in [
            "",
            "f.sock",
            "/run/f.sock",
            "unix:",
            "unix:f.sock",
            "unix://run/f.sock",
            "unix:///",
            "f.example.org",
            "https://f.example.org",
            "https://f.example.org:9443/path",
            "https://user@f.example.org:9443",
            "dns://8.8.8.8/f.example.org:9443",
            "tcp://f.example.org:9443",
            "f.example.org:0",
            "f.example.org:+1",
            "f.example.org:65536",
            ":9443",
            "[f.example.org]:9443",
            "f example:9443",
        ] {
            let text_of_error = format!(
                "\"{text}\" is not an endpoint of a function: write unix:///path, https://host:port, host:port or http://127.0.0.1:port"
            );
            assert_eq!(printed(text), text_of_error);
        }
    }

    #[test]
    fn plain_tcp_is_for_loopback_only() {
        for text in [
            "http://10.0.0.1:80",
            "http://f.example.org:80",
            "http://localhost.example.org:80",
        ] {
            assert!(printed(text).contains("in the clear"), "{text}");
        }
    }
}
