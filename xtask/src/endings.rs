//! The crash matrix of endings: bridges are killed and paused before and after each write with which compositions end.

use std::fs;

use bridge_control_plane::process::Spawn;
use serde_json::Value;

use crate::Failure;
use crate::build::build_all;
use crate::project::Project;
use crate::report::Report;
use crate::run::run;

/// A commit runs one case in so many, of one of the two targets.
const SHARE: u64 = 4;
/// What a commit runs fails if it takes longer, in seconds. Two minutes of it a bridge waits for what a former one may have sent.
const WITHIN: u64 = 600;
const TARGETS: [&str; 2] = ["bridge", "leader"];

/// What of the matrix is run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice {
    /// All cases.
    Whole,
    /// Those that the commit chooses.
    OfThisCommit,
}

pub(crate) async fn run_all(choice: Choice) -> Result<String, Failure> {
    let (report, project) = (Report::new(), Project::find().await?);
    report.step("build everything", build_all(&project.root)).await?;
    run_part(&project, &report, choice).await
}

/// Runs what is built, and leaves `endings.jsonl` (a line for each case) and `endings.json` (the sum) behind. Gives the sum in words.
pub(crate) async fn run_part(project: &Project, report: &Report, choice: Choice) -> Result<String, Failure> {
    let folder = project.results()?;
    let matrix = Spawn::new(project.binary("endings-matrix"))
        .arg("--out")
        .arg(&folder);
    let (matrix, what) = match choice {
        Choice::Whole => (matrix, "all cases".to_owned()),
        Choice::OfThisCommit => {
            let head = project.head().await?;
            let (target, first) = of_commit(head);
            let matrix = matrix
                .arg(format!("--target={target}"))
                .arg(format!("--every={SHARE}"))
                .arg(format!("--first={first}"))
                .arg(format!("--within={WITHIN}"));
            (matrix, format!("{target}, every {SHARE}th case from {first}"))
        }
    };
    report
        .step(&format!("crash matrix of endings, {what}"), run(matrix))
        .await?;
    let file = folder.join("endings.json");
    let sum = fs::read_to_string(&file)
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let sum = sum.ok_or_else(|| Failure::new(format!("{} is no sum", file.display())))?;
    let number = |field: &str| sum[field].as_u64().unwrap_or_default();
    Ok(format!(
        "crash matrix of endings: {what}, {} cases, {} hit, {} wrong",
        number("cases"),
        number("hit"),
        number("wrong")
    ))
}

/// All that commits choose together are the whole.
fn of_commit(head: u64) -> (&'static str, u64) {
    let target = if head.is_multiple_of(2) {
        TARGETS[0]
    } else {
        TARGETS[1]
    };
    (target, head / 2 % SHARE)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{SHARE, TARGETS, of_commit};

    #[test]
    fn commits_choose_every_part_of_either_target() {
        let chosen: BTreeSet<_> = (0..2 * SHARE).map(of_commit).collect();
        let all = TARGETS
            .into_iter()
            .flat_map(|target| (0..SHARE).map(move |first| (target, first)));
        assert_eq!(chosen, all.collect());
    }
}
