//! The simulation: many seeds on all cores, or one with what happens.

use bridge_control_plane::process::Spawn;
use clap::Args;

use crate::Failure;
use crate::build::build_binaries;
use crate::project::Project;
use crate::report::Report;
use crate::run::{explained, run};

/// What a commit spends on seeds, on those with compositions, and on the explorer of compositions.
const SECONDS: [(u64, &[&str]); 4] = [
    (60, &[]),
    (50, &["--compositions"]),
    (30, &["--explore"]),
    (15, &["--explore", PAIRS_FLAG]),
];
/// More than fit in that; the numbers of docs/reliability.md are of so many.
const SEEDS: u64 = 10_000;
/// Enough to come by all that is drawn.
const COMPOSITION_SEEDS: u64 = 1_000;
/// Some of each fault.
const PAIRS_FLAG: &str = "--pairs=10000";
/// Built with all else by [`build_all`](crate::build::build_all).
const BINARY: &str = "sim";

/// The seeds to run, or the one to replay, or a scenario.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// Number of seeds, from the first one on.
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
    /// Seeds with compositions: a kind of their own.
    #[arg(long, conflicts_with = "scenario")]
    compositions: bool,
    /// One scenario in virtual time, and what happens.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// One of the bridge's writes in it, from 0, and what becomes of it: 12:LandsLate. Of scenarios of compositions.
    #[arg(long, value_name = "NUMBER:NAME", requires = "scenario")]
    fault: Vec<String>,
    /// The explorer of compositions: each fault at each write of each of their scenarios.
    #[arg(long, conflicts_with_all = ["replay", "compositions"])]
    explore: bool,
    /// So many pairs of faults instead.
    #[arg(long, requires = "explore")]
    pairs: Option<u64>,
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
    flags.extend(arguments.compositions.then(|| "--compositions".to_owned()));
    flags.extend(arguments.fault.iter().map(|one| format!("--fault={one}")));
    flags.extend(arguments.explore.then(|| "--explore".to_owned()));
    flags.extend(arguments.pairs.map(|pairs| format!("--pairs={pairs}")));
    build_binaries(&project.root, &[BINARY]).await?;
    run(simulation(&project, &flags)).await
}

/// Seeds of this commit's own, as many as fit in the budget, and those that once failed. Each commit tries others, so that a week tries many. One that
/// fails can be replayed anywhere, and goes into `tests/sim/seeds.txt` or `composition-seeds.txt`. Gives the sums.
pub(crate) async fn rotated(project: &Project, report: &Report) -> Result<String, Failure> {
    let first = project.head().await? * SEEDS;
    let mut sums = Vec::new();
    for (seconds, more) in SECONDS {
        let mut flags = vec![
            format!("--seeds={SEEDS}"),
            format!("--from={first}"),
            format!("--seconds={seconds}"),
            format!("--out={}", project.results()?.display()),
        ];
        flags.extend(more.iter().map(|flag| (*flag).to_owned()));
        let step = [&["simulate"], more].concat().join(" ");
        let sum = report.step(&step, explained(simulation(project, &flags))).await?;
        sums.push([&["simulation"], more].concat().join(" ") + ": " + &sum);
    }
    Ok(sums.join("\n"))
}

/// The same seeds each time, for the numbers of docs/reliability.md.
pub(crate) async fn first(project: &Project, report: &Report) -> Result<(), Failure> {
    let out = format!("--out={}", project.results()?.display());
    let flags = [format!("--seeds={SEEDS}"), out.clone()];
    report.step("simulate", run(simulation(project, &flags))).await?;
    let flags = [
        format!("--seeds={COMPOSITION_SEEDS}"),
        out.clone(),
        "--compositions".to_owned(),
    ];
    let compositions = run(simulation(project, &flags));
    report.step("simulate --compositions", compositions).await?;
    for more in [&["--explore"][..], &["--explore", PAIRS_FLAG]] {
        let flags: Vec<String> = more
            .iter()
            .map(|flag| (*flag).to_owned())
            .chain([out.clone()])
            .collect();
        let step = format!("simulate {}", more.join(" "));
        report.step(&step, run(simulation(project, &flags))).await?;
    }
    Ok(())
}

fn simulation(project: &Project, flags: &[String]) -> Spawn {
    Spawn::new(project.binary(BINARY)).args(flags)
}
