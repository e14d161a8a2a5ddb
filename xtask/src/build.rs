//! The one build of lints, tests and what they start.
//!
//! Members of the workspace are compiled by clippy's driver, which is the compiler with more lints in it: nothing is compiled a second time to be
//! linted, and what the lints read is what the tests run. The whole workspace is always chosen, also where one program is all that is wanted:
//! cargo gives dependencies the features that the chosen members ask for, and would build them anew for a part.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

use bridge_control_plane::process::{Output, Spawn};
use serde_json::Value;

use crate::Failure;
use crate::run::{cargo, status};

/// The messages of a build that succeeded, and how many of them warn.
#[derive(Debug, Default)]
pub(crate) struct Built {
    /// Cargo's messages, one a line.
    pub(crate) messages: String,
    warnings: usize,
}

impl Built {
    /// Fails if the compiler or clippy had a warning.
    pub(crate) fn without_warnings(self) -> Result<Self, Failure> {
        match self.warnings {
            0 => Ok(self),
            1 => Err(Failure::new("there is a warning")),
            several => Err(Failure::new(format!("there are {several} warnings"))),
        }
    }
}

/// Builds all tests, and the binaries that they start.
pub(crate) async fn build_all(root: &Path) -> Result<Built, Failure> {
    build(root, &["--all-targets"]).await
}

/// Builds one binary, of the same dependencies: cargo gives them the features that tests ask for only where a test is chosen, and so the smallest
/// is.
pub(crate) async fn build_binary(root: &Path, name: &str) -> Result<Built, Failure> {
    build(root, &["--bin", name, "--test", "required"]).await
}

/// Builds one folder of tests, of the same dependencies.
pub(crate) async fn build_test(root: &Path, name: &str) -> Result<Built, Failure> {
    build(root, &["--test", name]).await
}

async fn build(root: &Path, targets: &[&str]) -> Result<Built, Failure> {
    let (send, lines) = channel::<String>();
    let build = linting(cargo(root))
        .args(["build", "--workspace", "--locked", "--message-format=json"])
        .args(targets)
        .stdout(Output::lines(move |line| {
            show_what_is_said(line);
            drop(send.send(format!("{line}\n")));
        }));
    if !status(build).await?.success() {
        return Err(Failure::new("it does not build"));
    }
    let messages: String = lines.iter().collect();
    let warnings = messages.lines().filter_map(warning).count();
    Ok(Built { messages, warnings })
}

/// Cargo that compiles members of the workspace as [`build_all`] does, and so takes what that built.
pub(crate) fn linting(cargo: Spawn) -> Spawn {
    cargo.env("RUSTC_WORKSPACE_WRAPPER", clippy_driver())
}

/// That beside the cargo that runs us: one of another version would not know what the compiler wrote.
fn clippy_driver() -> PathBuf {
    let beside = std::env::var_os("CARGO").map(|cargo| Path::new(&cargo).with_file_name("clippy-driver"));
    beside
        .filter(|driver| driver.exists())
        .unwrap_or_else(|| "clippy-driver".into())
}

fn show_what_is_said(line: &str) {
    let Some(message) = said(line) else { return };
    if let Some(rendered) = message["rendered"].as_str() {
        eprint!("{rendered}");
    }
}

/// A message of the compiler, without the sums at its end: what is built already repeats its messages.
fn said(line: &str) -> Option<Value> {
    let mut line: Value = serde_json::from_str(line).ok()?;
    let is_sum = line["message"]["message"]
        .as_str()
        .is_some_and(|text| text.ends_with(" emitted"));
    (line["reason"] == "compiler-message" && !is_sum).then(|| line["message"].take())
}

fn warning(line: &str) -> Option<Value> {
    said(line).filter(|message| message["level"] == "warning")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARNING: &str =
        r#"{"reason":"compiler-message","message":{"level":"warning","message":"unused variable"}}"#;
    const SUM: &str =
        r#"{"reason":"compiler-message","message":{"level":"warning","message":"1 warning emitted"}}"#;
    const ARTIFACT: &str = r#"{"reason":"compiler-artifact","target":{"name":"a"}}"#;

    #[test]
    fn warnings_are_counted_without_their_sums() {
        let counted = [WARNING, SUM, ARTIFACT, "not json"]
            .into_iter()
            .filter_map(warning)
            .count();
        assert_eq!(counted, 1);
    }

    #[test]
    fn a_build_with_a_warning_is_none() {
        let built = |warnings| Built {
            warnings,
            ..Built::default()
        };
        assert!(built(0).without_warnings().is_ok());
        assert_eq!(
            built(2).without_warnings().unwrap_err().to_string(),
            "there are 2 warnings"
        );
    }
}
