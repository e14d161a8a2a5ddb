//! Instructions that hot paths take, counted by valgrind: the same on a busy machine, so that a commit can be judged by them.
//!
//! What is counted is the build of the tests, in which the bridge's crates are optimised a little: that build is there, and what a path does too much it
//! does there as well. Figures of a release build differ by a factor, not in their order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bridge_control_plane::process::{Output, Spawn};
use serde_json::{Value, json};

use crate::Failure;
use crate::build::build_binaries;
use crate::project::Project;
use crate::report::Report;
use crate::run::{answer, output};

/// Built with all else by [`build_all`](crate::build::build_all).
const BINARY: &str = "bridge-instructions";

/// The counts of the last run that was kept.
const KEPT: &str = "tests/bench/instructions.json";

/// The paths, and how often each is run to be counted.
const PATHS: [(&str, u32); 7] = [
    ("decode", 100),
    ("watch-event", 100),
    ("diff", 50),
    ("queue-turn", 500),
    ("plan", 10),
    ("idle-pass", 50),
    ("life", 10),
];

/// So much more than the kept count is a failure, in percent.
const TOLERATED: u64 = 10;

/// What to do with the counts.
#[derive(Debug, clap::Args)]
pub(crate) struct InstructionsArgs {
    /// Compare with the counts that are kept: fail where one is more than 10 % above. Else they are kept from now on.
    #[arg(long)]
    check: bool,
}

type Counts = BTreeMap<String, u64>;

pub(crate) async fn run_all(args: &InstructionsArgs) -> Result<(), Failure> {
    let (project, report) = (Project::find().await?, Report::new());
    let build = build_binaries(&project.root, &[BINARY]);
    report.step("build what is counted", build).await?;
    if args.check {
        println!("{}", check(&project, &report).await?);
        return Ok(());
    }
    let rustc = rustc().await?;
    let counts = count_all(&project, &report).await?;
    let kept = project.root.join(KEPT);
    if let Ok((_, before)) = read(&kept) {
        print!("{}", table(&before, &counts));
    }
    let text = serde_json::to_string_pretty(&json!({"rustc": rustc, "instructions": counts}));
    let text = text.map_err(|error| Failure::new(error.to_string()))?;
    std::fs::write(&kept, text + "\n")
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", kept.display())))
}

/// Counts, and fails where there is much more than before. Gives the sum. Where there is no valgrind, that is the sum.
pub(crate) async fn check(project: &Project, report: &Report) -> Result<String, Failure> {
    if let Err(failure) = valgrind().await {
        let warning = format!("WARNING: instructions are not counted: {failure}");
        report.say(&warning);
        return Ok(warning);
    }
    let (of, before) = read(&project.root.join(KEPT))?;
    let rustc = rustc().await?;
    if of != rustc {
        report.say(&format!(
            "WARNING: the counts of {KEPT} are of {of:?}, and this is {rustc:?}: what differs may be the compiler's"
        ));
    }
    let counts = count_all(project, report).await?;
    print!("{}", table(&before, &counts));
    let regressions = regressions(&before, &counts);
    if regressions.is_empty() {
        return Ok(format!("instructions: {} paths, none dearer", counts.len()));
    }
    Err(Failure::new(format!(
        "more instructions than before: {}. If it must be so, keep them by `cargo xtask bench instructions`, and say why",
        regressions.join(", ")
    )))
}

async fn valgrind() -> Result<(), Failure> {
    match answer(Spawn::new("valgrind").arg("--version")).await {
        Ok(_) => Ok(()),
        Err(failure) => Err(Failure::new(format!(
            "valgrind cannot be run ({failure}); Debian's package valgrind has it"
        ))),
    }
}

async fn rustc() -> Result<String, Failure> {
    let version = output(Spawn::new("rustc").arg("--version")).await?;
    Ok(version.trim().to_owned())
}

async fn count_all(project: &Project, report: &Report) -> Result<Counts, Failure> {
    valgrind().await?;
    let folder = project.scratch("instructions");
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    let mut counts = Counts::new();
    for (path, runs) in PATHS {
        let counted = async {
            let (with, without) = tokio::join!(
                count(project, &folder, path, runs),
                count(project, &folder, path, 0)
            );
            Ok(with?.saturating_sub(without?) / u64::from(runs))
        };
        let counted = report.step(&format!("count {path}"), counted).await?;
        counts.insert(path.to_owned(), counted);
    }
    Ok(counts)
}

/// Of one process.
async fn count(project: &Project, folder: &Path, path: &str, runs: u32) -> Result<u64, Failure> {
    let out: PathBuf = folder.join(format!("{path}.{runs}.callgrind"));
    let counted = Spawn::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(project.binary(BINARY))
        .args([path, &runs.to_string()])
        .stdout(Output::Null);
    answer(counted).await?;
    let text = std::fs::read_to_string(&out)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", out.display())))?;
    total(&text).ok_or_else(|| Failure::new(format!("{} has no sum", out.display())))
}

/// The sum of all events that callgrind wrote.
fn total(text: &str) -> Option<u64> {
    let sum = text.lines().rev().find_map(|line| {
        line.strip_prefix("totals: ")
            .or_else(|| line.strip_prefix("summary: "))
    })?;
    sum.split_whitespace().next()?.parse().ok()
}

fn read(kept: &Path) -> Result<(String, Counts), Failure> {
    let text = std::fs::read_to_string(kept)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", kept.display())))?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", kept.display())))?;
    let counts = value["instructions"].as_object().into_iter().flatten();
    let counts = counts.filter_map(|(path, count)| Some((path.clone(), count.as_u64()?)));
    Ok((
        value["rustc"].as_str().unwrap_or_default().to_owned(),
        counts.collect(),
    ))
}

fn table(before: &Counts, now: &Counts) -> String {
    let row = |(path, count): (&String, &u64)| match before.get(path) {
        Some(before) => format!("{path:12} {count:>10} instructions, before {before:>10}\n"),
        None => format!("{path:12} {count:>10} instructions\n"),
    };
    now.iter().map(row).collect()
}

/// Paths that take more than is tolerated. One that is not kept yet cannot.
fn regressions(before: &Counts, now: &Counts) -> Vec<String> {
    let dearer = now.iter().filter_map(|(path, count)| {
        let before = before.get(path)?;
        let is_dearer = count * 100 > before * (100 + TOLERATED);
        is_dearer.then(|| format!("{path} takes {count}, and took {before}"))
    });
    dearer.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(of: &[(&str, u64)]) -> Counts {
        of.iter()
            .map(|(path, count)| ((*path).to_owned(), *count))
            .collect()
    }

    #[test]
    fn the_sum_is_read_from_what_callgrind_writes() {
        let text = "# callgrind format\nevents: Ir\nsummary: 9\n\nfn=(1)\n16 4\n\ntotals: 1234567\n";
        assert_eq!(total(text), Some(1_234_567));
        assert_eq!(total("events: Ir\n"), None);
    }

    #[test]
    fn a_tenth_more_is_tolerated() {
        let before = counts(&[("decode", 1000), ("plan", 1000)]);
        assert!(regressions(&before, &counts(&[("decode", 1100), ("plan", 1), ("new", 5)])).is_empty());
        assert_eq!(
            regressions(&before, &counts(&[("decode", 1101), ("plan", 1000)])),
            ["decode takes 1101, and took 1000"]
        );
    }
}
