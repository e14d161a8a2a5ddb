use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{Output, Process, watchdog};

/// The child is this shell until the watchdog knows its process id; then it becomes the program. If we die before, the
/// pipe ends and the shell with it.
const GATE: &str = r#"read -r go && exec "$@" </dev/null"#;

/// A program to start as a child that never outlives us. Its standard input is empty.
#[derive(Debug)]
pub struct Spawn {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
    directory: Option<PathBuf>,
    stdout: Output,
    stderr: Output,
}

/// Why a child was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The program is absent, or cannot be executed.
    #[error("cannot find the program {program:?}: {cause}")]
    NotFound {
        /// The program, by name or path.
        program: OsString,
        /// What the look-up reported.
        cause: which::Error,
    },
    /// The program was found, and the system rejected its start.
    #[error("cannot start {program:?}: {cause}")]
    Refused {
        /// The program, by name or path.
        program: OsString,
        /// What the system said.
        cause: io::Error,
    },
    /// The watchdog could not be started or reached, so the child could outlive us.
    #[error("cannot start {program:?}: the watchdog that would end it with us cannot be reached: {cause}")]
    Watchdog {
        /// The program, by name or path.
        program: OsString,
        /// What the system said.
        cause: io::Error,
    },
}

/// The program and its arguments, as a person would type them where none of them has a blank.
impl Display for Spawn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program.display())?;
        let mut arguments = self.arguments.iter();
        arguments.try_for_each(|argument| write!(f, " {}", argument.display()))
    }
}

impl Spawn {
    /// A program by path, or by name in our `PATH`. Output goes where ours goes, the environment is ours.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: None,
            stdout: Output::Inherit,
            stderr: Output::Inherit,
        }
    }

    /// Adds one argument after those already given.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds several arguments after those already given.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments
            .extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment
            .push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Takes a variable out of the environment.
    #[must_use]
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), None));
        self
    }

    /// The folder it starts in.
    #[must_use]
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Sets where its standard output goes; by default, where ours does.
    #[must_use]
    pub fn stdout(mut self, output: Output) -> Self {
        self.stdout = output;
        self
    }

    /// Sets where its standard error goes; by default, where ours does.
    #[must_use]
    pub fn stderr(mut self, output: Output) -> Self {
        self.stderr = output;
        self
    }

    /// Both streams into one file.
    #[must_use]
    pub fn log_to(self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        self.stdout(Output::File(path.to_owned()))
            .stderr(Output::File(path.to_owned()))
    }

    /// Starts the program as a child of this process.
    pub fn spawn(self) -> Result<Process, SpawnError> {
        let program = self.program.clone();
        let path = which::which(&program).map_err(|cause| SpawnError::NotFound {
            program: program.clone(),
            cause,
        })?;
        let mut child = self.gated(&path).map_err(|cause| SpawnError::Refused {
            program: program.clone(),
            cause,
        })?;
        if let Err(cause) = watchdog::kill(child.id()) {
            // Still behind its gate: dropping the pipe ends it.
            drop(child.stdin.take());
            let _ = child.wait();
            return Err(SpawnError::Watchdog { program, cause });
        }
        if let Some(mut gate) = child.stdin.take() {
            // If it has ended already, its status shows it.
            let _ = gate.write_all(b"go\n");
        }
        self.stdout.read(child.stdout.take());
        self.stderr.read(child.stderr.take());
        Ok(Process::new(child))
    }

    fn gated(&self, program: &Path) -> io::Result<Child> {
        let mut command = Command::new("sh");
        command
            .args(["-c", GATE, "gate"])
            .arg(std::path::absolute(program)?)
            .args(&self.arguments);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
            .stdin(Stdio::piped())
            .stdout(self.stdout.stdio()?)
            .stderr(self.stderr.stdio()?)
            .process_group(0)
            .spawn()
    }
}
