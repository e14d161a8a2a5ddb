//! `runtime-bridge call`: one call to a plugin, for people.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod fill;
mod json;
mod method;

use std::{
    io::{self, Read},
    process::ExitCode,
    time::Duration,
};

use bridge_plugin::{Endpoint, EndpointError, HandshakeError};
use clap::Args;
use serde_json::Value;

use self::{fill::Filled, method::Method};
use crate::{
    object_lookup::{ObjectLookupArgs, ObjectLookupError},
    output::print,
    plugins::TlsArgs,
};

/// What to call, and where.
#[derive(Debug, Clone, Args)]
pub struct CallArgs {
    /// Method of the contract: GetPluginInfo, Observe, PollOperation, … Upper and lower case are the same.
    #[arg(value_name = "METHOD")]
    pub method: String,
    /// Fill target, config, desired state and handle from this live object: KIND/NAME. Calls that change something are only printed then, as the
    /// bridge guards them by what it has stored.
    #[arg(value_name = "KIND/NAME")]
    pub object: Option<String>,
    /// Where the plugin listens: unix:///path, https://host:port, or http://127.0.0.1:port.
    #[arg(long, value_name = "ENDPOINT")]
    pub endpoint: Endpoint,
    /// The request as JSON; `-`: from standard input. Documents may be objects instead of text.
    #[arg(
        long,
        short,
        value_name = "JSON",
        default_value = "{}",
        conflicts_with = "object"
    )]
    pub data: String,
    /// Leave out fields of the request that its message does not have, as of the document of another method.
    #[arg(long)]
    pub allow_unknown_fields: bool,
    /// Print the request instead of sending it.
    #[arg(long)]
    pub print_request: bool,
    /// Print secrets, too, which are left out otherwise.
    #[arg(long)]
    pub show_secrets: bool,
    /// Deadline of the call; at most 60 s for one that changes something.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "30s",
        value_parser = crate::duration::parse_positive
    )]
    pub timeout: Duration,
    /// TLS files, for `https://` endpoints.
    #[command(flatten)]
    pub tls: TlsArgs,
    #[command(flatten)]
    pub looked_up: ObjectLookupArgs,
}

/// Why a call was not sent, or not answered.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The contract has no such method.
    #[error("the contract has no method {name}; it has {}", .known.join(", "))]
    Method {
        /// The method as it was given.
        name: String,
        /// The methods of the contract.
        known: Vec<String>,
    },
    /// The request is none.
    #[error("the request is no {message}: {why}")]
    Request {
        /// The name of the message that was expected.
        message: String,
        /// The field and what is wrong with it.
        why: String,
    },
    /// Standard input, which held the request, cannot be read.
    #[error("cannot read the request: {0}")]
    Input(#[from] io::Error),
    /// The endpoint cannot be used.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The plugin, asked what it serves.
    #[error(transparent)]
    Plugin(#[from] HandshakeError),
    /// The object that the request is filled from cannot be read.
    #[error(transparent)]
    LookedUpObject(#[from] ObjectLookupError),
    /// The object gives no request of this kind.
    #[error("{0}")]
    NotFilled(String),
    /// A change, filled from a live object.
    #[error(
        "{0} changes something, and what the bridge has stored does not know of a call by hand: see the request with --print-request, and send it with \
         --data if you must"
    )]
    Change(String),
    /// The plugin cannot be reached, or the connection broke.
    #[error("the connection to {endpoint} failed: {why}")]
    Unreachable {
        /// Where it was looked for.
        endpoint: String,
        /// The error of the connection.
        why: String,
    },
    /// The answer cannot be printed.
    #[error("cannot print the answer: {0}")]
    Output(io::Error),
    /// The plugin answered with a gRPC status other than OK.
    #[error("{code}: {message}")]
    Status {
        /// The name of the code, such as `UNIMPLEMENTED`.
        code: String,
        /// The message of the status.
        message: String,
    },
}

/// The exit code where the plugin answers with a Failure.
const FAILURE: u8 = 3;

/// Calls once, and prints the answer.
pub async fn run(args: CallArgs) -> Result<ExitCode, CallError> {
    let method = Method::find(&args.method)?;
    let Filled { request, changes } = match &args.object {
        Some(object) => fill::request(&args, object, &method).await?,
        None => Filled {
            request: given(&args.data, &method)?,
            changes: false,
        },
    };
    let message = method.request(&request, args.allow_unknown_fields)?;
    let mut code = ExitCode::SUCCESS;
    let answer = if args.print_request {
        method.print(&message, args.show_secrets)
    } else if changes {
        return Err(CallError::Change(method.name().to_owned()));
    } else {
        let channel = args.endpoint.channel(args.tls.files().as_ref())?;
        let answer = method.call(channel, message, args.timeout).await;
        let answer = answer.map_err(|error| error.at(&args.endpoint))?;
        if json::is_failure(&answer) {
            code = ExitCode::from(FAILURE);
        }
        method.print(&answer, args.show_secrets)
    };
    print(&format!("{answer:#}\n")).map_err(CallError::Output)?;
    Ok(code)
}

impl CallError {
    /// Of a connection that did not come about: where.
    fn at(self, endpoint: &Endpoint) -> Self {
        match self {
            Self::Unreachable { why, .. } => Self::Unreachable {
                endpoint: endpoint.to_string(),
                why,
            },
            other => other,
        }
    }
}

fn given(data: &str, method: &Method) -> Result<Value, CallError> {
    let mut text = data.to_owned();
    if data == "-" {
        text.clear();
        io::stdin().read_to_string(&mut text)?;
    }
    serde_json::from_str(&text).map_err(|error| CallError::Request {
        message: method.request_name(),
        why: error.to_string(),
    })
}
