//! Starts a control plane, reports where it is, and ends it at Ctrl-C or SIGTERM.

use std::process::ExitCode;

use bridge_control_plane::{ControlPlane, Options};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if let Some(argument) = std::env::args_os().nth(1) {
        eprintln!(
            "control-plane takes no arguments, and `{}` was given: it starts a control plane, prints its KUBECONFIG, and ends it at Ctrl-C",
            argument.display()
        );
        return ExitCode::from(2);
    }
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("control-plane: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let start = ControlPlane::start(Options {
        controller_manager: true,
        ..Options::default()
    });
    tokio::select! {
        plane = start => {
            let plane = plane?;
            println!("KUBECONFIG={}", plane.kubeconfig().display());
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
