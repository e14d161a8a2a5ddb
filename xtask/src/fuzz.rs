//! Fuzz targets: each for a while, or one input again.

use std::path::PathBuf;

use bridge_control_plane::process::Spawn;
use clap::Args;

use crate::Failure;
use crate::build::build_binaries;
use crate::project::Project;
use crate::report::Report;
use crate::run::{explained, run};

/// How long each target is fuzzed, by whoever says nothing else.
const SECONDS: u64 = 60;
/// The same for each commit.
const SECONDS_OF_A_COMMIT: u64 = 30;
/// What runs beside tests takes only what they leave.
const LOWEST_PRIORITY: [&str; 2] = ["-n", "19"];
/// Built with all else by [`build_all`](crate::build::build_all).
const BINARY: &str = "fuzz";

/// The targets to fuzz, or the input to replay.
#[derive(Debug, Args)]
pub(crate) struct FuzzArgs {
    /// Targets; all of them if none is named.
    targets: Vec<String>,
    /// How long each of them is fuzzed.
    #[arg(long, default_value_t = SECONDS)]
    seconds: u64,
    /// One seed is one sequence of inputs; else the commit chooses it.
    #[arg(long)]
    seed: Option<u64>,
    /// Judge this input of the target alone.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// List the targets, and what is asserted of each.
    #[arg(long)]
    list: bool,
}

pub(crate) async fn run_targets(arguments: &FuzzArgs) -> Result<(), Failure> {
    let project = Project::find().await?;
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => project.head().await?,
    };
    let mut flags = vec![
        format!("--seed={seed}"),
        format!("--seconds={}", arguments.seconds),
    ];
    flags.extend(
        arguments
            .replay
            .as_ref()
            .map(|file| format!("--replay={}", file.display())),
    );
    flags.extend(arguments.list.then(|| "--list".to_owned()));
    flags.extend(arguments.targets.iter().cloned());
    build_binaries(&project.root, &[BINARY]).await?;
    run(fuzzing(&project, &flags)).await
}

/// One target after the other, by a seed that the commit chooses: a week tries many. It takes what others leave of the cores, of which tests that wait
/// for processes leave much. Gives the sum.
pub(crate) async fn beside_tests(project: &Project, report: &Report) -> Result<String, Failure> {
    let flags = [
        format!("--seed={}", project.head().await?),
        format!("--seconds={SECONDS_OF_A_COMMIT}"),
        "--jobs=1".to_owned(),
    ];
    let fuzzing = Spawn::new("nice")
        .args(LOWEST_PRIORITY)
        .arg(project.binary(BINARY))
        .args(flags)
        .arg(out(project));
    report.step("fuzz, beside the tests", explained(fuzzing)).await
}

fn fuzzing(project: &Project, flags: &[String]) -> Spawn {
    Spawn::new(project.binary(BINARY)).args(flags).arg(out(project))
}

/// Where inputs go that break a promise.
fn out(project: &Project) -> String {
    format!("--out={}", project.scratch("fuzz").display())
}
