//! `runtime-bridge dev` with the plugin of a page, as a newcomer runs it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use bridge_control_plane::process::{Output, Process, Signal, Spawn};
use bridge_e2e::binary;
use serde_json::Value;

pub const LIMIT: Duration = Duration::from_mins(2);

/// `runtime-bridge dev` with the plugin of a page, and what it printed.
pub struct Dev {
    pub process: Process,
    lines: Receiver<String>,
    read: Vec<String>,
    state_file: PathBuf,
}

impl Dev {
    /// With a folder that stays.
    pub fn start(scratch: &Path, kept: &Path) -> Self {
        Self::spawn(scratch, Self::command(scratch).arg("--keep").arg(kept))
    }

    /// As README has it.
    pub fn start_without_keep(scratch: &Path, manifests: &Path) -> Self {
        Self::spawn(scratch, Self::command(scratch).arg("--apply").arg(manifests))
    }

    fn command(scratch: &Path) -> Spawn {
        Spawn::new(binary("runtime-bridge"))
            .args(["dev", "--plugin-command"])
            .arg(binary("files-plugin"))
            .arg("--state-file")
            .arg(scratch.join("state.json"))
    }

    fn spawn(scratch: &Path, dev: Spawn) -> Self {
        let (send, lines) = channel();
        let errors = send.clone();
        let process = dev
            .stdout(Output::lines(move |line| drop(send.send(line.to_owned()))))
            .stderr(Output::lines(move |line| drop(errors.send(line.to_owned()))))
            .spawn()
            .unwrap_or_else(|error| panic!("{error}"));
        Self {
            process,
            lines,
            read: Vec::new(),
            state_file: scratch.join("state.json"),
        }
    }

    /// Waits until kinds are served, so that the state file is written; what it printed stays to be returned.
    pub fn until_running(&mut self) {
        let line = self.until("CRD files.files.example.org established");
        self.read.push(line);
    }

    /// The first line with this that was not returned yet.
    pub fn until(&mut self, part: &str) -> String {
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

    pub fn state(&self, field: &str) -> String {
        let state: Value =
            serde_json::from_slice(&fs::read(&self.state_file).expect("a state file")).expect("JSON");
        state[field].as_str().expect(field).to_owned()
    }

    pub async fn run(&self, program: &str, arguments: &[&str]) -> String {
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
    pub async fn explain(&self, field: &str) -> String {
        self.run_once_found(&["explain", field], "couldn't find resource")
            .await
    }

    /// What kubectl prints, once it does not fail with this any more.
    async fn run_once_found(&self, arguments: &[&str], missing: &str) -> String {
        let begun = Instant::now();
        loop {
            match self.ran(&self.state("kubectl"), arguments).await {
                Ok(printed) => return printed,
                Err(printed) => assert!(printed.contains(missing) && begun.elapsed() < LIMIT, "{printed}"),
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    pub async fn kubectl(&self, arguments: &[&str]) -> String {
        self.run(&self.state("kubectl"), arguments).await
    }

    /// As a user does, as soon as the API server has found the kind, some moments after it serves it.
    pub async fn apply(&self, manifest: &Path) {
        let manifest = manifest.to_str().expect("a path");
        let arguments = ["apply", "--validate=strict", "-f", manifest];
        self.run_once_found(&arguments, "no matches for kind").await;
    }

    /// What the bridge counts.
    pub async fn metrics(&self) -> String {
        let answer = reqwest::get(format!("{}/metrics", self.state("admin"))).await;
        answer.expect("an answer").text().await.expect("text")
    }

    /// Asks for a reconcile now, each time anew.
    pub async fn reconcile(&self, word: &str) {
        let annotation = format!("crossplane.io/reconcile-requested-at={word}");
        self.kubectl(&["annotate", "--overwrite", "file", "notes.txt", &annotation])
            .await;
    }

    pub async fn stop(self) {
        self.process.signal(Signal::TERM);
        assert_eq!(
            self.process.wait_for(LIMIT).await.expect("it ends").code(),
            Some(0)
        );
    }
}

/// The manifests of the example, with a folder of the test's own.
pub fn manifests(scratch: &Path, folder: &Path) -> PathBuf {
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
