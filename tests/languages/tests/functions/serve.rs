//! `runtime-bridge serve` and functions that are killed, replaced by a later release, and given certificates of another authority, while it runs.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bridge_control_plane::{
    ControlPlane, Options,
    process::{Process, ScratchDir, Spawn},
};
use bridge_languages::{Function, binary};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
};
use provider_conformance::certificates::{Certificates, free_address};
use serde_json::{Value, json};

use crate::{
    example::{install, next_release, of_server},
    host::{Host, serve_tls},
};

const LIMIT: Duration = Duration::from_mins(1);

struct Served {
    plane: ControlPlane,
    client: Client,
    bridge: Process,
}

impl Served {
    async fn start(flags: &[&str]) -> Self {
        let plane = ControlPlane::start(Options::default())
            .await
            .expect("a control plane");
        let bridge = Spawn::new(binary("runtime-bridge"))
            .args([
                "serve",
                "--compositions",
                "--admin-address",
                "127.0.0.1:0",
                "--kubeconfig",
            ])
            .arg(plane.kubeconfig())
            .args(flags)
            .spawn()
            .expect("the bridge starts");
        let config = Kubeconfig::read_from(plane.kubeconfig()).expect("a kubeconfig");
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
        // A build of the whole workspace includes two providers: one must be named. An error means that it is.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            client: Client::try_from(config.expect("a usable kubeconfig")).expect("a client"),
            plane,
            bridge,
        }
    }

    fn api(&self, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), "default", &resource)
    }

    /// All manifests of an example, each as soon as its kind is served.
    async fn apply(&self, function: Function) {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let files = fs::read_dir(examples.join(function.name()).join("manifests")).expect("the manifests");
        let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        for file in files {
            let begun = Instant::now();
            let applied = async || {
                let kubectl = Spawn::new(self.plane.kubectl())
                    .args(["apply", "-f"])
                    .arg(&file)
                    .env("KUBECONFIG", self.plane.kubeconfig());
                let ended = kubectl.spawn().expect("it starts").wait_for(LIMIT).await;
                ended.is_ok_and(|status| status.success())
            };
            while !applied().await {
                assert!(begun.elapsed() < LIMIT, "{} is not taken", file.display());
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }

    /// Texts of all config maps that are composed for it, in order.
    async fn composed(&self, name: &str, field: &str) -> Vec<String> {
        let of = ListParams::default().labels(&format!("crossplane.io/composite={name}"));
        let all = self.api("", "v1", "ConfigMap").list(&of).await.expect("a list");
        let texts = all.iter().filter_map(|one| one.data["data"][field].as_str());
        let mut texts: Vec<String> = texts.map(str::to_owned).collect();
        texts.sort();
        texts
    }
}

async fn change(of: &Api<DynamicObject>, name: &str, spec: Value) {
    let patch = Patch::Merge(json!({ "spec": spec }));
    let patched = of.patch(name, &PatchParams::default(), &patch).await;
    patched.expect("it is changed");
}

/// Polls until it is so, and shows what it is if that does not come.
async fn until(of: &Api<DynamicObject>, name: &str, is_so: impl AsyncFn(&DynamicObject) -> bool) {
    let begun = Instant::now();
    loop {
        let object = of.get(name).await.expect("it exists");
        if is_so(&object).await {
            return;
        }
        assert!(begun.elapsed() < LIMIT, "{:#}", object.data["status"]);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Status and message of a condition of this generation.
fn condition(object: &DynamicObject, type_: &str) -> Option<(bool, String)> {
    let conditions = object.data["status"]["conditions"].as_array()?;
    let condition = conditions.iter().find(|one| one["type"] == type_)?;
    let is_current = condition["observedGeneration"].as_i64() == object.metadata.generation;
    is_current.then(|| {
        let message = condition["message"].as_str().unwrap_or_default();
        (condition["status"] == "True", message.to_owned())
    })
}

fn is_ready(object: &DynamicObject) -> bool {
    ["Ready", "Synced"]
        .iter()
        .all(|type_| condition(object, type_).is_some_and(|(holds, _)| holds))
}

#[tokio::test]
async fn what_a_killed_function_composes_stays_until_the_next_release_answers() {
    let mut host = Host::start(Function::Example, &[]).await;
    let served = Served::start(&["--function", &format!("notices={}", host.endpoint())]).await;
    served.apply(Function::Example).await;
    let notices = served.api("example.org", "v1alpha1", "Notice");
    until(&notices, "step", async |notice| is_ready(notice)).await;
    let pages = async || served.composed("step", "page.txt").await;
    let before = pages().await;
    assert_eq!(before, ["Mind the step.\nMind the step.\nMind the step."]);

    host.process.kill();
    host.process.wait().await;
    change(&notices, "step", json!({ "text": "Mind the gap.", "copies": 1 })).await;
    until(&notices, "step", async |notice| {
        condition(notice, "Synced").is_some_and(|(holds, message)| {
            !holds && message.contains("Function \"notices\"") && message.contains("cannot reach it")
        })
    })
    .await;
    assert_eq!(pages().await, before);
    host.restart().await;
    until(&notices, "step", async |notice| {
        is_ready(notice) && pages().await == ["Mind the gap."]
    })
    .await;

    // A later release takes its place.
    let next = next_release("\"page.txt\": page,", "\"page.txt\": page.upper(),");
    host.process.kill();
    host.process.wait().await;
    host.upgrade(next.path()).await;
    change(&notices, "step", json!({ "text": "Mind the door." })).await;
    until(&notices, "step", async |notice| {
        is_ready(notice) && pages().await == ["MIND THE DOOR."]
    })
    .await;

    let deleted = notices.delete("step", &DeleteParams::default()).await;
    deleted.expect("it is deleted");
    let begun = Instant::now();
    while notices.get_opt("step").await.expect("an answer").is_some() {
        assert!(begun.elapsed() < LIMIT, "it does not go");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(served.composed("step", "text").await, Vec::<String>::new());
    assert!(served.bridge.stop(LIMIT).await.success());
}

#[tokio::test]
async fn certificates_of_another_authority_are_taken_up_while_a_bridge_serves() {
    let [first, second, bridge, server] =
        [(); 4].map(|()| ScratchDir::new("crossbridge-functions-").expect("a folder"));
    let [first, second] =
        [first.path(), second.path()].map(|folder| Certificates::generate(folder).expect("certificates"));
    let of_client = |of: &Certificates| {
        let files = [&of.client.certificate, &of.client.key, &of.client.ca];
        install(bridge.path(), files.map(PathBuf::as_path));
    };
    of_client(&first);
    install(server.path(), of_server(&first));
    let endpoint = free_address().expect("a free port");
    let address = endpoint.trim_start_matches("https://");
    let process = serve_tls(Function::TypeScript, address, server.path()).await;
    let tls = bridge.path().to_string_lossy();
    let function = format!("timetables={address}");
    let served = Served::start(&["--function-tls-dir", tls.as_ref(), "--function", &function]).await;
    served.apply(Function::TypeScript).await;
    let timetables = served.api("example.org", "v1alpha1", "Timetable");
    until(&timetables, "station", async |timetable| is_ready(timetable)).await;
    assert_eq!(served.composed("station", "line").await, ["bus", "tram"]);

    // The bridge's side first: nothing is composed by a function of the former authority.
    of_client(&second);
    let lines = json!([{ "name": "ferry", "departures": ["09:00"] }]);
    change(&timetables, "station", json!({ "lines": lines })).await;
    until(&timetables, "station", async |timetable| {
        condition(timetable, "Synced")
            .is_some_and(|(holds, message)| !holds && message.contains("Function \"timetables\""))
    })
    .await;
    assert_eq!(served.composed("station", "line").await, ["bus", "tram"]);
    process.kill();
    process.wait().await;
    install(server.path(), of_server(&second));
    let _process = serve_tls(Function::TypeScript, address, server.path()).await;
    until(&timetables, "station", async |timetable| {
        is_ready(timetable) && served.composed("station", "line").await == ["ferry"]
    })
    .await;
    assert!(served.bridge.stop(LIMIT).await.success());
}
