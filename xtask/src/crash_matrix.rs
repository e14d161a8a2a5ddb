//! The crash matrix: real processes, killed at every fault point.

use std::fs;

use bridge_control_plane::process::Spawn;
use serde_json::Value;

use crate::Failure;
use crate::build::build_all;
use crate::project::Project;
use crate::report::Report;
use crate::run::explained;

/// As many parts the matrix has, so that one takes a few minutes on two cores.
const PARTS: u64 = 20;
/// What a commit spends on its part: no batch begins later.
const SECONDS: u64 = 60;
/// A part that takes longer, in seconds, fails: it is run for every commit.
const PART_WITHIN: u64 = 600;

/// The whole matrix, as the results name it.
const WHOLE: &str = "0/1";

/// What of the matrix is run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice {
    /// The whole matrix, in one run.
    Whole,
    /// The part that the commit chooses.
    OfThisCommit,
    /// The part of this number.
    Part(u64),
}

/// Parses the number of a part, from 0 to 19.
pub(crate) fn part(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(part) if part < PARTS => Ok(part),
        _ => Err(format!("a number from 0 to {}", PARTS - 1)),
    }
}

pub(crate) async fn run_all(choice: Choice) -> Result<String, Failure> {
    let (report, project) = (Report::new(), Project::find().await?);
    report.step("build everything", build_all(&project.root)).await?;
    run_part(&project, &report, choice).await
}

/// Runs what is built, and leaves `crash-matrix.jsonl` (a line for each case) and `crash-matrix.json` (the sum) behind. Gives the sum in words.
pub(crate) async fn run_part(project: &Project, report: &Report, choice: Choice) -> Result<String, Failure> {
    let (part, within, seconds, first) = match choice {
        Choice::Whole => (WHOLE.to_owned(), 0, 0, 0),
        Choice::OfThisCommit => {
            let head = project.head().await?;
            (
                format!("{}/{PARTS}", head % PARTS),
                PART_WITHIN,
                SECONDS,
                head / PARTS,
            )
        }
        Choice::Part(part) => (format!("{part}/{PARTS}"), PART_WITHIN, 0, 0),
    };
    let folder = project.results()?;
    let matrix = Spawn::new(project.binary("crash-matrix"))
        .arg(format!("--part={part}"))
        .arg(format!("--within={within}"))
        .arg(format!("--seconds={seconds}"))
        .arg(format!("--first={first}"))
        .arg("--out")
        .arg(&folder);
    report
        .step(&format!("crash matrix, part {part}"), explained(matrix))
        .await?;
    let file = folder.join("crash-matrix.json");
    let sum = fs::read_to_string(&file)
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let sum = sum.ok_or_else(|| Failure::new(format!("{} is no sum", file.display())))?;
    let number = |field: &str| sum[field].as_u64().unwrap_or_default();
    Ok(format!(
        "crash matrix: part {part}, {} of its {} cases, {} wrong",
        number("cases"),
        number("cases") + number("leftOut"),
        number("wrong")
    ))
}
