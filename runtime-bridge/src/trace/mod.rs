//! `runtime-bridge trace`: where an object stands, and what it waits for.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod bridge;
mod composite;
mod config;
mod facts;
mod references;
mod tree;
mod view;

use std::{env, fs, net::SocketAddr, path::PathBuf};

use bridge_engine::object::Object;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use self::{
    bridge::Endpoint,
    composite::{Desired, Gather, Node, compare_all, last_run, table},
    config::ConfigFacts,
    facts::{Facts, next_reconcile},
    view::{Next, View},
};
use crate::{
    admin::{self, NO_NAMESPACE, Seen},
    object_lookup::{KindRole, ObjectLookupArgs, ObjectLookupError, Reader},
    output::print,
};

/// The object to explain, and where to ask for it.
#[derive(Debug, Clone, Args)]
pub struct TraceArgs {
    /// The object: KIND/NAME, as in bucket/logs or buckets.s3.aws.crossbridge.dev/logs. Of a composite resource or a claim all that is below it
    /// is shown.
    #[arg(value_name = "KIND/NAME")]
    pub object: String,
    #[command(flatten)]
    pub live: ObjectLookupArgs,
    /// Admin endpoint of the bridge, for its last calls and its plan. It listens on loopback: run this in its pod, or forward its port. Without
    /// it: that of `runtime-bridge dev`, which writes it beside its kubeconfig, else 127.0.0.1:8081.
    #[arg(long, value_name = "ADDRESS")]
    pub admin_address: Option<SocketAddr>,
    /// How it is printed.
    #[arg(long, short, value_name = "FORMAT", default_value = "text", value_enum)]
    pub output: OutputFormat,
    /// Search objects that a composite resource controls and does not refer to among all kinds of the cluster. Without it: among the
    /// kinds that it refers to.
    #[arg(long)]
    pub all_kinds: bool,
}

/// How a trace is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Lines for people.
    Text,
    /// One JSON document, for programs.
    Json,
}

/// A tree for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ComposedView<'a> {
    #[serde(flatten)]
    root: &'a Node,
    /// The last run of the composite resource, or of that of the claim, and the calls of its steps; `None`: the bridge knows of none, or could not
    /// be asked, and `next` says why.
    composition: Option<Value>,
    next: Next<'a>,
}

/// Prints the tree of one object.
pub async fn run(args: TraceArgs) -> Result<(), ObjectLookupError> {
    let (object, reader) = args.live.find(&args.object).await?;
    let bridge = Endpoint(args.admin_address.unwrap_or_else(|| admin_address(&args.live)));
    let text = if reader.role(&object.api.kind) == KindRole::Other {
        let is_json = args.output == OutputFormat::Json;
        if config::is_config(&object) {
            let config = ConfigFacts::gather(&object, &reader).await;
            if is_json {
                json(&config)
            } else {
                config.tree(Timestamp::now()).to_string()
            }
        } else {
            let facts = facts(object, &reader, bridge).await;
            if is_json {
                json(&View::of(&facts))
            } else {
                facts.tree().to_string()
            }
        }
    } else {
        composed(&args, &object, &reader, bridge).await
    };
    print(&text).map_err(ObjectLookupError::Output)
}

/// That of `runtime-bridge dev`, where its kubeconfig is used.
fn admin_address(live: &ObjectLookupArgs) -> SocketAddr {
    let kubeconfig = live
        .kubeconfig
        .clone()
        .or_else(|| env::var_os("KUBECONFIG").map(PathBuf::from));
    let file = kubeconfig.and_then(|file| Some(file.parent()?.join(admin::ADDRESS_FILE)));
    let written = file.and_then(|file| fs::read_to_string(file).ok());
    let written = written.and_then(|text| text.trim().parse().ok());
    written.unwrap_or(admin::DEFAULT)
}

async fn facts(object: Object, reader: &Reader, bridge: Endpoint) -> Facts {
    Facts {
        now: Timestamp::now(),
        config: references::config(&object, reader).await,
        secrets: references::secrets(&object, reader).await,
        seen: seen(&object, bridge).await,
        object,
    }
}

/// The tree of a composite resource or a claim.
async fn composed(args: &TraceArgs, object: &Object, reader: &Reader, bridge: Endpoint) -> String {
    let gather = Gather::new(reader, args.all_kinds);
    let mut root = gather.tree(&object.to_value()).await;
    let seen = seen(object, bridge).await;
    // Where it does not answer about the root, it is not asked about each object below.
    let mut failed = Vec::new();
    if let Ok(seen) = &seen {
        root.reported.clone_from(&seen.composition);
        failed.extend(compare_all(&mut root, bridge).await.err());
    }
    let composite = root.composite().unwrap_or(&root);
    if args.output == OutputFormat::Json {
        let composition = composite.reported.clone();
        let next = Next::of(&seen);
        return json(&ComposedView {
            root: &root,
            composition,
            next,
        });
    }
    let mut text = table(&root);
    text.push('\n');
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    if let Some(composed_by) = composite.composed_by() {
        line(&composed_by);
    }
    let now = Timestamp::now();
    let reported = composite.reported.as_ref();
    for run in reported
        .map(|reported| last_run(reported, now))
        .unwrap_or_default()
    {
        line(&run);
    }
    for desired in composite.desired.iter().flat_map(Desired::lines) {
        line(&desired);
    }
    line(&next_reconcile(
        &seen,
        now,
        "it is reconciled, as a TTL, an interval or a wait ends,",
    ));
    for why in failed {
        line(&format!("not all is compared with what is desired: {why}"));
    }
    let (mut searched, mut failed) = (Vec::new(), Vec::new());
    for (kind, result) in gather.searched().await {
        match result {
            Ok(()) => searched.push(kind),
            Err(why) => failed.push(format!("{kind} ({why})")),
        }
    }
    if args.all_kinds && !searched.is_empty() {
        line(&format!(
            "objects that no reference names: searched in {} kinds",
            searched.len()
        ));
    } else if !searched.is_empty() {
        line(&format!(
            "objects that no reference names: searched in {}; --all-kinds searches all",
            searched.join(", ")
        ));
    }
    if !failed.is_empty() {
        line(&format!(
            "objects that no reference names: could not be searched in {}",
            failed.join(", ")
        ));
    }
    text
}

/// Neither value can fail to be written: they hold text alone.
fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    format!("{text}\n")
}

async fn seen(object: &Object, bridge: Endpoint) -> Result<Seen, String> {
    let kind = &object.api.kind;
    let namespace = object.namespace().unwrap_or(NO_NAMESPACE);
    let path = [kind.group(), kind.kind(), namespace, object.name(), object.uid()];
    bridge.seen(path).await
}
