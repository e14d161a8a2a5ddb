//! Measurements, with what is shipped: release builds.

use bridge_control_plane::process::Spawn;

use crate::Failure;
use crate::project::Project;
use crate::run::{cargo, run};

/// What is measured, as `bridge-bench bridge` takes it.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// One run with few objects.
    #[arg(long)]
    quick: bool,
    /// Further arguments of `bridge-bench bridge`.
    #[arg(last = true)]
    rest: Vec<String>,
}

pub(crate) async fn run_all(args: &BenchArgs) -> Result<(), Failure> {
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
