//! Other programs, as children that end with us.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bridge_control_plane::process::{Output, Process, Spawn};
use tokio::time::{sleep, timeout};

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
    Ok(spawned(program)?.wait().await)
}

/// Starts a program.
pub(crate) fn spawned(program: Spawn) -> Result<Process, Failure> {
    program.spawn().map_err(|error| Failure::new(error.to_string()))
}

/// Runs a program to its end, which must be a success, and gives what it printed on standard output.
pub(crate) async fn output(program: Spawn) -> Result<String, Failure> {
    let (printing, printed) = lines();
    run(program.stdout(printing)).await?;
    Ok(printed.iter().collect())
}

/// Like [`output`], and what it prints on standard error is the failure, if it is one.
pub(crate) async fn answer(program: Spawn) -> Result<String, Failure> {
    let ((printing, printed), (saying, said)) = (lines(), lines());
    let status = status(program.stdout(printing).stderr(saying)).await?;
    if status.success() {
        return Ok(printed.iter().collect());
    }
    let said: String = said.iter().collect();
    Err(Failure::new(format!("ended with {status}: {}", said.trim_end())))
}

/// How much of each output of a program that failed is the failure's text, in lines.
const LAST: usize = 60;
/// What a program has printed that has ended comes within this.
const DRAINED_WITHIN: Duration = Duration::from_secs(5);

/// Runs a program to its end; it must succeed. It prints as it goes, and the last lines are part of the failure: the sum of a run is read without
/// what stands far above. Gives the last line of its standard output, a sum where it prints one.
pub(crate) async fn explained(program: Spawn) -> Result<String, Failure> {
    let (send, said) = channel();
    let showing = |is_output: bool| {
        let send = send.clone();
        Output::lines(move |line| {
            println!("{line}");
            drop(send.send((is_output, line.to_owned())));
        })
    };
    let status = status(program.stdout(showing(true)).stderr(showing(false))).await?;
    drop(send);
    // Something that it left behind may hold its output open.
    let end = Instant::now() + DRAINED_WITHIN;
    let left = || end.saturating_duration_since(Instant::now());
    let said: Vec<(bool, String)> = std::iter::from_fn(|| said.recv_timeout(left()).ok()).collect();
    if status.success() {
        let last = said.into_iter().rfind(|(is_output, _)| *is_output);
        return Ok(last.map(|(_, line)| line).unwrap_or_default());
    }
    // Of each: two threads read them, and what was printed last may not come last.
    let (printed, complained): (Vec<_>, Vec<_>) = said.into_iter().partition(|(is_output, _)| *is_output);
    let last = [printed, complained].map(|lines| {
        let left_out = lines.len().saturating_sub(LAST);
        lines.into_iter().skip(left_out).map(|(_, line)| line)
    });
    let last = last.into_iter().flatten().collect::<Vec<_>>().join("\n");
    Err(Failure::new(format!("ended with {status}:\n{last}")))
}

/// Runs a program to its end, or ends it after `limit`; gives how it ended with all that it printed, in order.
pub(crate) async fn both_outputs(program: Spawn, limit: Duration) -> (Result<ExitStatus, Failure>, String) {
    let printed = Arc::new(Mutex::new(String::new()));
    let text = |printed: &Mutex<String>| printed.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let printing = || {
        let printed = Arc::clone(&printed);
        Output::lines(move |line| {
            let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
            printed.push_str(line);
            printed.push('\n');
        })
    };
    let program = program.stdout(printing()).stderr(printing());
    let ended = timeout(limit, status(program)).await.unwrap_or_else(|_| {
        let minutes = limit.as_secs() / 60;
        Err(Failure::new(format!(
            "did not end within {minutes} minutes, and was ended"
        )))
    });
    // What a process that left its group still holds open is waited for only so long.
    for _ in 0..500 {
        if Arc::strong_count(&printed) == 1 {
            break;
        }
        sleep(Duration::from_millis(20)).await;
    }
    (ended, text(&printed))
}

/// Lines with their ends; the receiver ends with the output.
fn lines() -> (Output, Receiver<String>) {
    let (send, lines) = channel();
    (
        Output::lines(move |line| drop(send.send(format!("{line}\n")))),
        lines,
    )
}

/// The cargo that runs us, in the project's folder. What the cargo above passed to us of our own package it must not see: build scripts
/// that ask for it, such as ring's, would run anew each time that cargo is called in the other way, and half of the workspace with them.
pub(crate) fn cargo(root: &Path) -> Spawn {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    without_cargo(Spawn::new(cargo).current_dir(root))
}

/// Without what the cargo above passed to us of our own package.
pub(crate) fn without_cargo(program: Spawn) -> Spawn {
    let ours = std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    });
    ours.fold(program, Spawn::env_remove)
}

#[cfg(test)]
mod tests {
    use super::{Spawn, explained};

    #[tokio::test]
    async fn a_failure_is_explained_by_the_last_lines_of_both_streams() {
        let script = |code: u8| format!("seq 70; echo why >&2; exit {code}");
        let sh = |code| Spawn::new("sh").args(["-c".to_owned(), script(code)]);
        assert_eq!(explained(sh(0)).await.unwrap(), "70");
        let why = explained(sh(3)).await.unwrap_err().to_string();
        assert!(why.starts_with("ended with exit status: 3:\n"), "{why}");
        let lines: Vec<&str> = why.lines().collect();
        assert_eq!((lines[1], lines[60], lines[61]), ("11", "70", "why"));
    }
}
