//! A program that is started again when it ends.

use std::time::{Duration, Instant};

use bridge_control_plane::process::{Output, Spawn, SpawnError};
use bridge_core::back_off::doubled;
use tokio_util::sync::CancellationToken;

use super::{narrator::Narrator, state::StateFile};

/// The first pause before a program is started again; each one after it is twice as long.
const SHORTEST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A program that ran for so long is well, whatever it ended of.
const WELL_AFTER: Duration = Duration::from_secs(10);
/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(10);

/// A program that is kept running.
pub struct Supervised<'a> {
    pub name: String,
    pub narrator: Narrator,
    pub state: &'a StateFile,
    /// The exit code by which it says that it will never run like this.
    pub hopeless: Option<i32>,
}

/// Why a program is not kept running.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// It cannot be started at all.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It does not take its command line.
    #[error("the {name} does not take its flags (exit code {code}): it said above why")]
    Hopeless {
        /// Which.
        name: String,
        /// What it ended with.
        code: i32,
    },
}

impl Supervised<'_> {
    /// Runs it, again and again, until `stop`. Fails only if it cannot run at all.
    pub async fn run(
        self,
        program: impl Fn() -> Spawn,
        stop: &CancellationToken,
    ) -> Result<(), SuperviseError> {
        let mut pause = Pause::default();
        while !stop.is_cancelled() {
            let process = self.quoted(program()).spawn()?;
            // First the file, so that who reads that it was started finds it there.
            if let Err(error) = self.state.started(&self.name, process.id()) {
                self.narrator
                    .say(&self.name, &format!("cannot write the state file: {error}"));
            }
            self.narrator
                .say(&self.name, &format!("started, process {}", process.id()));
            let begun = Instant::now();
            tokio::select! {
                status = process.wait() => {
                    if let Some(code) = status.code().filter(|code| self.hopeless == Some(*code)) {
                        return Err(SuperviseError::Hopeless { name: self.name, code });
                    }
                    let pause = pause.after(begun.elapsed());
                    self.narrator.say(&self.name, &format!("ended ({status}); starts again in {} s", pause.as_secs_f32()));
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = stop.cancelled() => {}
                    }
                }
                () = stop.cancelled() => {
                    let status = process.stop(GRACE).await;
                    self.narrator.say(&self.name, &format!("ended as asked ({status})"));
                }
            }
        }
        Ok(())
    }

    fn quoted(&self, program: Spawn) -> Spawn {
        let output = || {
            let (narrator, name) = (self.narrator, self.name.clone());
            Output::lines(move |line| narrator.quote(&name, line))
        };
        program.stdout(output()).stderr(output())
    }
}

/// How long to wait before the next start.
#[derive(Debug, Default)]
struct Pause {
    failures: u32,
}

impl Pause {
    /// The program ended after so long.
    fn after(&mut self, ran: Duration) -> Duration {
        if ran >= WELL_AFTER {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        doubled(SHORTEST_PAUSE, LONGEST_PAUSE, self.failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_the_program_is_well() {
        let mut pause = Pause::default();
        let soon = Duration::from_millis(10);
        assert_eq!(pause.after(soon), SHORTEST_PAUSE);
        assert_eq!(pause.after(soon), SHORTEST_PAUSE * 2);
        assert_eq!(pause.after(soon), SHORTEST_PAUSE * 4);
        for _ in 0..100 {
            pause.after(soon);
        }
        assert_eq!(pause.after(soon), LONGEST_PAUSE);
        assert_eq!(pause.after(WELL_AFTER), SHORTEST_PAUSE);
    }
}
