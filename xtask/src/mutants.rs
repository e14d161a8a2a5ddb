//! Mutation tests: `cargo-mutants` changes one function at a time, and a test must fail.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bridge_control_plane::process::Spawn;

use crate::project::Project;
use crate::report::Report;
use crate::run::{output, without_cargo};
use crate::{Failure, tools};

/// A crate, and where its tests are beside its own.
struct Subject {
    name: &'static str,
    /// Crates whose tests are of it too.
    tested_by: &'static [&'static str],
    /// What of them is built and run: tests that take minutes are left out.
    tests: &'static [&'static str],
}

/// What may be changed.
const SUBJECTS: [Subject; 4] = [
    Subject {
        name: "bridge-core",
        tested_by: &["bridge-sim"],
        tests: &["--lib", "--test=model"],
    },
    Subject {
        name: "bridge-engine",
        tested_by: &["bridge-sim"],
        tests: &["--lib", "--test=real", "--test=scenarios", "--test=simulation"],
    },
    Subject {
        name: "bridge-plugin",
        tested_by: &[],
        tests: &["--tests"],
    },
    Subject {
        name: "crossbridge-sdk",
        tested_by: &[],
        tests: &["--tests"],
    },
];

/// What is changed, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct MutantsArgs {
    /// The crate that is changed.
    #[arg(long, value_parser = SUBJECTS.map(|subject| subject.name))]
    package: String,
    /// Only what is in files like this.
    #[arg(long, value_name = "GLOB")]
    file: Option<String>,
    /// Only the part that the commit chooses, of so many.
    #[arg(long, value_name = "PARTS", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,
    /// End after so many seconds, and report what was tried until then.
    #[arg(long)]
    seconds: Option<u64>,
    /// List what would be changed, and end.
    #[arg(long)]
    list: bool,
}

/// To end what it runs.
const GRACE: Duration = Duration::from_secs(20);

pub(crate) async fn run(arguments: &MutantsArgs) -> Result<(), Failure> {
    let project = Project::find().await?;
    let Some(subject) = SUBJECTS.iter().find(|subject| subject.name == arguments.package) else {
        return Err(Failure::new("there is no such crate"));
    };
    let program = tools::cargo_mutants().await?;
    let scratch = project.scratch("mutants");
    let (out, tree) = (scratch.join(subject.name), scratch.join("tree"));
    fs::create_dir_all(&out).map_err(|error| failed(&out, &error))?;
    copy_tree(&project.root, &tree).await?;
    // What is read at the end must be of this run.
    let results = out.join("mutants.out");
    if results.exists() {
        fs::remove_dir_all(&results).map_err(|error| failed(&results, &error))?;
    }
    let mut flags = vec![format!("--package={}", subject.name)];
    flags.extend(arguments.file.iter().map(|file| format!("--file={file}")));
    if let Some(parts) = arguments.sample {
        flags.push(format!("--shard={}/{parts}", project.head().await? % parts));
    }
    let mutants = without_cargo(Spawn::new(program))
        .arg("mutants")
        .args(flags)
        .current_dir(&tree);
    if arguments.list {
        return crate::run::run(mutants.arg("--list")).await;
    }
    let tested_by = [&[subject.name], subject.tested_by].concat().join(",");
    let mutants = mutants
        .args(["--in-place", "--no-shuffle", "--colors=never", "--output"])
        .arg(&out)
        .arg(format!("--test-package={tested_by}"))
        .arg("--cargo-arg=--locked")
        .args(subject.tests.iter().map(|tests| format!("--cargo-arg={tests}")));
    Report::new()
        .step(
            &format!("mutants of {}", subject.name),
            until_enough(mutants, arguments.seconds),
        )
        .await?;
    Outcome::read(&results)?.conclude()
}

