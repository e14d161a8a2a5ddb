use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The write end of the watchdog's pipe; `None` until the first child is started.
static PIPE: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Has this process group killed when this process ends, however it ends.
pub(super) fn kill(group: u32) -> io::Result<()> {
    send("kill", group)
}

/// Forgets a process group, as its leader was seen to end.
pub(super) fn spare(group: u32) -> io::Result<()> {
    send("spare", group)
}

/// Has this folder removed when this process ends, however it ends.
pub(super) fn remove(directory: &str) -> io::Result<()> {
    send("remove", directory)
}

/// Keeps the folder after all: it is no longer removed when this process ends.
pub(super) fn keep(directory: &str) -> io::Result<()> {
    send("keep", directory)
}

fn send(verb: &str, argument: impl Display) -> io::Result<()> {
    let mut pipe = PIPE.lock().unwrap_or_else(PoisonError::into_inner);
    if pipe.is_none() {
        *pipe = Some(start()?);
    }
    match pipe.as_mut() {
        Some(pipe) => writeln!(pipe, "{verb} {argument}"),
        None => Ok(()),
    }
}

/// Returns when the watchdog is deaf to signals. Pipes of the standard library close on exec, so none of our other
/// children holds the write end open.
fn start() -> io::Result<ChildStdin> {
    let mut watchdog = command().spawn()?;
    let (Some(pipe), Some(answer)) = (watchdog.stdin.take(), watchdog.stdout.take()) else {
        return Err(io::Error::other("the watchdog has no pipes"));
    };
    let mut line = String::new();
    BufReader::new(answer).read_line(&mut line)?;
    if line == "ready\n" {
        Ok(pipe)
    } else {
        Err(io::Error::other("the watchdog did not start"))
    }
}

pub(super) fn command() -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", include_str!("watchdog.sh"), "watchdog"])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    command
}
