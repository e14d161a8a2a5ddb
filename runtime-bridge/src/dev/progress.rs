//! Progress lines for a person.

use std::time::Instant;

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
        println!("{:6.1} s  {who}: {what}", self.begun.elapsed().as_secs_f64());
    }

    /// Prints a line of output of a program.
    pub fn quote(&self, who: &str, line: &str) {
        println!("{:6.1} s  {who} | {line}", self.begun.elapsed().as_secs_f64());
    }
}
