//! docs/first-hour.md: what a newcomer types in the first hour, and what comes back. Every command in it is run here, by a shell, in a folder
//! that looks like a fresh clone; what differs from run to run is put into the same form.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::mpsc::channel,
};

use bridge_control_plane::process::{Output, ScratchDir, Signal, Spawn};
use bridge_e2e::{binary, golden};

use crate::dev::{Dev, LIMIT, manifests};

/// The folder of the example, in the document.
const FILES: &str = "/tmp/files";

const INTRODUCTION: &str = "\
# The first hour

What you type on a fresh clone, and what comes back. This page is written by a test that runs each command but
the build (`tests/e2e/tests/scenarios/first_hour_transcript.rs`), so it is as true as the tests are green. Durations are put as `…`; of `dev`, the lines
that matter are shown.

README says what must be installed. One build, ten minutes when it is the first; the control plane is built by the first `dev`:

```
cargo build -p runtime-bridge -p files-plugin -p provider-conformance
```
";

/// A shell in a folder like a fresh clone, and the document so far.
struct Transcript {
    clone: PathBuf,
    files: PathBuf,
    kubeconfig: String,
    kubectl: String,
    text: String,
}

impl Transcript {
    fn say(&mut self, prose: &str) {
        self.text.push_str(&format!("\n{prose}\n"));
    }

    /// Runs the commands; their output, by which the text goes on.
    async fn run(&mut self, commands: &[&str]) -> String {
        self.text.push_str("\n```\n");
        let mut all = String::new();
        for command in commands {
            let printed = self.shell(command).await;
            self.text.push_str(&format!("$ {command}\n{printed}"));
            all.push_str(&printed);
        }
        self.text.push_str("```\n");
        all
    }

    async fn shell(&self, command: &str) -> String {
        let (send, lines) = channel();
        let errors = send.clone();
        let path = std::env::var("PATH").unwrap_or_default();
        // A shell does not know its aliases when it runs one line alone.
        let own = self.clone.join("bin");
        let process = Spawn::new("sh")
            .args(["-c", "cd \"$1\" && eval \"$2\"", "sh"])
            .arg(&self.clone)
            .arg(command.replace(FILES, &self.files.display().to_string()))
            .env("KUBECONFIG", &self.kubeconfig)
            .env("PATH", format!("{}:{path}", own.display()))
            .stdout(Output::lines(move |line| drop(send.send(line.to_owned()))))
            .stderr(Output::lines(move |line| drop(errors.send(line.to_owned()))))
            .spawn()
            .unwrap_or_else(|error| panic!("{error}"));
        let ended = process.wait_for(LIMIT).await;
        let ended = ended.unwrap_or_else(|error| panic!("{command}: {error}"));
        let mut lines: Vec<String> = lines.iter().map(|line| self.readable(&line)).collect();
        // How often something is observed meanwhile depends on the machine.
        lines.dedup();
        let mut printed: String = lines
            .iter()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect();
        if let Some(code) = ended.code().filter(|code| *code != 0) {
            printed.push_str(&format!("(exit code {code})\n"));
        }
        printed
    }

    /// Waits for these lines of `dev`, and shows them.
    fn dev(&mut self, dev: &mut Dev, heading: &str, parts: &[&str]) {
        self.text.push_str(&format!("\n{heading}\n\n```\n"));
        for part in parts {
            let line = dev.until(&part.replace(FILES, &self.files.display().to_string()));
            let line = self.readable(&line);
            self.text.push_str(&format!("{}\n", line.trim_end()));
        }
        self.text.push_str("```\n");
    }

    fn readable(&self, line: &str) -> String {
        let line = line
            .replace(&self.files.display().to_string(), FILES)
            .replace(&self.kubeconfig, "/tmp/crossbridge-…/admin.kubeconfig")
            .replace(&self.kubectl, "~/.cache/crossbridge/…/kubectl")
            .replace(&format!("{}/", self.clone.display()), "");
        let line = golden::stable(&line);
        let time = line.trim_start();
        // `dev` begins its lines with the seconds since its start.
        match time.split_once(" s  ") {
            Some((seconds, rest)) if seconds.parse::<f64>().is_ok() => format!("… s  {rest}"),
            _ => line,
        }
    }
}

