//! Everything that must hold before a change lands.

mod programs;
mod runner;
mod tally;

use bridge_control_plane::Assets;
use bridge_control_plane::process::{Output, Spawn};

use crate::bench::instructions;
use crate::build::linting;
use crate::project::Project;
use crate::report::Report;
use crate::run::{both_outputs, cargo, explained, run};
use crate::{Failure, crash_matrix, endings, fuzz, lint, rules, simulate};
pub(crate) use programs::{TestProgram, programs};
use runner::GO_GARBAGE;
use tally::Tally;

/// Crates whose tests need neither a control plane nor an emulated AWS nor the plugins in other languages.
const ALONE: [&str; 13] = [
    "bridge-core",
    "bridge-function",
    "bridge-fuzz",
    "bridge-plugin",
    "bridge-sim",
    "crossbridge-proto",
    "crossbridge-sdk",
    "fake-cloud",
    "fake-function",
    "files-plugin",
    "function-proto",
    "provider-conformance",
    "xtask",
];
/// The machine in the reference model: with the unit tests it is what is run after each change of a line.
pub(crate) const MODEL_TESTS: &str = "bridge-sim model";

pub(crate) async fn run_all() -> Result<(), Failure> {
    let report = Report::new();
    let (mut tally, mut sums) = (Tally::default(), Vec::new());
    let result = all(&report, &mut tally, &mut sums).await;
    // What was not run has not passed.
    if let Err(failure) = result.as_ref().map_err(ToString::to_string)
        && tally.failed() == 0
    {
        tally.add_crash("cargo xtask test", &failure);
    }
    conclude(&tally, &sums);
    result
}

/// Format, lints, unit tests and the reference model, for the inner loop.
pub(crate) async fn run_quick() -> Result<(), Failure> {
    let report = Report::new();
    let project = Project::find().await?;
    let built = lint::quick(&project, &report).await?;
    let quick = programs(&built.messages)
        .into_iter()
        .filter(|program| program.is_unit || program.name() == MODEL_TESTS);
    let tally = runner::run(&report, quick.collect()).await;
    conclude(&tally, &[]);
    passed(&tally)
}

async fn all(report: &Report, tally: &mut Tally, sums: &mut Vec<String>) -> Result<(), Failure> {
    let project = Project::find().await?;
    let built = lint::all(&project, report).await?;
    let fuzzing = async { Ok(fuzz::beside_tests(&project, report).await) };
    let ((), fuzzed) = tokio::try_join!(run_programs(&project, report, &built.messages, tally), fuzzing)?;
    let seeds = simulate::rotated(&project, report).await;
    let counted = instructions::check(&project, report).await;
    for (what, ended) in [
        ("fuzzing", fuzzed),
        ("simulation", seeds),
        ("instructions", counted),
    ] {
        match ended {
            Ok(sum) => sums.push(sum),
            Err(failure) => tally.add_crash(what, &failure.to_string()),
        }
    }
    passed(tally)?;
    rules::run_all(&project, report).await?;
    let part = crash_matrix::Choice::OfThisCommit;
    sums.push(crash_matrix::run_part(&project, report, part).await?);
    let part = endings::Choice::OfThisCommit;
    sums.push(endings::run_part(&project, report, part).await?);
    Ok(())
}

/// All test programs to their end, and the documents' examples. That a test failed is an entry of the tally.
async fn run_programs(
    project: &Project,
    report: &Report,
    messages: &str,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let all = programs(messages);
    for name in runner::unknown_names(&all) {
        tally.add_crash(
            "xtask/src/test/runner.rs",
            &format!("there is no test program {name:?}"),
        );
    }
    let (alone, others): (Vec<TestProgram>, _) = all
        .into_iter()
        .partition(|program| ALONE.contains(&program.package.as_str()));
    // What is installed comes over the network: the tests that do not need it use the cores.
    let (prepared, first) = tokio::join!(prepare(project, report), runner::run(report, alone));
    tally.merge(first);
    if let Err(failure) = &prepared {
        tally.add_crash("preparation", &failure.to_string());
    }
    prepared?;
    tally.merge(runner::run(report, others).await);
    let examples = report.step("test the documents' examples", examples(project));
    tally.merge(examples.await?);
    Ok(())
}

/// The slowest, what failed, and last the sum.
fn conclude(tally: &Tally, sums: &[String]) {
    print!("{}{}", tally.slowest(), tally.failures());
    for sum in sums {
        println!("{sum}");
    }
    println!("{tally}");
}

fn passed(tally: &Tally) -> Result<(), Failure> {
    match tally.failed() {
        0 => Ok(()),
        _ => Err(Failure::new("not all tests passed")),
    }
}

/// Installs and builds what tests with a limit would else wait for.
async fn prepare(project: &Project, report: &Report) -> Result<(), Failure> {
    report.step("control plane", control_plane()).await?;
    report.step("emulated AWS", emulator(project)).await?;
    report
        .step("plugins in other languages, grpcurl", languages(project))
        .await?;
    report
        .step("the bench's peer in Go: vet, tests", peer(project))
        .await
}

/// The tests find it in the cache.
async fn control_plane() -> Result<(), Failure> {
    Assets::find_or_build()
        .await
        .map(drop)
        .map_err(|error| Failure::new(error.to_string()))
}

/// Starts it once, so that it is installed before a test with a limit needs it. It ends with its empty standard input.
async fn emulator(project: &Project) -> Result<(), Failure> {
    run(Spawn::new(project.binary("aws-emulator")).stdout(Output::Null)).await
}

/// Builds the examples that are not Rust side by side, so that no test with a limit waits for it.
async fn languages(project: &Project) -> Result<(), Failure> {
    let builds = Spawn::new(project.binary("bridge-languages")).env(GO_GARBAGE.0, GO_GARBAGE.1);
    explained(builds).await.map(drop)
}

/// Whom the bench compares with.
async fn peer(project: &Project) -> Result<(), Failure> {
    let folder = project.root.join("tests/bench/peer");
    let go = Spawn::new("go").args(["test", "-vet=all", "-trimpath", "./..."]);
    // As the control plane is built, of which it takes what is compiled already.
    let go = go.env("CGO_ENABLED", "0").env(GO_GARBAGE.0, GO_GARBAGE.1);
    explained(go.current_dir(folder)).await.map(drop)
}

/// Those in comments, which no test program holds.
async fn examples(project: &Project) -> Result<Tally, Failure> {
    let tests = linting(cargo(&project.root)).args(["test", "--workspace", "--locked", "--doc"]);
    let (ended, printed) = both_outputs(tests, runner::LONGEST).await;
    print!("{printed}");
    let mut tally = Tally::default();
    for line in printed.lines() {
        tally.add("examples", line);
    }
    if !ended?.success() && tally.failed() == 0 {
        tally.add_crash("examples", "do not build");
    }
    Ok(tally)
}
