//! Everything that must hold before a change lands.

use std::sync::{Arc, Mutex, PoisonError};

use bridge_control_plane::Assets;
use bridge_control_plane::process::{Output, Spawn};

use crate::project::Project;
use crate::report::Report;
use crate::run::{build_all, cargo, run, status};
use crate::{Failure, crash_matrix, lint, rules, simulate};

pub(crate) async fn run_all() -> Result<(), Failure> {
    let report = Report::new();
    let project = Project::find().await?;
    lint::all(&project, &report).await?;
    report
        .step(
            "build everything, tests and binaries too",
            build_all(&project.root),
        )
        .await?;
    report.step("control plane", control_plane()).await?;
    report.step("emulated AWS", emulator(&project)).await?;
    report
        .step("plugins in other languages, grpcurl", languages(&project))
        .await?;
    // The documents' examples come first: the last lines are those of the tests proper.
    let totals = Arc::default();
    let examples = report
        .step(
            "test the documents' examples",
            test(&project, &["--doc"], &totals),
        )
        .await;
    let tests = report
        .step(
            "test",
            test(&project, &["--all-targets", "--no-fail-fast"], &totals),
        )
        .await;
    let seeds = simulate::sample(&project, &report).await;
    println!("{}", totals.lock().unwrap_or_else(PoisonError::into_inner));
    examples.and(tests).and(seeds)?;
    rules::run_all(&project, &report).await?;
    crash_matrix::run_part(&project, &report, crash_matrix::Choice::OfThisCommit).await
}

/// The tests find it in the cache.
async fn control_plane() -> Result<(), Failure> {
    Assets::find_or_build()
        .await
        .map(drop)
        .map_err(|error| Failure::new(error.to_string()))
}

/// Starts it once, so that it is installed before a test with a limit needs it. It ends with its empty standard input.
async fn emulator(project: &Project) -> Result<(), Failure> {
    run(Spawn::new(project.binary("aws-emulator")).stdout(Output::Null)).await
}

/// Builds the examples that are not Rust side by side, so that no test with a limit waits for it.
async fn languages(project: &Project) -> Result<(), Failure> {
    run(Spawn::new(project.binary("bridge-languages"))).await
}

async fn test(project: &Project, arguments: &[&str], totals: &Arc<Mutex<Totals>>) -> Result<(), Failure> {
    let totals = Arc::clone(totals);
    let tests = cargo(&project.root)
        .args(["test", "--workspace", "--locked"])
        .args(arguments);
    let status = status(tests.stdout(Output::lines(move |line| {
        println!("{line}");
        totals.lock().unwrap_or_else(PoisonError::into_inner).add(line);
    })))
    .await?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new("not all tests passed"))
    }
}

/// The sum of the runners' summaries.
#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Totals {
    /// Counts a line like `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line
            .strip_prefix("test result: ")
            .and_then(|line| line.split_once(". "))
        else {
            return;
        };
        for count in counts.split(';') {
            match count.trim().split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                Some((number, "ignored")) => self.ignored += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "total: {} passed, {} failed, {} skipped",
            self.passed, self.failed, self.ignored
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_added_up() {
        let mut totals = Totals::default();
        totals.add("running 3 tests");
        totals.add(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s",
        );
        totals.add("test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out");
        assert_eq!(
            totals,
            Totals {
                passed: 7,
                failed: 2,
                ignored: 1
            }
        );
        assert_eq!(totals.to_string(), "total: 7 passed, 2 failed, 1 skipped");
    }
}
