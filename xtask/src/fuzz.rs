//! Fuzz targets: each for a while, or one input again.

use std::path::PathBuf;
use std::sync::mpsc::channel;

use bridge_control_plane::process::{Output, Spawn};
use clap::Args;

use crate::Failure;
use crate::build::build_binaries;
use crate::project::Project;
use crate::report::Report;
use crate::run::run;

/// What a commit spends on all targets together.
const SECONDS: u64 = 75;
/// Built with all else by [`build_all`](crate::build::build_all).
const BINARY: &str = "fuzz";

/// The targets to fuzz, or the input to replay.
#[derive(Debug, Args)]
pub(crate) struct FuzzArgs {
    /// Targets; all of them if none is named.
    targets: Vec<String>,
    /// How long each of them is fuzzed.
    #[arg(long, default_value_t = 60)]
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

/// All targets for a short while, by a seed that the commit chooses: a week tries many. Gives the sum.
pub(crate) async fn rotated(project: &Project, report: &Report) -> Result<String, Failure> {
    let flags = [
        format!("--seed={}", project.head().await?),
        format!("--together={SECONDS}"),
    ];
    let (printing, printed) = channel();
    let fuzzing = fuzzing(project, &flags).stdout(Output::lines(move |line| {
        println!("{line}");
        drop(printing.send(line.to_owned()));
    }));
    report.step("fuzz", run(fuzzing)).await?;
    Ok(printed.iter().last().unwrap_or_default())
}

fn fuzzing(project: &Project, flags: &[String]) -> Spawn {
    let out = format!("--out={}", project.scratch("fuzz").display());
    Spawn::new(project.binary(BINARY)).args(flags).args([out])
}
