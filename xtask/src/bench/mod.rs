//! Measurements: with what is shipped, release builds, and the instructions of hot paths.

pub(crate) mod instructions;

use bridge_control_plane::process::Spawn;

use crate::Failure;
use crate::project::Project;
use crate::run::{cargo, run};

/// What is measured, as `bridge-bench bridge` takes it.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// One run with few objects.
    #[arg(long)]
    quick: bool,
    /// Further arguments of `bridge-bench bridge`.
    #[arg(last = true)]
    rest: Vec<String>,
}

/// What is measured instead.
#[derive(Debug, clap::Subcommand)]
enum What {
    /// Count the instructions of hot paths with valgrind, and keep the counts in `tests/bench/instructions.json`.
    Instructions(instructions::InstructionsArgs),
}

pub(crate) async fn run_all(args: &BenchArgs) -> Result<(), Failure> {
    if let Some(What::Instructions(args)) = &args.what {
        return instructions::run_all(args).await;
    }
    let project = Project::find().await?;
    let build = cargo(&project.root).args(["build", "--release", "--workspace", "--bins", "--locked"]);
    run(build).await?;
    let results = project.scratch("bench");
    let mut bench = Spawn::new(project.scratch("release").join("bridge-bench"))
        .arg("bridge")
        .arg("--out")
        .arg(results);
    if args.quick {
        bench = bench.arg("--quick");
    }
    run(bench.args(&args.rest)).await
}
