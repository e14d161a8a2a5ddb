//! `runtime-bridge trace`: where an object stands, and what it waits for.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod facts;
mod references;
mod tree;

use std::net::SocketAddr;

use bridge_engine::object::Object;
use clap::Args;
use jiff::Timestamp;

use self::facts::Facts;
use crate::{
    admin::{self, NO_NAMESPACE, Seen},
    healthcheck::ask,
    object_lookup::{ObjectLookupArgs, ObjectLookupError},
};

/// The object to explain, and where to ask for it.
#[derive(Debug, Clone, Args)]
pub struct TraceArgs {
    /// The object: KIND/NAME, as in bucket/logs or buckets.s3.aws.crossbridge.dev/logs.
    #[arg(value_name = "KIND/NAME")]
    pub object: String,
    #[command(flatten)]
    pub live: ObjectLookupArgs,
    /// Admin endpoint of the bridge, for its last calls and its plan. It listens on loopback: run this in its pod, or forward its port.
    #[arg(long, env = "CROSSBRIDGE_ADMIN_ADDRESS", value_name = "ADDRESS", default_value = admin::DEFAULT_ADDRESS)]
    pub admin_address: SocketAddr,
}

/// Prints the tree of one object.
pub async fn run(args: TraceArgs) -> Result<(), ObjectLookupError> {
    let (object, reader) = args.live.find(&args.object).await?;
    let facts = Facts {
        now: Timestamp::now(),
        config: references::config(&object, &reader).await,
        secrets: references::secrets(&object, &reader).await,
        seen: seen(&object, args.admin_address).await,
        object,
    };
    print!("{}", facts.tree());
    Ok(())
}

async fn seen(object: &Object, address: SocketAddr) -> Result<Seen, String> {
    let kind = &object.api.kind;
    let namespace = object.namespace().unwrap_or(NO_NAMESPACE);
    let path = [kind.group(), kind.kind(), namespace, object.name(), object.uid()].join("/");
    let asked = tokio::time::timeout(admin::PATIENCE, ask(address, &format!("/debug/objects/{path}"))).await;
    let (status, text) = asked
        .map_err(|_| format!("no bridge answers at {address}"))?
        .map_err(|error| format!("no bridge answers at {address}: {error}"))?;
    if !status.is_success() {
        return Err(format!("the bridge at {address} answers {status}"));
    }
    serde_json::from_str(&text).map_err(|error| format!("the answer of {address} cannot be read: {error}"))
}
