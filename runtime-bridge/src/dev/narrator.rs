//! What happens, as lines for a person.

use std::time::Instant;

/// Prints what happens, with the seconds since the beginning.
#[derive(Debug, Clone, Copy)]
pub struct Narrator {
    begun: Instant,
}

impl Narrator {
    pub fn new() -> Self {
        Self {
            begun: Instant::now(),
        }
    }

    /// Something happened to somebody.
    pub fn say(&self, who: &str, what: &str) {
        println!("{:6.1} s  {who}: {what}", self.begun.elapsed().as_secs_f64());
    }

    /// A program said something.
    pub fn quote(&self, who: &str, line: &str) {
        println!("{:6.1} s  {who} | {line}", self.begun.elapsed().as_secs_f64());
    }
}
