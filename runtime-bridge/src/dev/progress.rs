//! Progress lines for a person. Whoever closes the other end, as `head` does, sees no more; what runs is not ended by that.

use std::{
    io::{self, Write},
    time::Instant,
};

/// Prints what happens, with the seconds since the beginning.
#[derive(Debug, Clone, Copy)]
pub struct ProgressPrinter {
    begun: Instant,
}

impl ProgressPrinter {
    pub fn new() -> Self {
        Self {
            begun: Instant::now(),
        }
    }

    /// Prints an event about `who`, with the seconds since the start.
    pub fn say(&self, who: &str, what: &str) {
        self.line(&format!("{who}: {what}"));
    }

    /// Prints a line of output of a program.
    pub fn quote(&self, who: &str, line: &str) {
        self.line(&format!("{who} | {line}"));
    }

    /// Prints a line to be copied, or that belongs to the one before.
    #[allow(clippy::unused_self, reason = "like the other lines")]
    pub fn hint(&self, line: &str) {
        let _ = writeln!(io::stdout(), "            {line}");
    }

    fn line(&self, text: &str) {
        let _ = writeln!(
            io::stdout(),
            "{:6.1} s  {text}",
            self.begun.elapsed().as_secs_f64()
        );
    }
}
