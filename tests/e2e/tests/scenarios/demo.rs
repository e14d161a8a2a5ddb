//! `cargo xtask demo --keep`, as README has it: to its last line, and to the Ctrl-C that ends it.

use std::{
    fs,
    path::Path,
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use bridge_control_plane::process::{Output, ScratchDir, Signal, Spawn};
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

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_passes_and_stays_until_it_is_interrupted() {
    let scratch = ScratchDir::new("crossbridge-demo-test-").expect("a folder");
    let (send, lines) = channel();
    let line = || {
        let send = send.clone();
        Output::lines(move |line| drop(send.send(line.to_owned())))
    };
    let demo = Spawn::new(binary("xtask"))
        .args(["demo", "--keep"])
        .env("TMPDIR", scratch.path())
        // Whoever times the tests asks for it; cargo would build for it anew.
        .env_remove("RUSTC_BOOTSTRAP")
        .stdout(line())
        .stderr(line())
        .spawn()
        .expect("it starts");
    drop(send);
    let played = tokio::task::spawn_blocking(move || (until(&lines, "PASS: "), lines));
    let (played, lines) = played.await.expect("it passes");
    let last = played.last().map_or("", String::as_str);
    assert!(
        last.ends_with("PASS: one distribution; bucket and distribution stay until Ctrl-C"),
        "{last}"
    );
    let is_of_cargo = |line: &&String| {
        let words = ["Compiling ", "Downloaded ", "Downloading ", "Finished "];
        words.iter().any(|word| line.trim_start().starts_with(word))
    };
    assert_eq!(
        played.iter().find(is_of_cargo),
        None,
        "its own progress is enough"
    );
    let running = processes_with(scratch.path());
    for kept in ["kube-apiserver", "runtime-bridge", "provider-aws-example"] {
        assert!(
            running.iter().any(|line| line.contains(kept)),
            "{kept}: {running:#?}"
        );
    }

    demo.signal(Signal::INT);
    let ended = demo.wait_for(Duration::from_mins(2)).await.expect("it ends");
    let rest: Vec<String> = lines.iter().collect();
    assert!(ended.success(), "{ended}: {}", rest.join("\n"));
    // What is left in the emulated AWS, which ends with it.
    let listed = rest
        .iter()
        .filter(|line| line.contains("Distribution") || line.contains("Bucket"));
    assert!(listed.count() >= 2, "{}", rest.join("\n"));
    // Whoever ends and removes what a process has left does so once it is gone.
    eventually("none of its processes runs", async || {
        processes_with(scratch.path()).is_empty()
    })
    .await;
}
