//! The simulation: many seeds on all cores, or one with what happens.

use std::path::Path;

use clap::Args;

use crate::Failure;
use crate::project::Project;
use crate::report::Report;
use crate::run::{cargo, run};

/// CI's share: as many seeds as fit, on two cores.
const SECONDS: u64 = 300;
const SEEDS: u64 = 10_000;

/// Which seeds.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// How many seeds.
    #[arg(long, default_value_t = SEEDS)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// No seed begins after so many seconds.
    #[arg(long)]
    seconds: Option<u64>,
    /// One seed, and what happens.
    #[arg(long)]
    replay: Option<u64>,
    /// One scenario in virtual time, and what happens.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
}

pub(crate) async fn run_seeds(arguments: &SimulateArgs) -> Result<(), Failure> {
    let project = Project::find().await?;
    let mut flags = match (&arguments.scenario, arguments.replay) {
        (Some(name), _) => vec![format!("--scenario={name}")],
        (None, Some(seed)) => vec![format!("--replay={seed}")],
        (None, None) => vec![
            format!("--seeds={}", arguments.seeds),
            format!("--from={}", arguments.from),
            format!("--out={}", project.results()?.display()),
        ],
    };
    flags.extend(arguments.seconds.map(|seconds| format!("--seconds={seconds}")));
    simulate(&project.root, &flags).await
}

/// The same seeds for each commit, for five minutes; the summary says how many. Others find more, but a commit is not to fail for what it did
/// not do: those are for whoever looks for faults.
pub(crate) async fn sample(project: &Project, report: &Report) -> Result<(), Failure> {
    let seeds = async {
        let flags = [
            format!("--seeds={SEEDS}"),
            format!("--seconds={SECONDS}"),
            format!("--out={}", project.results()?.display()),
        ];
        simulate(&project.root, &flags).await
    };
    report.step("simulate", seeds).await
}

/// Optimised: a seed takes milliseconds then.
async fn simulate(root: &Path, flags: &[String]) -> Result<(), Failure> {
    let command = [
        "run",
        "--quiet",
        "--locked",
        "--profile=sim",
        "--package=bridge-sim",
        "--bin=sim",
        "--",
    ];
    run(cargo(root).args(command).args(flags)).await
}
