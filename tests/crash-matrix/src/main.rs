//! Runs the crash matrix, or a part of it.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};

use clap::Parser;
use crash_matrix::{
    TestError, batch,
    case::{Case, HANG_POINTS, KillTarget, Part, Phase, Variant},
    coverage::{self, Coverage},
    testbed::{Programs, Testbed},
    verdict::Summary,
};
use fake_cloud::cloud::Profile;

/// Kills the bridge, the plugin and both, right before and right after each write and each call.
#[derive(Debug, Parser)]
struct Arguments {
    /// One part of the matrix, as `3/8`: the parts 0/8 to 7/8 together are the whole.
    #[arg(long, value_parser = part, default_value = "0/1")]
    part: Part,
    /// Folder of the results: `crash-matrix.jsonl` with a line for each case, and `crash-matrix.json` with the sum.
    #[arg(long)]
    out: PathBuf,
    /// Objects that live side by side.
    #[arg(long, default_value_t = 250)]
    batch: usize,
    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// No batch begins after so many seconds; 0: all do. What there was no time for is counted.
    #[arg(long, default_value_t = 0)]
    seconds: u64,
    /// Which of the five kinds of batches is the first, so that it is not always the same ones that there is no time for.
    #[arg(long, default_value_t = 0)]
    first: usize,
    /// Fails if it takes longer than so many seconds; 0: it may take as long as it likes.
    #[arg(long, default_value_t = 0)]
    within: u64,
}

/// Who is killed, and whether in the middle of a call.
const BATCH_KINDS: [(KillTarget, bool); 5] = [
    (KillTarget::Plugin, true),
    (KillTarget::Bridge, false),
    (KillTarget::Plugin, false),
    (KillTarget::Both, false),
    (KillTarget::Leader, false),
];
/// So few that all their calls hang at the same time.
const MID_CALL_BATCH: usize = 60;

fn part(text: &str) -> Result<Part, String> {
    let parsed = text
        .split_once('/')
        .and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    match parsed {
        Some((part, of)) if part < of => Ok(Part { part, of }),
        _ => Err("write it as 3/8".to_owned()),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(summary) if summary.is_proof() => ExitCode::SUCCESS,
        Ok(summary) => {
            eprintln!("error: {}", summary.describe());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<Summary, TestError> {
    let begun = Instant::now();
    let flags = ["--clock-skew", "200ms", "--max-concurrent-reconciles", "4000"];
    let mut testbed = Testbed::start(Programs::from_build("halting-bridge", &flags)?).await?;
    let points = batch::record(&mut testbed).await?;
    // So that on a busy machine it is polled as often as when it was recorded.
    let profile = Profile {
        work: Profile::default().work * 2,
        ..Profile::default()
    };
    testbed
        .cloud
        .set_profile(&profile)
        .await
        .map_err(TestError::from)?;
    let lost: Vec<String> = points
        .iter()
        .flat_map(|(variant, points)| {
            coverage::lost(variant, points)
                .into_iter()
                .map(move |point| format!("{variant} {point}"))
        })
        .collect();
    if !lost.is_empty() {
        let lost = lost.join(", ");
        return Err(TestError(format!(
            "undisturbed lifecycles do not come by these points any more: {lost}"
        )));
    }
    let whole = matrix(&points);
    let chosen: Vec<Case> = whole
        .iter()
        .filter(|case| arguments.part.contains(case) && case.to_string().contains(&arguments.only))
        .cloned()
        .collect();
    eprintln!(
        "part {}/{} of the matrix: {} of {} cases",
        arguments.part.part,
        arguments.part.of,
        chosen.len(),
        whole.len()
    );
    let out = File::create(arguments.out.join("crash-matrix.jsonl")).map_err(TestError::from)?;
    let mut out = BufWriter::new(out);
    let mut summary = Summary {
        part: format!("{}/{}", arguments.part.part, arguments.part.of),
        within: arguments.within,
        ..Summary::default()
    };
    let (mut number, mut coverage) = (0, Coverage::default());
    let mut batch_kinds = BATCH_KINDS;
    batch_kinds.rotate_left(arguments.first % BATCH_KINDS.len());
    for (target, mid_call) in batch_kinds {
        let cases: Vec<Case> = chosen
            .iter()
            .filter(|case| case.target == target && case.mid_call().is_some() == mid_call)
            .cloned()
            .collect();
        let size = if mid_call { MID_CALL_BATCH } else { arguments.batch };
        for cases in cases.chunks(size) {
            if arguments.seconds > 0 && begun.elapsed().as_secs() >= arguments.seconds {
                summary.left_out += cases.len();
                continue;
            }
            number += 1;
            let results = batch::run(&mut testbed, number, target, cases.to_vec()).await?;
            for (case, result) in results {
                coverage.add(&case, result.hit);
                summary.add(&result, !case.variant.may("Delete"));
                if !result.wrong.is_empty() || !result.hit {
                    eprintln!("{}: hit {}: {}", result.case, result.hit, result.wrong.join("; "));
                }
                let result = serde_json::to_string(&result).map_err(TestError::from)?;
                writeln!(out, "{result}").map_err(TestError::from)?;
            }
            eprintln!(
                "{:4} s  batch {number}, {target:?}: {} cases so far, {} wrong, {} not hit",
                begun.elapsed().as_secs(),
                summary.cases,
                summary.wrong,
                summary.cases - summary.hit
            );
        }
    }
    summary.kills = testbed.kills;
    summary.too_few = coverage.too_few();
    summary.seconds = begun.elapsed().as_secs();
    let text = serde_json::to_string(&summary).map_err(TestError::from)?;
    out.flush().map_err(TestError::from)?;
    std::fs::write(arguments.out.join("crash-matrix.json"), &text).map_err(TestError::from)?;
    println!("{text}");
    Ok(summary)
}

/// Calls that change something, and are cut off in the middle too.
const CALLS: [&str; 4] = ["create", "update", "delete", "poll"];

/// Every point of every variant, for every kill target.
fn matrix(points: &BTreeMap<Variant, Vec<String>>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (variant, points) in points {
        for point in points {
            let Some(phase) = Phase::of(point) else { continue };
            let case = |target, point: &str| Case {
                target,
                variant: variant.clone(),
                phase,
                point: point.to_owned(),
            };
            cases.extend(KillTarget::ALL.map(|target| case(target, point)));
            let call = point
                .split_once("/before ")
                .and_then(|(_, what)| what.strip_suffix("#1"));
            if let Some(call) = call.filter(|call| CALLS.contains(call)) {
                let mid_call = HANG_POINTS.map(|(how, _)| format!("{}/amid {call} {how}", phase.name()));
                cases.extend(mid_call.map(|point| case(KillTarget::Plugin, &point)));
            }
        }
    }
    cases
}
