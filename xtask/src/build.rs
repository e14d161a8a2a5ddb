//! The one build of lints, tests and what they start.
//!
//! Members of the workspace are compiled by clippy's driver, which is the compiler with more lints in it: nothing is compiled a second time to be
//! linted, and what the lints read is what the tests run. The whole workspace is always chosen, also where one program is all that is wanted:
//! cargo gives dependencies the features that the chosen members ask for, and would build them anew for a part.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use bridge_control_plane::process::{Output, Spawn};
use serde_json::Value;

use crate::Failure;
use crate::run::{cargo, spawned};

/// How often a build reports how far it is.
const REPORT_EVERY: Duration = Duration::from_secs(10);

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

/// Builds binaries, of the same dependencies: cargo gives them the features that tests ask for only where a test is chosen, and so the smallest
/// is.
pub(crate) async fn build_binaries(root: &Path, names: &[&str]) -> Result<Built, Failure> {
    let binaries = names.iter().flat_map(|name| ["--bin", *name]);
    build(root, &binaries.chain(["--test", "required"]).collect::<Vec<_>>()).await
}

/// Builds one folder of tests, of the same dependencies.
pub(crate) async fn build_test(root: &Path, name: &str) -> Result<Built, Failure> {
    build(root, &["--test", name]).await
}

async fn build(root: &Path, targets: &[&str]) -> Result<Built, Failure> {
    let (send, lines) = channel::<String>();
    let compiled = Arc::new(AtomicUsize::new(0));
    let build = linting(cargo(root))
        .args([
            "build",
            "--workspace",
            "--locked",
            "--quiet",
            "--message-format=json",
        ])
        .args(targets)
        .stdout(Output::lines({
            let compiled = Arc::clone(&compiled);
            move |line| {
                show_what_is_said(line);
                compiled.fetch_add(usize::from(is_compiled(line)), Ordering::Relaxed);
                drop(send.send(format!("{line}\n")));
            }
        }));
    let (build, begun) = (spawned(build)?, Instant::now());
    let status = loop {
        if let Ok(status) = build.wait_for(REPORT_EVERY).await {
            break status;
        }
        let compiled = compiled.load(Ordering::Relaxed);
        eprintln!(
            "building: {} s, {compiled} crates compiled",
            begun.elapsed().as_secs()
        );
    };
    if !status.success() {
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

/// Whether it is the message of a crate, or a part of one, that was not built before.
fn is_compiled(line: &str) -> bool {
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    message["reason"] == "compiler-artifact" && message["fresh"] == false
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
    const ARTIFACT: &str = r#"{"reason":"compiler-artifact","target":{"name":"a"},"fresh":false}"#;
    const FRESH: &str = r#"{"reason":"compiler-artifact","target":{"name":"b"},"fresh":true}"#;

    #[test]
    fn what_was_not_built_before_is_progress() {
        assert!(is_compiled(ARTIFACT));
        assert!(![WARNING, FRESH, "not json"].into_iter().any(is_compiled));
    }

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