/// A copy of what is edited here, always at the same place, so that it is not built anew each time. What an interrupted run left changed is put
/// right.
async fn copy_tree(root: &Path, tree: &Path) -> Result<(), Failure> {
    let list = Spawn::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root);
    let names = output(list).await?;
    let listed = tree.with_extension("txt");
    let before = fs::read_to_string(&listed).unwrap_or_default();
    let there: BTreeSet<&str> = names.lines().filter(|name| root.join(name).is_file()).collect();
    for gone in before.lines().filter(|name| !there.contains(name)) {
        let gone = tree.join(gone);
        fs::remove_file(&gone).map_err(|error| failed(&gone, &error))?;
    }
    for name in &there {
        copy_file(&root.join(name), &tree.join(name))?;
    }
    let names: Vec<&str> = there.into_iter().collect();
    fs::write(&listed, names.join("\n")).map_err(|error| failed(&listed, &error))
}

/// What is the same stays as old as it is.
fn copy_file(from: &Path, to: &Path) -> Result<(), Failure> {
    let content = fs::read(from).map_err(|error| failed(from, &error))?;
    if fs::read(to).is_ok_and(|there| there == content) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    }
    fs::write(to, content).map_err(|error| failed(to, &error))
}

/// Its results are in its files: mutants that are missed are no failure of the run.
async fn until_enough(program: Spawn, seconds: Option<u64>) -> Result<(), Failure> {
    let process = program.spawn().map_err(|error| Failure::new(error.to_string()))?;
    let Some(seconds) = seconds else {
        process.wait().await;
        return Ok(());
    };
    if process.wait_for(Duration::from_secs(seconds)).await.is_err() {
        process.stop(GRACE).await;
    }
    Ok(())
}

/// What came of the mutants that were tried.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    caught: usize,
    unviable: usize,
    timed_out: Vec<String>,
    missed: Vec<String>,
}

impl Outcome {
    fn read(folder: &Path) -> Result<Self, Failure> {
        let lines = |name: &str| -> Result<Vec<String>, Failure> {
            let file: PathBuf = folder.join(name);
            let text = fs::read_to_string(&file).map_err(|error| failed(&file, &error))?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        Ok(Self {
            caught: lines("caught.txt")?.len(),
            unviable: lines("unviable.txt")?.len(),
            timed_out: lines("timeout.txt")?,
            missed: lines("missed.txt")?,
        })
    }

    /// Tests that never end have noticed too.
    fn conclude(&self) -> Result<(), Failure> {
        let noticed = self.caught + self.timed_out.len();
        let viable = noticed + self.missed.len();
        if viable == 0 {
            return Err(Failure::new("nothing was tried"));
        }
        for mutant in &self.timed_out {
            println!("timeout: {mutant}");
        }
        for mutant in &self.missed {
            println!("missed: {mutant}");
        }
        println!(
            "{} mutants: {} caught, {} timeouts, {} missed, {} do not build; {} % of {viable} noticed",
            viable + self.unviable,
            self.caught,
            self.timed_out.len(),
            self.missed.len(),
            self.unviable,
            noticed * 100 / viable,
        );
        if noticed * 100 < viable * ENOUGH {
            return Err(Failure::new(format!(
                "less than {ENOUGH} % of the mutants were noticed"
            )));
        }
        Ok(())
    }
}

/// So many of a hundred must be noticed; what survives is tested or explained.
const ENOUGH: usize = 95;

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(caught: usize, timed_out: usize, missed: usize) -> Outcome {
        let named = |count| vec!["src/a.rs:1: replace f with ()".to_owned(); count];
        Outcome {
            caught,
            unviable: 7,
            timed_out: named(timed_out),
            missed: named(missed),
        }
    }

    #[test]
    fn nineteen_of_twenty_mutants_must_be_caught() {
        assert!(outcome(90, 5, 5).conclude().is_ok());
        assert!(outcome(90, 4, 6).conclude().is_err());
    }

    #[test]
    fn a_run_that_tried_nothing_proves_nothing() {
        assert!(outcome(0, 0, 0).conclude().is_err());
    }
}
