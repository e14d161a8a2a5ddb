//! The crash matrix: real processes, killed at every fault point.

use bridge_control_plane::process::Spawn;

use crate::Failure;
use crate::project::Project;
use crate::report::Report;
use crate::run::{build_all, output, run};

/// As many parts the matrix has, so that one takes a few minutes on two cores.
const PARTS: u64 = 20;
/// A part that takes longer, in seconds, fails: it is run for every commit.
const PART_WITHIN: u64 = 600;

/// All of it, as the results say it.
pub(crate) const WHOLE: &str = "0/1";

/// What of the matrix is run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice {
    /// All of it.
    Whole,
    /// The part that the commit chooses.
    OfThisCommit,
    /// This part.
    Part(u64),
}

/// `3`, of 20.
pub(crate) fn part(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(part) if part < PARTS => Ok(part),
        _ => Err(format!("a number from 0 to {}", PARTS - 1)),
    }
}

pub(crate) async fn run_all(choice: Choice) -> Result<(), Failure> {
    let (report, project) = (Report::new(), Project::find().await?);
    report.step("build everything", build_all(&project.root)).await?;
    run_part(&project, &report, choice).await
}

/// Runs what is built, and leaves `crash-matrix.jsonl` (a line for each case) and `crash-matrix.json` (the sum) behind.
pub(crate) async fn run_part(project: &Project, report: &Report, choice: Choice) -> Result<(), Failure> {
    let (part, within) = match choice {
        Choice::Whole => (WHOLE.to_owned(), 0),
        Choice::OfThisCommit => (format!("{}/{PARTS}", part_of_head(project).await?), PART_WITHIN),
        Choice::Part(part) => (format!("{part}/{PARTS}"), PART_WITHIN),
    };
    let folder = project.results()?;
    let matrix = Spawn::new(project.binary("crash-matrix"))
        .args(["--part", &part, "--within", &within.to_string()])
        .arg("--out")
        .arg(folder);
    report
        .step(&format!("crash matrix, part {part}"), run(matrix))
        .await
}

/// Rotates with the commit, so that all parts are run in the course of time.
async fn part_of_head(project: &Project) -> Result<u64, Failure> {
    let head = output(
        Spawn::new("git")
            .args(["rev-parse", "HEAD"])
            .current_dir(&project.root),
    )
    .await?;
    let start = head.get(..8).unwrap_or_default();
    u64::from_str_radix(start, 16)
        .map(|number| number % PARTS)
        .map_err(|_| Failure::new(format!("git does not tell the commit, but {head:?}")))
}
