//! Measurements: with what is shipped, release builds, and the instructions of hot paths.

pub(crate) mod instructions;

use std::fs;
use std::path::Path;

use bridge_control_plane::process::Spawn;

use crate::Failure;
use crate::project::Project;
use crate::reliability::between;
use crate::run::{cargo, run};

/// The page, and the mark of what is written into it.
const PAGE: &str = "docs/performance.md";
const MARK: &str = "figures";

/// What is measured, as `bridge-bench bridge` takes it.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// One run with few objects.
    #[arg(long)]
    quick: bool,
    /// Write the table into docs/performance.md.
    #[arg(long)]
    document: bool,
    /// Measure nothing: take the table that is there.
    #[arg(long, requires = "document")]
    reuse: bool,
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
    let results = project.scratch("bench");
    if !args.reuse {
        build(&project).await?;
        let mut bench = Spawn::new(project.scratch("release").join("bridge-bench"))
            .arg("bridge")
            .arg("--out")
            .arg(&results);
        if args.quick {
            bench = bench.arg("--quick");
        }
        run(bench.args(&args.rest)).await?;
    }
    if args.document {
        let page = project.root.join(PAGE);
        let table = read(&results.join("bridge.md"))?;
        let text = between(&read(&page)?, MARK, &table)?;
        fs::write(&page, text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", page.display())))?;
        eprintln!("wrote {}", page.display());
    }
    Ok(())
}

/// Bridge, plugin and what measures them; and the peer, beside them.
async fn build(project: &Project) -> Result<(), Failure> {
    let packages = ["--package", "runtime-bridge", "--package", "bridge-bench"];
    let build = cargo(&project.root).args(["build", "--release", "--locked", "--bins"]);
    run(build.args(packages)).await?;
    let peer = project.scratch("release").join("bench-peer");
    let build = Spawn::new("go").args(["build", "-trimpath", "-o"]).arg(peer);
    run(build.arg(".").current_dir(project.root.join("tests/bench/peer"))).await
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}
