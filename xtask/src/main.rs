//! The project's own commands: `cargo xtask demo`, `test`, `lint` and others.

#[cfg(test)]
mod architecture;
mod attacks;
mod bench;
mod build;
mod crash_matrix;
mod demo;
mod descriptor;
#[cfg(test)]
mod documents;
mod endings;
mod fuzz;
mod lint;
mod mutants;
mod project;
#[cfg(test)]
mod promises;
mod reliability;
mod report;
mod rules;
mod run;
mod simulate;
mod test;
mod tools;
#[cfg(test)]
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

/// The project's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the core scenario: real resources going Ready, and surviving a `kill -9`.
    Demo {
        /// Delete nothing in the end, and go on until Ctrl-C: to play with it.
        #[arg(long)]
        keep: bool,
    },
    /// Show a claim: composed by a function, changed through two kills, and deleted in order.
    DemoCompositions,
    /// Build what is needed, lint, and run all tests.
    Test {
        /// All of them, or those for the time of writing.
        #[arg(value_enum, default_value_t)]
        which: Which,
    },
    /// Run the whole bridge in virtual time: one seed is one schedule.
    Sim(simulate::SimulateArgs),
    /// Check format, lints, dependencies and the contract.
    Lint,
    /// Change one thing at a time in a crate, and see that a test fails.
    Mutants(mutants::MutantsArgs),
    /// Switch each rule of the machine off in turn, and see that a test fails.
    Rules(rules::Rules),
    /// Measure what lives of managed resources cost, with release builds: a table and JSON in `target/bench`.
    Bench(bench::BenchArgs),
    /// Kill bridge and plugin at every fault point: the whole matrix, or a part of it.
    CrashMatrix {
        /// One of its 20 parts, from 0.
        #[arg(long, value_parser = crash_matrix::part)]
        part: Option<u64>,
        /// The part that the commit chooses, as the tests run it.
        #[arg(long, conflicts_with = "part")]
        sample: bool,
    },
    /// Kill the bridge, and pause the leader of two, before and after each write with which compositions end: every case, or a part of them.
    Endings {
        /// Those cases that the commit chooses, as the tests run them.
        #[arg(long)]
        sample: bool,
        /// With the garbage collector of Kubernetes; the sample has it where the commit chooses so.
        #[arg(long, conflicts_with = "sample")]
        collector: bool,
    },
    /// Run the search of the reference model, switch off each rule, run seeds of the simulation and the whole crash matrix, and write the numbers of
    /// docs/reliability.md.
    Reliability {
        /// Run these alone. The numbers of the others stay as they are.
        #[arg(long, value_delimiter = ',')]
        only: Vec<reliability::Proof>,
    },
    /// Attack a bridge as hostile plugins, tenants and strangers would, one after the other, and show what came of it for a good plugin.
    Attacks(attacks::AttacksArgs),
    /// Fuzz what is parsed of plugins, annotations, Secrets and manifests: each target for a minute, or those that are named.
    Fuzz(fuzz::FuzzArgs),
    /// Write the contract's descriptor set, for `grpcurl -protoset FILE`.
    Descriptor {
        /// Where to write it.
        #[arg(default_value = "crossbridge.binpb")]
        file: PathBuf,
    },
}

/// Which tests `cargo xtask test` runs.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Which {
    /// Everything that must hold before a change lands.
    #[default]
    All,
    /// Format, lints, unit tests and the reference model.
    Quick,
}

/// Why a command of the project failed: a sentence for its caller.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failure(String);

impl Failure {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Demo { keep: true } => demo::run_and_keep(interruption()).await,
        command => tokio::select! {
            result = run(command) => result,
            failure = interruption() => Err(failure),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nFAILED: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo { .. } => demo::run_all().await,
        Command::DemoCompositions => demo::compositions::run_all().await,
        Command::Test { which: Which::All } => test::run_all().await,
        Command::Test { which: Which::Quick } => test::run_quick().await,
        Command::Sim(arguments) => simulate::run_seeds(&arguments).await,
        Command::Lint => lint::run_all().await,
        Command::Mutants(arguments) => mutants::run(&arguments).await,
        Command::Rules(asked) => rules::run(&asked).await,
        Command::Bench(args) => bench::run_all(&args).await,
        Command::CrashMatrix { part, sample } => {
            let choice = match part {
                Some(part) => crash_matrix::Choice::Part(part),
                None if sample => crash_matrix::Choice::OfThisCommit,
                None => crash_matrix::Choice::Whole,
            };
            crash_matrix::run_all(choice).await.map(drop)
        }
        Command::Endings { sample, collector } => {
            let choice = if sample {
                endings::Choice::OfThisCommit
            } else {
                endings::Choice::Whole { collector }
            };
            endings::run_all(choice).await.map(|sum| println!("{sum}"))
        }
        Command::Reliability { only } => reliability::run_all(&only).await,
        Command::Attacks(arguments) => attacks::run_all(&arguments).await,
        Command::Fuzz(arguments) => fuzz::run_targets(&arguments).await,
        Command::Descriptor { file } => descriptor::run(&file).await,
    }
}

/// SIGINT or SIGTERM. What was started is dropped with the command's future, and so ends.
async fn interruption() -> Failure {
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => tokio::select! {
            _ = interrupt.recv() => Failure::new("interrupted"),
            _ = terminate.recv() => Failure::new("terminated"),
        },
        (Err(error), _) | (_, Err(error)) => Failure::new(format!("cannot listen to signals: {error}")),
    }
}
