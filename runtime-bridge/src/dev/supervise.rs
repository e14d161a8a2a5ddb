//! A program that is started again when it ends.

use std::time::{Duration, Instant};

use bridge_control_plane::process::{Output, Spawn, SpawnError};
use bridge_core::back_off::policies;
use tokio_util::sync::CancellationToken;

use super::{progress::ProgressPrinter, rebuilt::Changes, state::StateFile};

/// A program that ran for so long is well, whatever it ended of.
const STABLE_AFTER: Duration = Duration::from_secs(10);
/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(10);

/// A program that is kept running.
pub struct Supervised<'a> {
    pub name: String,
    pub progress: ProgressPrinter,
    pub state: &'a StateFile,
    /// The exit code by which it reports that it will never run like this.
    pub usage_exit_code: Option<i32>,
    /// Of the files that it is made of.
    pub changes: Changes,
}

/// Why a program is not kept running.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// The program cannot be started at all.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The program rejected its command line: starting it again would not help.
    #[error("the {name} does not take its flags (exit code {code}): its output above has the reason")]
    Usage {
        /// The program's name in the output.
        name: String,
        /// What it ended with.
        code: i32,
    },
}

impl Supervised<'_> {
    /// Runs it, again and again, until `stop`. Fails only if it cannot run at all: what was built anew may be missing for a moment.
    pub async fn run(
        mut self,
        program: impl Fn() -> Spawn,
        stop: &CancellationToken,
    ) -> Result<(), SuperviseError> {
        let mut backoff = Backoff::default();
        let mut has_run = false;
        while !stop.is_cancelled() {
            let process = match self.quoted(program()).spawn() {
                Ok(process) => process,
                Err(error) if has_run => {
                    self.pause(&error.to_string(), backoff.after(Duration::ZERO), stop)
                        .await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            has_run = true;
            // First the file, so that who reads that it was started finds it there.
            if let Err(error) = self.state.started(&self.name, process.id()) {
                self.progress
                    .say(&self.name, &format!("cannot write the state file: {error}"));
            }
            self.progress
                .say(&self.name, &format!("started, process {}", process.id()));
            let begun = Instant::now();
            tokio::select! {
                status = process.wait() => {
                    if let Some(code) = status.code().filter(|code| self.usage_exit_code == Some(*code)) {
                        return Err(SuperviseError::Usage { name: self.name, code });
                    }
                    self.pause(&format!("ended ({status})"), backoff.after(begun.elapsed()), stop).await;
                }
                Ok(()) = self.changes.changed() => {
                    self.say_changed();
                    let status = process.stop(GRACE).await;
                    self.progress.say(&self.name, &format!("stopped ({status})"));
                    backoff = Backoff::default();
                }
                () = stop.cancelled() => {
                    let status = process.stop(GRACE).await;
                    self.progress.say(&self.name, &format!("stopped ({status})"));
                }
            }
        }
        Ok(())
    }

    /// A change of its files ends it, as does `stop`.
    async fn pause(&mut self, why: &str, pause: Duration, stop: &CancellationToken) {
        let seconds = pause.as_secs_f32();
        self.progress
            .say(&self.name, &format!("{why}; starts again in {seconds} s"));
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            Ok(()) = self.changes.changed() => self.say_changed(),
            () = stop.cancelled() => {}
        }
    }

    fn say_changed(&mut self) {
        let changed = self.changes.borrow_and_update().display().to_string();
        self.progress
            .say(&self.name, &format!("starts again: {changed} changed"));
    }

    fn quoted(&self, program: Spawn) -> Spawn {
        let output = || {
            let (progress, name) = (self.progress, self.name.clone());
            Output::lines(move |line| progress.quote(&name, line))
        };
        program.stdout(output()).stderr(output())
    }
}

/// How long to wait before the next start.
#[derive(Debug, Default)]
struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The program ended after so long.
    fn after(&mut self, ran: Duration) -> Duration {
        if ran >= STABLE_AFTER {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        policies::DEV.wait(self.failures, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_grows_until_the_program_is_stable() {
        let mut backoff = Backoff::default();
        let soon = Duration::from_millis(10);
        assert_eq!(backoff.after(soon), policies::DEV.first());
        assert_eq!(backoff.after(soon), policies::DEV.first() * 2);
        assert_eq!(backoff.after(soon), policies::DEV.first() * 4);
        for _ in 0..100 {
            backoff.after(soon);
        }
        assert_eq!(backoff.after(soon), policies::DEV.longest());
        assert_eq!(backoff.after(STABLE_AFTER), policies::DEV.first());
    }
}
