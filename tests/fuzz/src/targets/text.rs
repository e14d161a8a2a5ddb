//! Short texts: where a plugin or function listens, and what is printed of others.

use bridge_core::function::FunctionEndpoint;
use bridge_transport::Endpoint;
use runtime_bridge::escape;

use super::same;
use crate::{Broken, Target, ensure, target::rejected};

/// Flags, annotations and revisions of functions name endpoints.
pub(super) const ENDPOINT: Target = Target {
    name: "endpoint",
    about: "endpoints: what is accepted prints as itself; nothing is sent in the clear to another machine; that of a function can be called",
    words: &[
        "unix://",
        "unix:",
        "https://",
        "http://",
        "dns:///",
        "127.0.0.1",
        "[::1]",
        "localhost",
        ":9443",
        "@",
        "?",
        "#",
        "example.org",
        "127.0.0.1.nip.io",
    ],
    judge: |input| {
        let text = String::from_utf8_lossy(input);
        let function = match text.parse::<FunctionEndpoint>() {
            Ok(endpoint) => {
                let printed = endpoint.to_string();
                clear_of_others(&printed)?;
                same("the endpoint", &Ok(endpoint), &printed.parse())?;
                let callable = printed.parse::<Endpoint>();
                ensure(callable.is_ok(), || {
                    format!("{printed} cannot be called: {callable:?}")
                })?;
                "function"
            }
            Err(error) => {
                rejected(&error.to_string())?;
                ""
            }
        };
        match text.parse::<Endpoint>() {
            Ok(endpoint) => {
                let printed = endpoint.to_string();
                clear_of_others(&printed)?;
                let again = printed.parse::<Endpoint>();
                ensure(again.as_ref().is_ok_and(|again| *again == endpoint), || {
                    format!("{printed} reads back as {again:?}")
                })?;
                Ok(format!("plugin {function} {printed:.5}"))
            }
            Err(error) => rejected(&error.to_string()).map(|why| format!("{function} {why}")),
        }
    },
};

/// Plain HTTP stays on this machine.
fn clear_of_others(endpoint: &str) -> Result<(), Broken> {
    let Some(rest) = endpoint.strip_prefix("http://") else {
        return Ok(());
    };
    let host = rest
        .rsplit_once(':')
        .map_or(rest, |(host, port)| match port.parse::<u16>() {
            Ok(_) => host,
            Err(_) => rest,
        });
    // What stands before it is a user's name.
    let host = host.rsplit('@').next().unwrap_or(host);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = bare == "localhost"
        || bare
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    ensure(is_loopback, || format!("{endpoint} is in the clear, to {host}"))
}

/// A line of a program, or what a plugin says, on a line of ours.
pub(super) const LOG: Target = Target {
    name: "log",
    about: "texts of others on a line of ours: no control character passes, and a text without any passes as it is",
    words: &[
        "\u{9b}",
        "\u{85}",
        "\u{1b}]0;",
        "\r",
        "2026-01-01T00:00:00Z ERROR",
    ],
    judge: |input| {
        let text = String::from_utf8_lossy(input);
        let escaped = escape::controls(&text);
        ensure(!escaped.contains(char::is_control), || {
            format!("a control character passes: {escaped:?}")
        })?;
        ensure(escaped.len() <= text.len() * 8, || {
            format!("it grew to {} bytes", escaped.len())
        })?;
        let plain: String = text.chars().filter(|letter| !letter.is_control()).collect();
        same("a plain text", &plain, &escape::controls(&plain).into_owned())?;
        Ok(format!("{}", plain.len() == text.len()))
    },
};
