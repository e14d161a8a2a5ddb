//! What is being done, and how long it took.

use std::time::Instant;

use crate::Failure;

/// Reports what a command does, step by step, on standard error.
#[derive(Debug)]
pub(crate) struct Report {
    begun: Instant,
}

impl Report {
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
        }
    }

    /// Carries out one step, and reports when it begins and when it is done.
    pub(crate) async fn step<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.say(what);
        let begun = Instant::now();
        let result = work
            .await
            .map_err(|failure| Failure::new(format!("{what}: {failure}")))?;
        self.say(&format!("{what}: done in {:.1} s", begun.elapsed().as_secs_f64()));
        Ok(result)
    }

    /// Prints one line, with the seconds since the start.
    pub(crate) fn say(&self, what: &str) {
        eprintln!("==> {:4} s  {what}", self.begun.elapsed().as_secs());
    }
}
