//! Measurements: with what is shipped, release builds, and the instructions of hot paths.

pub(crate) mod instructions;
mod sections;

use std::fs;
use std::path::Path;

use bridge_control_plane::process::Spawn;

use crate::Failure;
use crate::project::Project;
use crate::reliability::{between, within};
use crate::run::{cargo, run};

/// Where the tables are written into.
const PAGE: &str = "docs/performance.md";

/// What measures are of that were taken with changes which are not committed.
const CHANGED: &str = "a changed tree";

/// A measurement of `bridge-bench`.
struct Measurement {
    /// Its subcommand, and the name of its results.
    name: &'static str,
    /// The mark of its table in the page.
    mark: &'static str,
}

const MANAGED: Measurement = Measurement {
    name: "bridge",
    mark: "figures",
};
const COMPOSITIONS: Measurement = Measurement {
    name: "compositions",
    mark: "compositions",
};

/// What is measured of managed resources, unless something else is named.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    run: RunArgs,
}

/// How much is measured, and what becomes of it.
#[derive(Debug, clap::Args)]
struct RunArgs {
    /// One run with few objects.
    #[arg(long)]
    quick: bool,
    /// Write the tables into docs/performance.md, each in place of the whole one that is there: the other side's, too, where one alone was measured.
    #[arg(long)]
    document: bool,
    /// Measure nothing: take the tables that are there.
    #[arg(long, requires = "document")]
    reuse: bool,
    /// Further arguments of `bridge-bench`'s subcommand.
    #[arg(last = true)]
    rest: Vec<String>,
}

/// What is measured instead.
#[derive(Debug, clap::Subcommand)]
enum What {
    /// Measure what composite resources and claims cost.
    Compositions(RunArgs),
    /// Count the instructions of hot paths with valgrind, and keep the counts in `tests/bench/instructions.json`.
    Instructions(instructions::InstructionsArgs),
}

pub(crate) async fn run_all(args: &BenchArgs) -> Result<(), Failure> {
    match &args.what {
        Some(What::Instructions(args)) => instructions::run_all(args).await,
        Some(What::Compositions(args)) => measure(&COMPOSITIONS, args).await,
        None => measure(&MANAGED, &args.run).await,
    }
}

async fn measure(what: &Measurement, args: &RunArgs) -> Result<(), Failure> {
    let project = Project::find().await?;
    let results = project.scratch("bench");
    if !args.reuse {
        let commit = match project.clean_commit(PAGE).await {
            Err(_) if !args.document => CHANGED.to_owned(),
            commit => commit?,
        };
        build(&project).await?;
        let mut bench = Spawn::new(project.scratch("release").join("bridge-bench"))
            .arg(what.name)
            .args(["--commit", &commit])
            .arg("--out")
            .arg(&results);
        if args.quick {
            bench = bench.arg("--quick");
        }
        run(bench.args(&args.rest)).await?;
    }
    if args.document {
        let page = project.root.join(PAGE);
        let tables = read(&results.join(format!("{}.md", what.name)))?;
        if tables.contains(CHANGED) {
            return Err(Failure::new(format!(
                "the tables of {} are of {CHANGED}, which no commit has: measure again, without changes",
                what.name
            )));
        }
        let text = read(&page)?;
        let merged = sections::merge(within(&text, what.mark)?, &tables);
        fs::write(&page, between(&text, what.mark, &merged)?)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", page.display())))?;
        eprintln!("wrote {}", page.display());
    }
    Ok(())
}

/// Bridge, plugin, function and what measures them; and the peer, beside them.
async fn build(project: &Project) -> Result<(), Failure> {
    let packages = ["runtime-bridge", "fake-function", "bridge-bench"];
    let build = cargo(&project.root).args(["build", "--release", "--locked", "--bins"]);
    run(build.args(packages.map(|package| format!("--package={package}")))).await?;
    let peer = project.scratch("release").join("bench-peer");
    let build = Spawn::new("go").args(["build", "-trimpath", "-o"]).arg(peer);
    run(build.arg(".").current_dir(project.root.join("tests/bench/peer"))).await
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}
