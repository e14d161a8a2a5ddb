//! What README promises of the first hour, with the plugin of a page: `dev`, `kubectl`, `trace`, drift, what is left.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use bridge_control_plane::process::{Output, Process, ScratchDir, Signal, Spawn};
use bridge_e2e::binary;
use serde_json::Value;

const LIMIT: Duration = Duration::from_mins(2);

/// `runtime-bridge dev` with the plugin of a page, and what it printed.
struct Dev {
    process: Process,
    lines: Receiver<String>,
    read: Vec<String>,
    state_file: PathBuf,
}

impl Dev {
    fn start(scratch: &Path, kept: &Path, manifests: Option<&Path>) -> Self {
        let state_file = scratch.join("state.json");
        let (send, lines) = channel();
        let errors = send.clone();
        let dev = Spawn::new(binary("runtime-bridge"))
            .args(["dev", "--plugin-command"])
            .arg(binary("files-plugin"))
            .arg("--keep")
            .arg(kept)
            .arg("--state-file")
            .arg(&state_file);
        let dev = match manifests {
            Some(manifests) => dev.arg("--apply").arg(manifests),
            None => dev,
        };
        let process = dev
            .stdout(Output::lines(move |line| drop(send.send(line.to_owned()))))
            .stderr(Output::lines(move |line| drop(errors.send(line.to_owned()))))
            .spawn()
            .unwrap_or_else(|error| panic!("{error}"));
        Self {
            process,
            lines,
            read: Vec::new(),
            state_file,
        }
    }

