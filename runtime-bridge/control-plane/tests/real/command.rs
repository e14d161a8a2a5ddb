//! The `control-plane` command: how it fails, and that nothing is left of it when it is killed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_mins(1);

fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_control-plane"))
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn arguments_are_refused() {
    let refused = command().arg("--help").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.starts_with("control-plane takes no arguments"), "{said}");
}

/// Starts the command and waits until it reports where its kubeconfig is.
fn start() -> (std::process::Child, String) {
    let mut child = command().stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let kubeconfig = line
        .trim()
        .strip_prefix("KUBECONFIG=")
        .expect("the first line")
        .to_owned();
    (child, kubeconfig)
}

fn assert_nothing_is_left(kubeconfig: &str, address: &str) {
    let directory = Path::new(kubeconfig).parent().unwrap();
    until("the folder is removed", || !directory.exists());
    until("the API server has ended", || {
        TcpStream::connect(address).is_err()
    });
}

fn address(kubeconfig: &str) -> String {
    let config: serde_json::Value = serde_json::from_str(&fs::read_to_string(kubeconfig).unwrap()).unwrap();
    config["clusters"][0]["cluster"]["server"]
        .as_str()
        .unwrap()
        .trim_start_matches("https://")
        .to_owned()
}

#[test]
fn a_kubeconfig_is_private_and_nothing_outlives_a_kill() {
    let (mut child, kubeconfig) = start();
    assert_eq!(
        fs::metadata(&kubeconfig).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let address = address(&kubeconfig);
    TcpStream::connect(&address).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_nothing_is_left(&kubeconfig, &address);
}

#[test]
fn sigterm_ends_the_command_with_success() {
    let (mut child, kubeconfig) = start();
    let address = address(&kubeconfig);
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    assert!(child.wait().unwrap().success());
    assert_nothing_is_left(&kubeconfig, &address);
}

/// Runs the command with a folder of binaries and gives what it reports when it fails.
fn failure(assets: &Path) -> String {
    let output = command().env("KUBEBUILDER_ASSETS", assets).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn script(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn each_kind_of_wrong_binary_is_named() {
    let said = failure(Path::new("/nowhere"));
    assert!(
        said.contains("KUBEBUILDER_ASSETS is /nowhere, where there is no etcd"),
        "{said}"
    );

    let folder = tempfile::tempdir().unwrap();
    script(folder.path(), "etcd", "echo the disk is made of cheese; exit 3");
    script(folder.path(), "kube-apiserver", "exec sleep 1000");
    script(folder.path(), "kubectl", "exit 1");
    let said = failure(folder.path());
    assert!(said.contains("has no kube-controller-manager"), "{said}");

    script(folder.path(), "kube-controller-manager", "exec sleep 1000");
    let said = failure(folder.path());
    assert!(
        said.contains("etcd ended (exit status: 3)") && said.contains("the disk is made of cheese"),
        "{said}"
    );
}
