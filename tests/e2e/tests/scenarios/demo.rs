//! `cargo xtask demo --keep` and `cargo xtask demo-compositions`, as README has them: to their last lines, and the first one to the Ctrl-C that
//! ends it.

use std::{
    fs,
    path::Path,
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use bridge_control_plane::process::{Output, Process, ScratchDir, Signal, Spawn};
use bridge_e2e::{binary, eventually};

/// To build what is not built, too.
const LIMIT: Duration = Duration::from_mins(15);

/// The lines up to the first that contains this.
fn until(lines: &Receiver<String>, part: &str) -> Vec<String> {
    let (begun, mut seen) = (Instant::now(), Vec::new());
    loop {
        let line = lines.recv_timeout(LIMIT.saturating_sub(begun.elapsed()));
        let line = line.unwrap_or_else(|_| panic!("no {part:?} after:\n{}", seen.join("\n")));
        seen.push(line);
        if seen.last().is_some_and(|line| line.contains(part)) {
            return seen;
        }
    }
}

/// The command lines of processes that were started with this folder for temporary files, by whomever.
fn processes_with(folder: &Path) -> Vec<String> {
    let variable = format!("TMPDIR={}", folder.display());
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let has_it = |process: &Path| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|one| one == variable.as_bytes())
    };
    processes
        .map(|process| process.path())
        .filter(|process| has_it(process))
        .map(|process| fs::read(process.join("cmdline")).unwrap_or_default())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .collect()
}

/// A demo that runs, with a folder for temporary files by which its processes are known.
struct Demo {
    process: Process,
    lines: Receiver<String>,
    scratch: ScratchDir,
}

impl Demo {
    fn start(arguments: &[&str]) -> Self {
        let scratch = ScratchDir::new("crossbridge-demo-test-").expect("a folder");
        let (send, lines) = channel();
        let line = || {
            let send = send.clone();
            Output::lines(move |line| drop(send.send(line.to_owned())))
        };
        let process = Spawn::new(binary("xtask"))
            .args(arguments)
            .env("TMPDIR", scratch.path())
            // Whoever times the tests asks for it; cargo would build for it anew.
            .env_remove("RUSTC_BOOTSTRAP")
            .stdout(line())
            .stderr(line())
            .spawn()
            .expect("it starts");
        Self {
            process,
            lines,
            scratch,
        }
    }

    /// What it shows until it has passed.
    async fn play(self) -> (Self, Vec<String>) {
        let play = move || {
            let played = until(&self.lines, "PASS: ");
            (self, played)
        };
        let (demo, played) = tokio::task::spawn_blocking(play).await.expect("it passes");
        let is_of_cargo = |line: &&String| {
            let words = ["Compiling ", "Downloaded ", "Downloading ", "Finished "];
            words.iter().any(|word| line.trim_start().starts_with(word))
        };
        assert_eq!(
            played.iter().find(is_of_cargo),
            None,
            "its own progress is enough"
        );
        (demo, played)
    }

    /// What it shows until it has ended, with all that it has started.
    async fn end(self) -> Vec<String> {
        let ended = self.process.wait_for(Duration::from_mins(2)).await;
        // Else its output would not end either.
        let ended = ended.expect("it ends");
        let rest: Vec<String> = self.lines.iter().collect();
        assert!(ended.success(), "{ended}: {}", rest.join("\n"));
        // Whoever ends and removes what a process has left does so once it is gone.
        eventually("none of its processes runs", async || {
            processes_with(self.scratch.path()).is_empty()
        })
        .await;
        rest
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_passes_and_stays_until_it_is_interrupted() {
    let (demo, played) = Demo::start(&["demo", "--keep"]).play().await;
    let last = played.last().map_or("", String::as_str);
    assert!(
        last.ends_with("PASS: one distribution; bucket and distribution stay until Ctrl-C"),
        "{last}"
    );
    let running = processes_with(demo.scratch.path());
    for kept in ["kube-apiserver", "runtime-bridge", "provider-aws-example"] {
        assert!(
            running.iter().any(|line| line.contains(kept)),
            "{kept}: {running:#?}"
        );
    }

    demo.process.signal(Signal::INT);
    let rest = demo.end().await;
    // What is left in the emulated AWS, which ends with it.
    let listed = rest
        .iter()
        .filter(|line| line.contains("Distribution") || line.contains("Bucket"));
    assert!(listed.count() >= 2, "{}", rest.join("\n"));
}

/// The steps of the demo of compositions, in this order.
const STEPS: [&str; 8] = [
    "the claim is ready, and AWS has both buckets and the queue:",
    "change the composition, and kill -9 bridge and function, now",
    "two buckets and a queue have the change; AWS has the same, and no more",
    "put an object into a bucket, and delete the claim",
    "the queue still exists, at AWS too; kubectl delete of it is refused:",
    "DeletionBlocked: ",
    "all is gone, and nothing was seen to go out of order; AWS has none of it",
    "PASS: composed, changed through two kills, blocked in sight, deleted in order; nothing is left",
];
/// What `trace` and kubectl print to another stream than the steps, of which each comes when it comes.
const PRINTED: [&str; 2] = ["Storage/shop", "in-use by Usage"];

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_of_compositions_passes_and_leaves_nothing() {
    let (demo, played) = Demo::start(&["demo-compositions"]).play().await;
    let (steps, printed): (Vec<&String>, _) = played.iter().partition(|line| line.starts_with("==>"));
    for (lines, parts) in [(steps, &STEPS[..]), (printed, &PRINTED)] {
        let mut lines = lines.into_iter();
        for part in parts {
            let is_shown = lines.any(|line| line.contains(part));
            assert!(is_shown, "no {part:?}, or not in order:\n{}", played.join("\n"));
        }
    }
    demo.end().await;
}