/// Programs and files where a clone has them.
fn clone(scratch: &Path, files: &Path) -> PathBuf {
    let clone = scratch.join("crossbridge");
    fs::create_dir_all(clone.join("target")).expect("a folder");
    fs::create_dir_all(clone.join("examples/files-plugin")).expect("a folder");
    fs::create_dir_all(clone.join("bin")).expect("a folder");
    let binaries = binary("runtime-bridge");
    let binaries = binaries.parent().expect("its folder");
    symlink(binaries, clone.join("target/debug")).expect("a link");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    symlink(repository.join("sdk"), clone.join("sdk")).expect("a link");
    let written = manifests(scratch, files);
    fs::rename(written, clone.join("examples/files-plugin/manifests")).expect("it is moved");
    clone
}

/// The kind is served, used, explained and traced.
async fn it_runs(hour: &mut Transcript, dev: &mut Dev) {
    hour.dev(
        dev,
        "`target/debug/runtime-bridge dev --plugin-command target/debug/files-plugin --apply examples/files-plugin/manifests` prints:",
        &[
            "control plane: starting",
            "control plane: ready",
            "export KUBECONFIG=",
            "alias kubectl=",
            "bridge: admin endpoint",
            "File: CRD files.files.example.org established",
            "ProviderConfig default/default: Ready=True",
            "File default/notes.txt: created",
            "event Normal CreatedExternalResource",
            "File default/notes.txt: Ready=True (Available)",
        ],
    );
    hour.say("In another terminal, with the two lines that `dev` has printed:");
    hour.run(&["cat /tmp/files/notes.txt; echo", "kubectl get managed -A"])
        .await;
    dev.explain("file.spec.forProvider").await;
    hour.run(&["kubectl explain file", "kubectl explain file.spec.forProvider"])
        .await;
    hour.say("A change, and a mistake:");
    let changed = hour
        .run(&[
            r#"kubectl patch file notes.txt --type merge -p '{"spec":{"forProvider":{"content":"Buy bread."}}}'"#,
            "kubectl wait file/notes.txt --for=jsonpath='{.status.atProvider.bytes}'=10",
            "cat /tmp/files/notes.txt; echo",
            r#"kubectl patch file notes.txt --type merge -p '{"spec":{"forProvider":{"content":5}}}'"#,
        ])
        .await;
    assert!(
        changed.contains("Buy bread.") && changed.contains("(exit code 1)"),
        "{changed}"
    );
    hour.say("What it waits for, its last calls, what comes next:");
    let trace = hour
        .run(&["target/debug/runtime-bridge trace file/notes.txt"])
        .await;
    assert!(trace.contains("waits for: nothing"), "{trace}");
}

/// The file is changed and removed behind the bridge's back.
async fn drift(hour: &mut Transcript, dev: &mut Dev) {
    hour.say(
        "## When somebody else changes it\n\nThe bridge observes each object every minute; the annotation asks for it now.",
    );
    hour.run(&[
        "echo 'Buy nothing.' > /tmp/files/notes.txt",
        "kubectl annotate file notes.txt --overwrite crossplane.io/reconcile-requested-at=1",
    ])
    .await;
    hour.dev(
        dev,
        "`dev` prints:",
        &["event Normal CorrectedDrift: Corrected drift in /content"],
    );
    hour.run(&[
        "cat /tmp/files/notes.txt; echo",
        "rm /tmp/files/notes.txt",
        "kubectl annotate file notes.txt --overwrite crossplane.io/reconcile-requested-at=2",
    ])
    .await;
    hour.dev(
        dev,
        "One absence may be a lie of the moment, so that it is observed again before anything is created anew: after five seconds, and within the \
         first seconds after a creation when its call can no more have an effect (`call_timeout` of the kind, five seconds here).",
        &[
            "event Warning RecreatingExternalResource: \"notes.txt\" does not exist any more",
            "File default/notes.txt: Ready=True (Available)",
        ],
    );
    hour.run(&["cat /tmp/files/notes.txt; echo"]).await;
}

