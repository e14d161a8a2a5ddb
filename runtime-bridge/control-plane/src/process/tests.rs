use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::{Output, Process, ScratchDir, Signal, Spawn, SpawnError, watchdog};

const LIMIT: Duration = Duration::from_secs(30);

/// Runs a script and gives its lines; the channel ends when no one holds the script's output any more.
fn script(text: &str) -> (Process, Receiver<String>) {
    let (send, lines) = channel();
    let process = Spawn::new("sh")
        .args(["-c", text])
        .stdout(Output::lines(move |line| drop(send.send(line.to_owned()))))
        .spawn()
        .unwrap();
    (process, lines)
}

#[tokio::test]
async fn spawn_passes_arguments_environment_and_status() {
    let (send, lines) = channel();
    let process = Spawn::new("sh")
        .args(["-c", r#"echo "$1 $WORD $(pwd)"; cat; exit 7"#, "sh", "a b"])
        .env("WORD", "c")
        .current_dir("/")
        .stdout(Output::lines(move |line| send.send(line.to_owned()).unwrap()))
        .spawn()
        .unwrap();
    assert_eq!(process.wait_for(LIMIT).await.unwrap().code(), Some(7));
    assert_eq!(process.status().unwrap().code(), Some(7));
    assert_eq!(
        lines.iter().collect::<Vec<_>>(),
        ["a b c /"],
        "and `cat` found an empty input"
    );
}

#[tokio::test]
async fn both_streams_go_to_one_file() {
    let directory = ScratchDir::new("crossbridge-test-").unwrap();
    let log = directory.path().join("log");
    let process = Spawn::new("sh")
        .args(["-c", "echo one; echo two >&2"])
        .log_to(&log)
        .spawn()
        .unwrap();
    assert!(process.wait_for(LIMIT).await.unwrap().success());
    assert_eq!(fs::read_to_string(log).unwrap(), "one\ntwo\n");
}

#[test]
fn a_missing_program_is_named() {
    let error = Spawn::new("no-such-program").spawn().unwrap_err();
    assert!(
        matches!(&error, SpawnError::NotFound { program, .. } if program == "no-such-program"),
        "{error}"
    );
}

#[test]
fn dropping_a_process_kills_its_whole_group() {
    let (process, lines) = script("sleep 1000 & echo started; wait");
    assert_eq!(lines.recv_timeout(LIMIT).as_deref(), Ok("started"));
    drop(process);
    assert_eq!(lines.recv_timeout(LIMIT), Err(RecvTimeoutError::Disconnected));
}

#[tokio::test]
async fn descendants_end_with_the_child() {
    let (process, lines) = script("sleep 1000 & exit 3");
    assert_eq!(process.wait_for(LIMIT).await.unwrap().code(), Some(3));
    assert_eq!(lines.recv_timeout(LIMIT), Err(RecvTimeoutError::Disconnected));
}

#[tokio::test]
async fn stopping_sends_sigterm_before_sigkill() {
    let (polite, lines) = script("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done");
    assert_eq!(lines.recv_timeout(LIMIT).as_deref(), Ok("ready"));
    assert_eq!(polite.stop(LIMIT).await.code(), Some(5));

    let (deaf, lines) = script("trap '' TERM; echo ready; while :; do sleep 0.01; done");
    assert_eq!(lines.recv_timeout(LIMIT).as_deref(), Ok("ready"));
    assert_eq!(deaf.stop(Duration::from_millis(1)).await.signal(), Some(9));
}

#[tokio::test]
async fn a_timed_out_wait_leaves_the_process_running() {
    let (process, _lines) = script("sleep 1000");
    let error = process.wait_for(Duration::from_millis(1)).await.unwrap_err();
    assert_eq!(error.id, process.id());
    assert_eq!(process.status(), None);
    process.signal(Signal::KILL);
    assert_eq!(process.wait_for(LIMIT).await.unwrap().signal(), Some(9));
}

/// What the process has done so far: bytes that it wrote.
fn written(process: &Process) -> String {
    fs::read_to_string(format!("/proc/{}/io", process.id())).unwrap()
}

#[tokio::test]
async fn nothing_runs_when_pause_returns() {
    let (process, lines) = script("while :; do echo; done");
    lines.recv_timeout(LIMIT).unwrap();
    for _ in 0..50 {
        process.pause();
        let paused = written(&process);
        process.pause();
        assert_eq!(written(&process), paused);
        process.resume();
        while lines.try_recv().is_ok() {}
        lines.recv_timeout(LIMIT).unwrap();
    }
    process.kill();
    process.wait_for(LIMIT).await.unwrap();
    process.pause();
}

#[test]
fn a_scratch_folder_is_removed_unless_kept() {
    let gone = ScratchDir::new("crossbridge-test-").unwrap();
    let path = gone.path().to_owned();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    drop(gone);
    assert!(!path.exists());

    let kept = ScratchDir::new("crossbridge-test-").unwrap().keep();
    assert!(kept.is_dir());
    fs::remove_dir(kept).unwrap();
}

fn sleeper() -> Child {
    Command::new("sleep")
        .arg("1000")
        .process_group(0)
        .spawn()
        .unwrap()
}

fn wait(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status,
            None => assert!(begun.elapsed() < LIMIT, "still running after {LIMIT:?}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The script itself, with this test in the place of the process that is killed.
#[test]
fn the_watchdog_cleans_up_when_its_pipe_closes() {
    let parent = tempfile::tempdir().unwrap();
    let (removed, kept) = (parent.path().join("removed one"), parent.path().join("kept one"));
    fs::create_dir_all(removed.join("full")).unwrap();
    fs::create_dir(&kept).unwrap();
    let (mut doomed, mut spared) = (sleeper(), sleeper());
    let mut watchdog = watchdog::command().spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(watchdog.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();
    assert_eq!(ready, "ready\n");
    let mut pipe = watchdog.stdin.take().unwrap();
    writeln!(
        pipe,
        "kill {}\nkill {}\nspare {}",
        spared.id(),
        doomed.id(),
        spared.id()
    )
    .unwrap();
    writeln!(
        pipe,
        "remove {}\nremove {}\nkeep {}",
        kept.display(),
        removed.display(),
        kept.display()
    )
    .unwrap();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        rustix::process::kill_process(rustix::process::Pid::from_child(&watchdog), signal).unwrap();
    }
    assert!(
        doomed.try_wait().unwrap().is_none() && removed.exists(),
        "nothing happens before the end"
    );

    drop(pipe);
    assert_eq!(wait(&mut doomed).signal(), Some(9));
    assert!(wait(&mut watchdog).success());
    assert!(!removed.exists());
    assert!(kept.exists());
    assert!(spared.try_wait().unwrap().is_none());
    spared.kill().unwrap();
    spared.wait().unwrap();
}
