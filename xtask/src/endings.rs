//! The crash matrix of endings: bridges are killed and paused before and after each write with which compositions end.

use std::fs;

use bridge_control_plane::process::Spawn;
use serde_json::Value;

use crate::Failure;
use crate::build::build_all;
use crate::project::Project;
use crate::report::Report;
use crate::run::explained;

/// A commit runs one case in so many, of one of the two targets, with or without the garbage collector of Kubernetes.
const SHARE: u64 = 4;
/// What a commit runs fails if it takes longer, in seconds. Two minutes of it a bridge waits for what a former one may have sent.
const WITHIN: u64 = 600;
const TARGETS: [&str; 2] = ["bridge", "leader"];

/// What of the matrix is run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Choice {
    /// All cases, with or without the garbage collector of Kubernetes.
    Whole { collector: bool },
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
    let (matrix, what, collector) = match choice {
        Choice::Whole { collector } => (matrix, "all cases".to_owned(), collector),
        Choice::OfThisCommit => {
            let head = project.head().await?;
            let Part {
                target,
                collector,
                first,
            } = of_commit(head);
            let matrix = matrix
                .arg(format!("--target={target}"))
                .arg(format!("--every={SHARE}"))
                .arg(format!("--first={first}"))
                .arg(format!("--within={WITHIN}"));
            let what = format!("{target}, every {SHARE}th case from {first}");
            (matrix, what, collector)
        }
    };
    let (matrix, what) = if collector {
        (
            matrix.arg("--collector"),
            format!("{what}, with the garbage collector"),
        )
    } else {
        (matrix, what)
    };
    report
        .step(&format!("crash matrix of endings, {what}"), explained(matrix))
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

/// What one commit runs.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    target: &'static str,
    collector: bool,
    first: u64,
}

/// All that commits choose together are the whole, with the garbage collector and without.
fn of_commit(head: u64) -> Part {
    let target = if head.is_multiple_of(2) {
        TARGETS[0]
    } else {
        TARGETS[1]
    };
    Part {
        target,
        collector: !(head / 2).is_multiple_of(2),
        first: head / 4 % SHARE,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Part, SHARE, TARGETS, of_commit};

    #[test]
    fn commits_choose_every_part_with_and_without_the_collector() {
        let chosen: BTreeSet<_> = (0..4 * SHARE).map(of_commit).collect();
        let of = |target, collector| {
            (0..SHARE).map(move |first| Part {
                target,
                collector,
                first,
            })
        };
        let all = TARGETS.into_iter().flat_map(|target| {
            [false, true]
                .into_iter()
                .flat_map(move |collector| of(target, collector))
        });
        assert_eq!(chosen, all.collect());
    }
}
