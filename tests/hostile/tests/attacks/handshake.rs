//! A plugin that lies about itself, publishes what is not its own, or never comes to an end.

use std::sync::atomic::{AtomicU64, Ordering};

use bridge_hostile::{Attack, GROUP, HOSTILE, HostilePlugin, MINE, Scene, kind};
use crossbridge_proto::v1alpha1::{
    GetPluginInfoResponse, ListResourceKindsResponse, ResourceKind, ResourceKindSummary,
};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tonic::Status;

struct OfNeighbours;

impl Attack for OfNeighbours {
    fn kinds(&self) -> Vec<ResourceKind> {
        vec![
            kind(GROUP, "Plant"),
            kind(GROUP, "ClusterProviderConfig"),
            kind(HOSTILE, MINE),
        ]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_of_a_neighbour_are_not_taken() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, OfNeighbours)).await;
    scene
        .until_logged("--allow-group evil.example.org=garden.example.org")
        .await;
    scene.verdict("kinds-of-a-neighbour").await;
}

/// Calls itself so.
struct Called(&'static str);

impl Attack for Called {
    fn info(&self) -> GetPluginInfoResponse {
        GetPluginInfoResponse {
            name: self.0.into(),
            ..OfNeighbours.info()
        }
    }

    fn kinds(&self) -> Vec<ResourceKind> {
        OfNeighbours.kinds()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_a_neighbour_gives_nothing() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, Called(GROUP))).await;
    scene.until_logged("are both the plugin garden.example.org").await;
    scene.verdict("name-of-a-neighbour").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_above_a_neighbours_gives_nothing() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, Called("example.org"))).await;
    scene
        .until_logged("its group belongs to the plugin garden.example.org")
        .await;
    scene.verdict("name-above-a-neighbours").await;
}

/// What it says begins lines of the log, and commands terminals.
struct Forger;

#[tonic::async_trait]
impl Attack for Forger {
    async fn page(&self, _: &str) -> Result<ListResourceKindsResponse, Status> {
        Err(Status::internal(
            "x\n2026-01-01T00:00:00Z ERROR forged: \u{1b}[2J",
        ))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_line_of_the_log_is_forged() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, Forger)).await;
    scene.until_logged("forged").await;
    scene.verdict("forged-log").await;
    let log = scene.logged();
    assert!(!log.contains('\u{1b}'), "no escape");
    assert!(
        log.lines().all(|line| !line.starts_with("2026-01-01")),
        "no line of its own"
    );
}

/// One kind a page, and always one page more.
struct EndlessPages(AtomicU64);

#[tonic::async_trait]
impl Attack for EndlessPages {
    async fn page(&self, _: &str) -> Result<ListResourceKindsResponse, Status> {
        let page = self.0.fetch_add(1, Ordering::Relaxed);
        Ok(ListResourceKindsResponse {
            kinds: vec![ResourceKindSummary {
                resource_type: kind(HOSTILE, &format!("Trap{page}")).resource_type,
                digest: "1".into(),
            }],
            next_page_token: page.to_string(),
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_without_end_are_given_up() {
    let scene =
        Scene::with_plugin(|socket| HostilePlugin::serve(socket, EndlessPages(AtomicU64::new(0)))).await;
    scene.verdict("endless-pages").await;
}

/// All claim one short name, so that the API server establishes the first alone.
struct OneShortName(usize);

impl Attack for OneShortName {
    fn kinds(&self) -> Vec<ResourceKind> {
        let kinds = (0..self.0).map(|at| ResourceKind {
            short_names: vec!["trap".into()],
            ..kind(HOSTILE, &format!("Trap{at}"))
        });
        kinds.collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_that_are_never_established_delay_no_other() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, OneShortName(100))).await;
    scene.until_admin("/debug/state", "NamesAccepted").await;
    scene.verdict("one-short-name").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_kinds_is_rejected() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, OneShortName(2000))).await;
    scene.until_admin("/readyz", "512").await;
    scene.verdict("2000-kinds").await;
    let of_evil = scene
        .list("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
        .await;
    assert!(
        !of_evil.to_string().contains("traps"),
        "no CRD of it is installed"
    );
}

/// As many kinds as there may be, each with schemas that take as much memory as they may.
struct LargestSchemas(Vec<ResourceKind>);

impl LargestSchemas {
    fn new() -> Self {
        let numbers: Vec<u8> = vec![1; 32_000];
        let property = json!({ "type": "integer", "enum": numbers });
        let schema = json!({ "type": "object", "properties": { "number": property } }).to_string();
        let kinds = (0..512).map(|at| ResourceKind {
            parameters_schema_json: schema.clone(),
            status_schema_json: schema.clone(),
            field_rules: Vec::new(),
            ..kind(HOSTILE, &format!("Trap{at}"))
        });
        Self(kinds.collect())
    }
}

impl Attack for LargestSchemas {
    fn kinds(&self) -> Vec<ResourceKind> {
        self.0.clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_with_the_largest_schemas_fill_no_memory() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, LargestSchemas::new())).await;
    scene.until_admin("/readyz", "524288 values").await;
    scene.verdict("largest-schemas").await;
}

/// Another version, and another process, each time that it is asked.
struct Flapping(AtomicU64);

impl Attack for Flapping {
    fn info(&self) -> GetPluginInfoResponse {
        let asked = self.0.fetch_add(1, Ordering::Relaxed);
        GetPluginInfoResponse {
            version: format!("1.0.{asked}"),
            instance_id: asked.to_string(),
            max_concurrent_calls: 1 + i32::try_from(asked % 100).unwrap_or(0),
            ..OfNeighbours.info()
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_never_the_same_restarts_nobody() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, Flapping(AtomicU64::new(0)))).await;
    scene.traps(5).await;
    scene.verdict("flapping").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_grpc_harm_nobody() {
    let scene = Scene::with_plugin(|socket| {
        HostilePlugin::serve_bytes(socket, |mut stream| async move {
            // A valid beginning of HTTP/2, then frames of an unknown kind as fast as they are read.
            let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
            let unknown: Vec<u8> = [0, 64, 0, 0xee, 0, 0, 0, 0, 0]
                .into_iter()
                .chain([0xff; 64 << 8])
                .collect();
            if stream.write_all(&settings).await.is_ok() {
                while stream.write_all(&unknown).await.is_ok() {}
            }
        })
    })
    .await;
    scene.verdict("endless-bytes").await;
}
