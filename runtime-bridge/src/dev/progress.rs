//! Progress lines for a person. Whoever closes the other end, as `head` does, sees no more; what runs is not ended by that.

use std::{
    io::{self, Write},
    time::Instant,
};

use crate::escape;

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
        self.line(&quoted(who, line));
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

/// On one line, whatever the program printed: it commands no terminal, and begins no line in the name of another.
fn quoted(who: &str, line: &str) -> String {
    format!("{who} | {}", escape::controls(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_prints_begins_no_line_and_commands_no_terminal() {
        let forged = "x\r   1.0 s  bridge: ready\u{1b}]0;title\u{7}\u{9b}2J";
        assert_eq!(
            quoted("plugin", forged),
            "plugin | x\\r   1.0 s  bridge: ready\\u{1b}]0;title\\u{7}\\u{9b}2J"
        );
        assert_eq!(quoted("plugin", "in sync é"), "plugin | in sync é");
    }
}
