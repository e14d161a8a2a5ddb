//! Composition functions in other languages, as their authors start them.

use std::path::{Path, PathBuf};

use bridge_control_plane::process::Spawn;

use crate::{BuildError, Language, build::build_function_in_copy, python, source};

/// What `crossplane-function-pythonic` is for.
const PYTHONIC_MINORS: [u32; 4] = [12, 13, 14, 15];
const PYTHONIC_PINS: &str = include_str!("pythonic/requirements.lock");

/// A composition function that is not written in Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// `examples/python-function`, on Crossplane's SDK for Python.
    Example,
    /// `crossplane-function-pythonic` as it is published: it runs scripts that stand in compositions.
    Pythonic,
    /// `examples/typescript-function`, on Crossplane's SDK for TypeScript.
    TypeScript,
    /// `examples/aws-composition`, on Crossplane's SDK for Python.
    AwsComposition,
}

impl Function {
    /// Every one of them.
    pub const ALL: [Self; 4] = [
        Self::Example,
        Self::Pythonic,
        Self::TypeScript,
        Self::AwsComposition,
    ];

    /// The name that compositions know it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Example => "python-function",
            Self::Pythonic => "function-pythonic",
            Self::TypeScript => "typescript-function",
            Self::AwsComposition => "aws-composition",
        }
    }

    /// Its command, to which its flags are to be added. What it needs is installed first.
    ///
    /// # Errors
    /// The output of the tool that failed.
    pub async fn command(self) -> Result<Spawn, BuildError> {
        match self {
            Self::Example | Self::AwsComposition => in_python(self, &["main.py"]).await,
            Self::TypeScript => {
                let at = Path::new("examples").join(self.name());
                let command = build_function_in_copy(Language::TypeScript, &self.source(), at).await?;
                let mut words = command.split(' ');
                Ok(Spawn::new(words.next().unwrap_or_default()).args(words))
            }
            Self::Pythonic => {
                let usual = python::newest(&PYTHONIC_MINORS).await;
                // On Python 3.11 it runs as well, though it says otherwise.
                let flags = ["--ignore-requires-python"];
                let python = python::environment(self.name(), &usual, PYTHONIC_PINS, &flags).await?;
                Ok(Spawn::new(python).args(["-m", "crossplane.pythonic", "grpc"]))
            }
        }
    }

    /// Runs the example's own tests, which need no server.
    ///
    /// # Errors
    /// Their output, when one fails.
    pub async fn check_example() -> Result<(), BuildError> {
        let tests = in_python(Self::Example, &["-m", "unittest", "discover", "-s", "tests"]).await?;
        crate::build::run(tests).await
    }

    /// The source of the example.
    pub fn example_source() -> PathBuf {
        Self::Example.source()
    }

    fn source(self) -> PathBuf {
        source::repository().join("examples").join(self.name())
    }
}

/// An example's interpreter, in its folder.
async fn in_python(function: Function, arguments: &[&str]) -> Result<Spawn, BuildError> {
    let folder = function.source();
    let pins = source::read(folder.join("requirements.lock"))?;
    let python = python::environment(function.name(), &python::usual(), &pins, &[]).await?;
    Ok(Spawn::new(python)
        .args(arguments)
        .current_dir(folder)
        .env("PYTHONDONTWRITEBYTECODE", "1"))
}
