//! Mutation tests: `cargo-mutants` changes one function at a time, and a test must fail.
//!
//! It works in a copy in the target folder, where the dependencies are those that the workspace has built. The tests that judge come in turns, the
//! quickest first: what one turn misses the next one tries.

mod outcome;
mod tree;

use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bridge_control_plane::process::Spawn;

use crate::project::Project;
use crate::report::Report;
use crate::run::{cargo, output, run as run_program, status, without_cargo};
use crate::{Failure, tools};
use outcome::Outcome;

/// A crate, and who judges its mutants.
struct Subject {
    name: &'static str,
    folder: &'static str,
    /// After its unit tests: test programs that are built with the change, and which of their tests are left out because they take minutes.
    programs: &'static [&'static str],
    skipped: &'static [&'static str],
}

const SUBJECTS: [Subject; 6] = [
    Subject {
        name: "bridge-core",
        folder: "runtime-bridge/core",
        programs: &["model"],
        skipped: &["explore", "random"],
    },
    Subject {
        name: "bridge-engine",
        folder: "runtime-bridge/engine",
        programs: &[],
        skipped: &[],
    },
    Subject {
        name: "bridge-plugin",
        folder: "runtime-bridge/plugin",
        programs: &["plugin"],
        skipped: &[],
    },
    Subject {
        name: "bridge-function",
        folder: "runtime-bridge/function",
        programs: &["function"],
        skipped: &[],
    },
    Subject {
        name: "bridge-transport",
        folder: "runtime-bridge/transport",
        programs: &["plugin", "function"],
        skipped: &[],
    },
    Subject {
        name: "crossbridge-sdk",
        folder: "sdk/rust",
        programs: &["sdk"],
        skipped: &[],
    },
];

/// What is changed, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct MutantsArgs {
    /// The crate that is changed.
    #[arg(long, value_parser = SUBJECTS.map(|subject| subject.name))]
    package: String,
    /// Only what is in files like this; may be repeated.
    #[arg(long, value_name = "GLOB")]
    file: Vec<String>,
    /// Only so many, chosen by the seed.
    #[arg(long, value_name = "COUNT")]
    sample: Option<usize>,
    /// What is chosen; else the commit says.
    #[arg(long, requires = "sample")]
    seed: Option<u64>,
    /// No mutant begins after so many seconds; what was tried until then is reported.
    #[arg(long)]
    seconds: Option<u64>,
    /// The tests of one mutant end after so many seconds: far more than they take, also beside other work.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// List what would be changed, and end.
    #[arg(long)]
    list: bool,
}

/// One mutant is built in less, unless the compiler never ends.
const BUILD_TIMEOUT: u64 = 900;

pub(crate) async fn run(arguments: &MutantsArgs) -> Result<(), Failure> {
    let project = Project::find().await?;
    let Some(subject) = SUBJECTS.iter().find(|subject| subject.name == arguments.package) else {
        return Err(Failure::new("there is no such crate"));
    };
    let session = Session::prepare(&project, subject, arguments).await?;
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => project.head().await?,
    };
    let all = session.list().await?;
    let chosen = match arguments.sample {
        Some(count) => choose(all.clone(), count, seed),
        None => all.clone(),
    };
    if arguments.list {
        for mutant in chosen {
            println!("{mutant}");
        }
        return Ok(());
    }
    let report = Report::new();
    let mut outcome = Outcome {
        missed: chosen,
        ..Outcome::default()
    };
    for turn in subject.turns() {
        let asked = std::mem::take(&mut outcome.missed);
        if asked.is_empty() || session.is_over() {
            outcome.untried.extend(asked);
            continue;
        }
        let what = format!(
            "{} mutants of {}: {}",
            asked.len(),
            subject.name,
            turn.programs.join(", ")
        );
        let found = report.step(&what, session.judge(&turn, &all, &asked)).await?;
        outcome.add(&asked, found);
    }
    let file = project.results()?.join(format!("mutants-{}.json", subject.name));
    let json = format!("{:#}\n", outcome.to_json(subject.name, seed));
    fs::write(&file, json).map_err(|error| failed(&file, &error))?;
    println!("{}", file.display());
    outcome.conclude()
}

/// Test programs that are built and run together.
struct Turn {
    programs: Vec<String>,
    skipped: &'static [&'static str],
}

impl Turn {
    fn flags(&self) -> impl Iterator<Item = String> {
        let programs = self.programs.iter().map(|program| format!("--test={program}"));
        iter::once("--locked".to_owned()).chain(programs)
    }

    fn skipping(&self) -> impl Iterator<Item = &'static str> {
        self.skipped.iter().flat_map(|name| ["--skip", *name])
    }
}

impl Subject {
    /// Its unit tests need nothing else built anew.
    fn turns(&self) -> impl Iterator<Item = Turn> {
        let own = Turn {
            programs: vec![tree::unit(self.name)],
            skipped: &[],
        };
        let others = Turn {
            programs: self.programs.iter().copied().map(str::to_owned).collect(),
            skipped: self.skipped,
        };
        [own, others].into_iter().filter(|turn| !turn.programs.is_empty())
    }
}

