//! `runtime-bridge dev` as a person uses it, with a plugin that does nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use bridge_control_plane::process::{Output, Process, ScratchDir, Signal, Spawn};
use serde_json::Value;

use crate::compositions::{composition, definition, order};

const LIMIT: Duration = Duration::from_mins(2);

/// A definition and an object of it, in the order in which a person would write them.
const MANIFESTS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.dev}
spec:
  group: example.dev
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
---
apiVersion: example.dev/v1
kind: Thing
metadata: {name: one}
spec: {size: 3}
";

struct Dev {
    process: Process,
    lines: Receiver<String>,
    read: Vec<String>,
    folder: ScratchDir,
}

/// Starts it with a plugin command and manifests.
fn dev(plugin: &str, manifests: &str) -> Dev {
    dev_with(plugin, manifests, &[])
}

/// Starts `runtime-bridge dev` with more flags.
fn dev_with(plugin: &str, manifests: &str, flags: &[&str]) -> Dev {
    start(manifests, &[&["--plugin-command", plugin], flags].concat())
}

fn start(manifests: &str, flags: &[&str]) -> Dev {
    let folder = ScratchDir::new("crossbridge-dev-test-").unwrap();
    let manifest = folder.path().join("manifest.yaml");
    fs::write(&manifest, manifests).unwrap();
    let (send, lines) = channel();
    let errors = send.clone();
    let process = command()
        .args(["dev", "--apply"])
        .arg(manifest)
        .arg("--state-file")
        .arg(folder.path().join("state.json"))
        .args(flags)
        .stdout(Output::lines(move |line| drop(send.send(line.to_owned()))))
        .stderr(Output::lines(move |line| drop(errors.send(line.to_owned()))))
        .spawn()
        .unwrap();
    Dev {
        process,
        lines,
        read: Vec::new(),
        folder,
    }
}

fn command() -> Spawn {
    Spawn::new(env!("CARGO_BIN_EXE_runtime-bridge"))
}

