use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::watch;

use super::watchdog;

/// A running child, and its process group. Dropping it kills the group with SIGKILL and waits for its leader.
#[derive(Debug)]
pub struct Process {
    group: Arc<Group>,
    status: watch::Receiver<Option<ExitStatus>>,
    reaper: Option<JoinHandle<()>>,
}

/// A wait that was given up.
#[derive(Debug, thiserror::Error)]
#[error("process {id} was still running after {limit:?}")]
pub struct WaitError {
    /// The process' id.
    pub id: u32,
    /// How long was waited.
    pub limit: Duration,
}

/// The lock is held while the leader is reaped: a signal goes to a leader that is alive or a zombie, never to another process
/// that was given the same id.
#[derive(Debug)]
struct Group {
    leader: Pid,
    reaped: Mutex<bool>,
}

impl Group {
    fn signal(&self, signal: Signal) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            // The only errors are that no process of the group is left, or only zombies.
            let _ = kill_process_group(self.leader, signal);
        }
    }
}

impl Process {
    pub(super) fn new(child: Child) -> Self {
        let group = Arc::new(Group {
            leader: Pid::from_child(&child),
            reaped: Mutex::new(false),
        });
        let (publish, status) = watch::channel(None);
        let reaper = thread::spawn({
            let group = Arc::clone(&group);
            move || reap(child, &group, &publish)
        });
        Self {
            group,
            status,
            reaper: Some(reaper),
        }
    }

    /// The process id, which is also the id of the group.
    pub fn id(&self) -> u32 {
        self.group.leader.as_raw_nonzero().get().unsigned_abs()
    }

    /// How it ended, or `None` while it runs.
    pub fn status(&self) -> Option<ExitStatus> {
        *self.status.borrow()
    }

    /// Waits for its end, for as long as that takes.
    pub async fn wait(&self) -> ExitStatus {
        let mut status = self.status.clone();
        match status.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(status)) => *status,
            // The reaper publishes before it ends.
            _ => ExitStatus::default(),
        }
    }

    /// Waits for its end, for at most `limit`.
    pub async fn wait_for(&self, limit: Duration) -> Result<ExitStatus, WaitError> {
        tokio::time::timeout(limit, self.wait())
            .await
            .map_err(|_| WaitError { id: self.id(), limit })
    }

    /// Sends a signal to the process and its children. Nothing happens if it has ended.
    pub fn signal(&self, signal: Signal) {
        self.group.signal(signal);
    }

    /// Stops the process and its children (SIGSTOP), and returns when no thread of the process runs any more. `kill` alone
    /// returns before: a request that arrives right after it may still be answered.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
        // Reported once all threads have stopped, and left unread for another `pause`; an error is that the process has ended.
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(self.group.leader), stopped), Err(Errno::INTR)) {}
    }

    /// Lets a paused process and its children go on (SIGCONT).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// `kill -9`, for the process and its children.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Asks it to end (SIGTERM), and kills it if it has not ended after `grace`.
    pub async fn stop(&self, grace: Duration) -> ExitStatus {
        self.signal(Signal::TERM);
        if let Ok(status) = self.wait_for(grace).await {
            return status;
        }
        self.kill();
        self.wait().await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if let Some(reaper) = self.reaper.take() {
            // The reaper never panics, and an error could not be reported here.
            let _ = reaper.join();
        }
    }
}

fn reap(mut child: Child, group: &Group, publish: &watch::Sender<Option<ExitStatus>>) {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(waitid(WaitId::Pid(group.leader), ended), Err(Errno::INTR)) {}
    let mut reaped = group.reaped.lock().unwrap_or_else(PoisonError::into_inner);
    // While the leader is a zombie its group is ours: what it left running ends with it.
    let _ = kill_process_group(group.leader, Signal::KILL);
    let _ = watchdog::spare(child.id());
    let status = child.wait().unwrap_or_default();
    *reaped = true;
    publish.send_replace(Some(status));
}