/// The copy, and what is asked of it.
struct Session<'a> {
    program: PathBuf,
    scratch: PathBuf,
    subject: &'a Subject,
    arguments: &'a MutantsArgs,
    ends: Option<Instant>,
}

impl<'a> Session<'a> {
    async fn prepare(
        project: &Project,
        subject: &'a Subject,
        arguments: &'a MutantsArgs,
    ) -> Result<Self, Failure> {
        let scratch = project.scratch("mutants");
        fs::create_dir_all(&scratch).map_err(|error| failed(&scratch, &error))?;
        let units = SUBJECTS.map(|subject| (subject.folder, subject.name));
        tree::copy(&project.root, &scratch.join("tree"), &units).await?;
        tree::warm(&project.scratch(""), &scratch.join("target"))?;
        Ok(Self {
            program: tools::cargo_mutants().await?,
            scratch,
            subject,
            arguments,
            ends: arguments
                .seconds
                .map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        })
    }

    fn is_over(&self) -> bool {
        self.ends.is_some_and(|ends| ends <= Instant::now())
    }

    fn mutants(&self) -> Spawn {
        without_cargo(Spawn::new(&self.program))
            .arg("mutants")
            .arg(format!("--package={}", self.subject.name))
            .args(self.arguments.file.iter().map(|file| format!("--file={file}")))
            .arg("--colors=never")
            .current_dir(self.scratch.join("tree"))
    }

    async fn list(&self) -> Result<Vec<String>, Failure> {
        let listed = output(self.mutants().arg("--list")).await?;
        Ok(listed.lines().map(str::to_owned).collect())
    }

    /// Each of `asked` is chosen as its part of `all`: a filter by name leaves mutants of struct fields in.
    async fn judge(&self, turn: &Turn, all: &[String], asked: &[String]) -> Result<Outcome, Failure> {
        // Else the change would be blamed for what fails without it.
        run_program(self.tests(turn)).await?;
        let folder = self.scratch.join(self.subject.name);
        let mut found = Outcome::default();
        for (number, name) in all.iter().enumerate().filter(|(_, name)| asked.contains(name)) {
            if self.is_over() {
                break;
            }
            let folder = folder.join(format!("{number}-{}", turn.programs[0]));
            let results = tree::empty_results(&folder)?;
            let mutant = self
                .mutants()
                .arg(format!("--shard={number}/{}", all.len()))
                .args(["--sharding=round-robin", "--in-place", "--no-shuffle"])
                .args(["--baseline=skip", "--test-workspace=true"])
                .arg(format!("--timeout={}", self.arguments.timeout))
                .arg(format!("--build-timeout={BUILD_TIMEOUT}"))
                .arg("--output")
                .arg(&folder)
                .args(turn.flags().map(|flag| format!("--cargo-arg={flag}")))
                .args(["--", "--"])
                .args(turn.skipping());
            // Mutants that are missed (2) and tests that never end (3) are results, and no failure of the run.
            let status = status(self.in_copy(mutant)).await?;
            if !matches!(status.code(), Some(0 | 2 | 3)) {
                return Err(Failure::new(format!("{name}: cargo-mutants ended with {status}")));
            }
            found.extend(Outcome::read(&results)?);
        }
        Ok(found)
    }

    /// What judges, of what is not changed.
    fn tests(&self, turn: &Turn) -> Spawn {
        let tests = cargo(&self.scratch.join("tree"))
            .args(["test", "--quiet", "--workspace"])
            .args(turn.flags())
            .arg("--")
            .args(turn.skipping());
        self.in_copy(tests)
    }

    fn in_copy(&self, program: Spawn) -> Spawn {
        program
            .env("CARGO_TARGET_DIR", self.scratch.join("target"))
            .env("CARGO_INCREMENTAL", "1")
    }
}

/// Those that the seed puts first: what else there is to change moves none of them.
fn choose(mut all: Vec<String>, count: usize, seed: u64) -> Vec<String> {
    all.sort_by_cached_key(|name| (place(name, seed), name.clone()));
    all.truncate(count);
    all
}

/// FNV-1a of the seed and the name, mixed once more as names end alike.
fn place(name: &str, seed: u64) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count)
            .map(|line| format!("src/a.rs:{line}:5: replace f"))
            .collect()
    }

    #[test]
    fn a_seed_chooses_the_same_mutants_each_time() {
        assert_eq!(choose(names(100), 10, 1), choose(names(100), 10, 1));
        assert_ne!(choose(names(100), 10, 1), choose(names(100), 10, 2));
        assert_eq!(choose(names(3), 10, 1).len(), 3);
    }

    #[test]
    fn unit_tests_judge_before_what_takes_longer_to_build() {
        let turns: Vec<Vec<String>> = SUBJECTS[0].turns().map(|turn| turn.programs).collect();
        assert_eq!(turns, [["bridge-core-unit"], ["model"]]);
    }
}