    /// The first line with this that was not returned yet.
    fn until(&mut self, part: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Some(at) = self.read.iter().position(|line| line.contains(part)) {
                return self.read.remove(at);
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

    fn state(&self, field: &str) -> String {
        let state: Value =
            serde_json::from_slice(&fs::read(&self.state_file).expect("a state file")).expect("JSON");
        state[field].as_str().expect(field).to_owned()
    }

    async fn run(&self, program: &str, arguments: &[&str]) -> String {
        let ran = self.ran(program, arguments).await;
        ran.unwrap_or_else(|printed| panic!("{program} {arguments:?}: {printed}"))
    }

    /// What it printed; as an error if it failed.
    async fn ran(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        let (send, lines) = channel();
        let errors = send.clone();
        let process = Spawn::new(program)
            .args(arguments)
            .env("KUBECONFIG", self.state("kubeconfig"))
            .stdout(Output::lines(move |line| drop(send.send(line.to_owned()))))
            .stderr(Output::lines(move |line| drop(errors.send(line.to_owned()))))
            .spawn()
            .unwrap_or_else(|error| panic!("{error}"));
        let ended = process
            .wait_for(LIMIT)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        let printed = lines.iter().collect::<Vec<_>>().join("\n");
        if ended.success() {
            Ok(printed)
        } else {
            Err(format!("{ended}: {printed}"))
        }
    }

    /// The fields of a kind, once the API server has them: it publishes the schema of a new kind some seconds after it
    /// serves the kind.
    async fn explain(&self, field: &str) -> String {
        let begun = Instant::now();
        loop {
            match self.ran(&self.state("kubectl"), &["explain", field]).await {
                Ok(explained) => return explained,
                Err(printed) => assert!(
                    printed.contains("couldn't find resource") && begun.elapsed() < LIMIT,
                    "{printed}"
                ),
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn kubectl(&self, arguments: &[&str]) -> String {
        self.run(&self.state("kubectl"), arguments).await
    }

    /// Asks for a reconcile now, each time anew.
    async fn reconcile(&self, word: &str) {
        let annotation = format!("crossplane.io/reconcile-requested-at={word}");
        self.kubectl(&["annotate", "--overwrite", "file", "notes.txt", &annotation])
            .await;
    }

    async fn stop(self) {
        self.process.signal(Signal::TERM);
        assert_eq!(
            self.process.wait_for(LIMIT).await.expect("it ends").code(),
            Some(0)
        );
    }
}

/// The manifests of the example, with a folder of the test's own.
fn manifests(scratch: &Path, folder: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/files-plugin/manifests");
    let to = scratch.join("manifests");
    fs::create_dir(&to).expect("a folder");
    for entry in fs::read_dir(from).expect("the manifests") {
        let entry = entry.expect("an entry");
        let text = fs::read_to_string(entry.path()).expect("a manifest");
        let text = text.replace("/tmp/files", folder.to_str().expect("a path"));
        fs::write(to.join(entry.file_name()), text).expect("it is written");
    }
    to
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_hour_is_as_the_readme_has_it() {
    let scratch = ScratchDir::new("crossbridge-first-hour-").expect("a folder");
    let (folder, kept) = (scratch.path().join("files"), scratch.path().join("kept"));
    fs::create_dir(&folder).expect("a folder");
    let file = folder.join("notes.txt");
    let mut dev = Dev::start(scratch.path(), &kept, Some(&manifests(scratch.path(), &folder)));
    assert!(dev.until("export KUBECONFIG=").contains("admin.kubeconfig"));
    assert!(dev.until("alias kubectl=").contains("kubectl"));
    // The config is checked before anything refers to it.
    dev.until("ProviderConfig default/default: Ready=True (Usable)");
    dev.until("File default/notes.txt: Ready=True (Available)");

    assert!(dev.kubectl(&["get", "managed", "-A"]).await.contains("notes.txt"));
    let explained = dev.explain("file.spec.forProvider").await;
    assert!(explained.contains("content"), "{explained}");
    let trace = dev
        .run(
            binary("runtime-bridge").to_str().expect("a path"),
            &["trace", "file/notes.txt"],
        )
        .await;
    for part in [
        "├─ last calls\n",
        "waits for: nothing",
        "ProviderConfig default/default",
        "last Create: completed",
    ] {
        assert!(trace.contains(part), "{part} in\n{trace}");
    }

    for round in 0..2 {
        fs::write(&file, "Buy nothing.").expect("it is changed");
        dev.reconcile(&format!("drift-{round}")).await;
        dev.until("event Normal CorrectedDrift: Corrected drift in /content");
    }
    for round in 0..2 {
        fs::remove_file(&file).expect("it is removed");
        dev.reconcile(&format!("absence-{round}")).await;
        dev.until("event Warning RecreatingExternalResource: \"notes.txt\" does not exist any more");
        dev.until("File default/notes.txt: Ready=True (Available)");
    }
    // A folder that goes away is a config that is not usable: at once, and with what to do.
    let patch = r#"{"spec":{"settings":{"folder":"/nowhere/at/all"}}}"#;
    dev.kubectl(&["patch", "providerconfig", "default", "--type=merge", "-p", patch])
        .await;
    let line = dev.until("ProviderConfig default/default: Ready=False (InvalidConfig)");
    assert!(
        line.contains("folder /nowhere/at/all does not exist; correct its settings"),
        "{line}"
    );
    dev.until("File default/notes.txt: Synced=False (InvalidConfig): connect failed");
    let patch = format!(r#"{{"spec":{{"settings":{{"folder":"{}"}}}}}}"#, folder.display());
    dev.kubectl(&["patch", "providerconfig", "default", "--type=merge", "-p", &patch])
        .await;
    dev.until("ProviderConfig default/default: Ready=True (Usable)");
    dev.until("File default/notes.txt: Synced=True (ReconcileSuccess)");

    dev.process.signal(Signal::TERM);
    assert!(dev.until("left: 1 external resource(s)").contains("--keep"));
    dev.until("File default/notes.txt: notes.txt");
    dev.stop().await;

    let mut dev = Dev::start(scratch.path(), &kept, None);
    dev.until("File default/notes.txt: created");
    dev.until("File default/notes.txt: Ready=True (Available)");
    dev.kubectl(&["delete", "file", "notes.txt", "--wait=true", "--timeout=60s"])
        .await;
    assert!(!file.exists());
    dev.process.signal(Signal::TERM);
    dev.until("left: no external resource");
    dev.stop().await;
}
