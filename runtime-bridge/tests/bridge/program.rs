//! Runs the bridge's binary for a test, and ends it with the test.

use std::{process::Stdio, time::Duration};

use tokio::{
    io::AsyncWriteExt,
    process::{Child, Command},
    time::timeout,
};

pub const BRIDGE: &str = env!("CARGO_BIN_EXE_runtime-bridge");

/// How the binary ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The binary, without any variable that it would read.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(BRIDGE);
    command.args(arguments).kill_on_drop(true);
    let names = std::env::vars().map(|(name, _)| name);
    for name in names.filter(|name| name.starts_with("CROSSBRIDGE_") || name == "KUBECONFIG") {
        command.env_remove(name);
    }
    command
}

/// Runs it to its end.
pub async fn run(arguments: &[&str]) -> Ran {
    let mut command = command(arguments);
    command.stdin(Stdio::null());
    let output = timeout(Duration::from_mins(1), command.output()).await;
    let output = output
        .expect("the program ends in time")
        .expect("the program starts");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Begins to run it, all of its streams piped.
pub fn spawn(arguments: &[&str]) -> Child {
    let mut command = command(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

/// The same with a standard input, for output that is no text: exit code, standard output and standard error.
pub async fn run_with_input(arguments: &[&str], input: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    let mut program = spawn(arguments);
    let mut stdin = program.stdin.take().expect("it is piped");
    let (written, output) = tokio::join!(
        async move { stdin.write_all(input).await },
        timeout(Duration::from_mins(1), program.wait_with_output())
    );
    // It may end before it has read all.
    drop(written);
    let output = output
        .expect("the program ends in time")
        .expect("it can be waited for");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), output.stdout, stderr)
}
