use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::StartError;
use crate::process::{Process, Spawn};

const LAST_LINES: usize = 20;

/// One running program of the control plane, and its log.
pub(super) struct Component {
    name: &'static str,
    process: Process,
    log: PathBuf,
}

impl Component {
    /// Starts a program in the folder of the control plane, where its log is.
    pub(super) fn start(name: &'static str, program: Spawn, directory: &Path) -> Result<Self, StartError> {
        let log = directory.join(format!("{name}.log"));
        let process = program.current_dir(directory).log_to(&log).spawn()?;
        Ok(Self { name, process, log })
    }

    pub(super) fn process(&self) -> &Process {
        &self.process
    }

    /// An error if the program has ended, though no one asked it to.
    pub(super) fn alive(&self) -> Result<(), StartError> {
        match self.process.status() {
            None => Ok(()),
            Some(status) => Err(StartError::Ended {
                name: self.name,
                status: status.to_string(),
                last_lines: self.last_lines(),
            }),
        }
    }

    /// The error for a program that runs, yet did not do in time what it was waited for.
    pub(super) fn late(&self, limit: Duration, last_answer: String) -> StartError {
        StartError::NotReady {
            name: self.name,
            limit,
            last_answer,
            last_lines: self.last_lines(),
        }
    }

    fn last_lines(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        last_lines(&String::from_utf8_lossy(&log))
    }
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_shows_its_last_lines() {
        assert_eq!(last_lines(""), "");
        assert_eq!(last_lines("a\nb\n"), "a\nb");
        let long: Vec<String> = (0..30).map(|number| number.to_string()).collect();
        assert_eq!(last_lines(&long.join("\n")), long[10..].join("\n"));
    }
}
