//! Other programs, as children that end with us.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::mpsc::channel;

use bridge_control_plane::process::{Output, Spawn};

use crate::Failure;

/// Runs a program to its end; it must succeed. Its output is ours.
pub(crate) async fn run(program: Spawn) -> Result<(), Failure> {
    let status = status(program).await?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("ended with {status}")))
    }
}

/// Runs a program to its end.
pub(crate) async fn status(program: Spawn) -> Result<ExitStatus, Failure> {
    let process = program.spawn().map_err(|error| Failure::new(error.to_string()))?;
    Ok(process.wait().await)
}

/// Runs a program to its end, which must be a success, and gives what it printed on standard output.
pub(crate) async fn output(program: Spawn) -> Result<String, Failure> {
    let (send, lines) = channel();
    let program = program.stdout(Output::lines(move |line| drop(send.send(format!("{line}\n")))));
    run(program).await?;
    Ok(lines.iter().collect())
}

/// The cargo that runs us, in the project's folder.
pub(crate) fn cargo(root: &Path) -> Spawn {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Spawn::new(cargo).current_dir(root)
}