/// A folder that does not exist, and the right one again.
async fn wrong_config(hour: &mut Transcript, dev: &mut Dev) {
    hour.say("## When the config is wrong");
    hour.run(&[r#"kubectl patch providerconfig default --type=merge -p '{"spec":{"settings":{"folder":"/nowhere"}}}'"#])
        .await;
    hour.dev(
        dev,
        "`dev` prints:",
        &[
            "ProviderConfig default/default: Ready=False (InvalidConfig)",
            "File default/notes.txt: Synced=False (InvalidConfig)",
        ],
    );
    hour.run(&["kubectl get providerconfigs,files"]).await;
    hour.run(&[r#"kubectl patch providerconfig default --type=merge -p '{"spec":{"settings":{"folder":"/tmp/files"}}}'"#])
        .await;
    hour.dev(
        dev,
        "It is checked again at once:",
        &[
            "ProviderConfig default/default: Ready=True (Usable)",
            "File default/notes.txt: Synced=True (ReconcileSuccess)",
        ],
    );
}

/// The kit, and a scaffold.
async fn a_plugin_of_ones_own(hour: &mut Transcript) {
    hour.say(
        "## Does it conform?\n\nThe kit judges the plugin by the contract, rule by rule. Here a part of the rules; without `--only` it is all of them, \
         in half a minute.",
    );
    let judged = hour
        .run(&["target/debug/provider-conformance --plugin-command target/debug/files-plugin --setting folder=/tmp/files --only=observe,delete"])
        .await;
    assert!(judged.contains("CONFORMS"), "{judged}");
    hour.say(
        "## One of your own\n\nThe steps that it prints, up to the build, the tests and the kit, are run by the tests of `bridge-languages`, for each language and both forms of a kind.",
    );
    hour.run(&[
        "target/debug/runtime-bridge new-plugin acme --lang python --kind Account --sdk-path sdk/python",
        "find acme-plugin -type f | sort",
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_of_the_first_hour_is_what_happens() {
    let scratch = ScratchDir::new("crossbridge-transcript-").expect("a folder");
    let files = scratch.path().join("files");
    let mut hour = Transcript {
        clone: clone(scratch.path(), &files),
        files: files.clone(),
        kubeconfig: String::new(),
        kubectl: String::new(),
        text: INTRODUCTION.to_owned(),
    };
    hour.say("## A plugin that runs\n\nThe plugin of a page, in a control plane of its own:");
    hour.run(&["mkdir -p /tmp/files"]).await;
    let applied = hour.clone.join("examples/files-plugin/manifests");
    let mut dev = Dev::start_without_keep(scratch.path(), &applied);
    dev.until_running();
    hour.kubeconfig = dev.state("kubeconfig");
    hour.kubectl = dev.state("kubectl");
    symlink(&hour.kubectl, hour.clone.join("bin/kubectl")).expect("a link");
    it_runs(&mut hour, &mut dev).await;
    drift(&mut hour, &mut dev).await;
    wrong_config(&mut hour, &mut dev).await;
    hour.say("## The end of it");
    let deleted = hour
        .run(&["kubectl delete file notes.txt", "ls -A /tmp/files"])
        .await;
    assert!(
        deleted.contains("deleted") && !deleted.contains("notes.txt\n"),
        "{deleted}"
    );
    dev.process.signal(Signal::TERM);
    hour.dev(
        &mut dev,
        "Ctrl-C in the terminal of `dev`:",
        &["left: no external resource"],
    );
    dev.stop().await;

    a_plugin_of_ones_own(&mut hour).await;
    golden::compare("docs/first-hour.md", &hour.text);
}
