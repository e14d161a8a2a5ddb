use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use super::StartError;
use super::component::Component;
use super::programs;
use crate::assets::Assets;
use crate::process::{Output, SpawnError};

/// An answer costs 70 ms of a core, and an API server that is asked all the time starts more slowly for it.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// Waits until the API server answers a path with success, which is the work of `awaited` on top of `below`.
///
/// `kubectl` asks, rather than a client in this crate: it exists anyway, and whoever only wants to start processes is spared a TLS stack.
pub(super) async fn until_served(
    assets: &Assets,
    directory: &Path,
    path: &str,
    awaited: &Component,
    below: &Component,
    limit: Duration,
) -> Result<(), StartError> {
    let begun = Instant::now();
    loop {
        let answer = ask(assets, directory, path, limit).await?;
        below.alive()?;
        awaited.alive()?;
        match answer {
            Ok(()) => return Ok(()),
            Err(answer) if begun.elapsed() >= limit => return Err(awaited.late(limit, answer)),
            Err(_) => tokio::time::sleep(ASK_EVERY).await,
        }
    }
}

/// `Err` is what kubectl said of an answer that is no success.
async fn ask(
    assets: &Assets,
    directory: &Path,
    path: &str,
    limit: Duration,
) -> Result<Result<(), String>, SpawnError> {
    let (send, said) = channel();
    let kubectl = programs::get(assets, path)
        .current_dir(directory)
        .stdout(Output::Null)
        .stderr(Output::lines(move |line| drop(send.send(line.to_owned()))))
        .spawn()?;
    match kubectl.wait_for(limit).await {
        Ok(status) if status.success() => Ok(Ok(())),
        Ok(status) => Ok(Err(said.iter().last().unwrap_or_else(|| status.to_string()))),
        Err(late) => Ok(Err(late.to_string())),
    }
}
