//! Runs the bridge's binary for a test, and ends it with the test.

use std::{process::Stdio, time::Duration};

use tokio::{process::Command, time::timeout};

pub const BRIDGE: &str = env!("CARGO_BIN_EXE_runtime-bridge");

/// How the binary ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs it to its end, without any variable that it would read.
pub async fn run(arguments: &[&str]) -> Ran {
    let mut command = Command::new(BRIDGE);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    let names = std::env::vars().map(|(name, _)| name);
    for name in names.filter(|name| name.starts_with("CROSSBRIDGE_") || name == "KUBECONFIG") {
        command.env_remove(name);
    }
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