impl Dev {
    /// The line that contains this: one that was read, or one to come. Which process prints first is not certain.
    fn until(&mut self, part: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Some(line) = self.read.iter().find(|line| line.contains(part)) {
                return line.clone();
            }
            match self.lines.recv_timeout(LIMIT.saturating_sub(begun.elapsed())) {
                Ok(line) => self.read.push(line),
                Err(error) => panic!(
                    "no line with {part:?}: {error}; there was:\n{}",
                    self.read.join("\n")
                ),
            }
        }
    }

    fn state(&self) -> Value {
        serde_json::from_slice(&fs::read(self.folder.path().join("state.json")).unwrap()).unwrap()
    }

    fn kubeconfig(&self) -> PathBuf {
        self.state()["kubeconfig"].as_str().unwrap().into()
    }

    async fn kubectl(&self, arguments: &[&str]) {
        let kubectl = Spawn::new(self.state()["kubectl"].as_str().unwrap())
            .args(arguments)
            .env("KUBECONFIG", self.kubeconfig());
        let ran = kubectl.spawn().unwrap().wait_for(LIMIT).await.unwrap();
        assert!(ran.success(), "kubectl {arguments:?}: {ran}");
    }
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_applies_prints_restarts_and_cleans_up() {
    let mut dev = dev(
        "sh -c 'echo at $PROVIDER_PLUGIN_ENDPOINT; exec sleep 1000'",
        MANIFESTS,
    );
    assert!(dev.until("plugin | at").contains("unix:///"));
    dev.until("CustomResourceDefinition things.example.dev: applied");
    dev.until("Thing default/one: created");

    let pid = dev.state()["processes"]["plugin"]["pid"].as_u64().unwrap();
    let killed = Spawn::new("kill").args(["-9", &pid.to_string()]).spawn().unwrap();
    assert!(killed.wait_for(LIMIT).await.unwrap().success());
    dev.until("plugin: ended (signal: 9 (SIGKILL)); starts again");
    until("the plugin is started again", || {
        dev.state()["processes"]["plugin"]["starts"] == 2
    })
    .await;

    let kubeconfig = dev.kubeconfig();
    dev.process.signal(Signal::TERM);
    assert_eq!(dev.process.wait_for(LIMIT).await.unwrap().code(), Some(0));
    assert!(!kubeconfig.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_restarts_the_plugin_when_a_watched_file_changes() {
    let sources = ScratchDir::new("crossbridge-dev-test-sources-").unwrap();
    let script = sources.path().join("plugin.sh");
    fs::write(&script, "echo this is the first; exec sleep 1000").unwrap();
    let plugin = format!("sh {}", script.display());
    let watched = sources.path().display().to_string();
    let mut dev = dev_with(&plugin, MANIFESTS, &["--watch", &watched]);
    dev.until("plugin | this is the first");
    fs::write(&script, "echo this is the second; exec sleep 1000").unwrap();
    dev.until("plugin: starts again: ");
    dev.until("plugin | this is the second");
    // What failed is started at once when it changes, however often it failed.
    fs::write(&script, "echo this is broken; exit 3").unwrap();
    dev.until("plugin: ended (exit status: 3); starts again in 1.6 s");
    fs::write(&script, "echo this is mended; exec sleep 1000").unwrap();
    dev.until("plugin | this is mended");
    dev.process.signal(Signal::TERM);
    assert_eq!(dev.process.wait_for(LIMIT).await.unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn dev_runs_functions_and_prints_what_is_composed() {
    let function = Path::new(env!("CARGO_BIN_EXE_runtime-bridge")).with_file_name("fake-function");
    let function = format!("f='{}' --address {{address}}", function.display());
    let manifests = [definition(), composition(), order("a", 2)].map(|one| one.to_string());
    let mut dev = start(
        &manifests.join("\n---\n"),
        &["--compositions", "--function-command", &function],
    );
    assert!(dev.until("function f | listening at").contains("unix:///"));
    dev.until("Order default/a: Ready=True (Available)");
    let composed = dev.until("created as \"first\" of Order a");
    let name = composed
        .split_whitespace()
        .find(|word| word.starts_with("default/"))
        .unwrap()
        .trim_end_matches(':')
        .to_owned();
    dev.until(&format!("Order default/a: composes ConfigMap {name}"));

    let pid = dev.state()["processes"]["function f"]["pid"].as_u64().unwrap();
    let killed = Spawn::new("kill").args(["-9", &pid.to_string()]).spawn().unwrap();
    assert!(killed.wait_for(LIMIT).await.unwrap().success());
    dev.until("function f: ended (signal: 9 (SIGKILL)); starts again");
    until("the function is started again", || {
        dev.state()["processes"]["function f"]["starts"] == 2
    })
    .await;
    // The one that was started again is called, and by it the order composes nothing.
    let shrunk = dev.folder.path().join("shrunk.json");
    fs::write(&shrunk, order("a", 1).to_string()).unwrap();
    dev.kubectl(&["apply", "-f", shrunk.to_str().unwrap()]).await;
    dev.until(&format!("ConfigMap {name}: was deleted"));
    dev.process.signal(Signal::TERM);
    assert_eq!(dev.process.wait_for(LIMIT).await.unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_manifest_is_named_and_ends_the_command() {
    let mut dev = dev("sleep 1000", &MANIFESTS.replace("size: 3", "sise: 3"));
    let error = dev.until("error:");
    assert!(
        error.contains("document 2 of") && error.contains("rejects Thing one") && error.contains("sise"),
        "{error}"
    );
    assert_eq!(dev.process.wait_for(LIMIT).await.unwrap().code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_leaves_nothing() {
    let mut dev = dev("sleep 1000", MANIFESTS);
    dev.until("Thing default/one: created");
    let kubeconfig = dev.kubeconfig();
    dev.process.kill();
    dev.process.wait_for(LIMIT).await.unwrap();
    let folder = kubeconfig.parent().unwrap();
    until("the folder is gone", || !folder.exists()).await;
}

#[tokio::test]
async fn mistakes_are_reported_before_startup() {
    let fails = async |arguments: &[&str]| {
        let (send, lines) = channel();
        let process = command()
            .args(arguments)
            .stdout(Output::Null)
            .stderr(Output::lines(move |line| drop(send.send(line.to_owned()))))
            .spawn()
            .unwrap();
        let code = process.wait_for(LIMIT).await.unwrap().code();
        (code, lines.iter().collect::<Vec<_>>().join("\n"))
    };
    let (code, said) = fails(&["dev"]).await;
    assert!(
        code == Some(2) && said.contains("--plugin-command"),
        "{code:?} {said}"
    );
    let (code, said) = fails(&["dev", "--compositions", "--function-command", "true"]).await;
    assert!(
        code == Some(2) && said.contains("write NAME='COMMAND'"),
        "{code:?} {said}"
    );
    let (code, said) = fails(&["dev", "--plugin-command", "a 'b"]).await;
    assert!(
        code == Some(2) && said.contains("a quote is not closed"),
        "{code:?} {said}"
    );
    let (code, said) = fails(&["dev", "--plugin-command", "/nope/x"]).await;
    assert!(
        code == Some(2) && said.contains("there is no program \"/nope/x\""),
        "{code:?} {said}"
    );
    let (code, said) = fails(&["dev", "--plugin-command", "true", "--apply", "/nowhere"]).await;
    assert!(
        code == Some(1) && said.contains("cannot read /nowhere"),
        "{code:?} {said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flag_that_the_bridge_does_not_know_ends_it() {
    let mut dev = dev_with("sleep 1000", MANIFESTS, &["--", "--no-such-flag"]);
    dev.until("error: the bridge does not take its flags (exit code 2)");
    assert!(dev.until("unexpected argument").contains("--no-such-flag"));
    assert_eq!(dev.process.wait_for(LIMIT).await.unwrap().code(), Some(1));
}
