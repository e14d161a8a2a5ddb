//! Runs the crash matrix of endings, or a part of it.

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
    TestError,
    endings::{
        batch,
        stage::Stage,
        story::{EndingCase, Story, Target},
        summary::EndingSummary,
    },
};

/// Kills the bridge, and pauses the leader of two, before and after each write of what ends compositions.
#[derive(Debug, Parser)]
struct Arguments {
    /// Folder of the results: `endings.jsonl` with a line for each case, and `endings.json` with the sum.
    #[arg(long)]
    out: PathBuf,
    /// Every so many-th case alone, from the one of number --first on.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Number of the first case.
    #[arg(long, default_value_t = 0)]
    first: usize,
    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Cases that live side by side.
    #[arg(long, default_value_t = 200)]
    batch: usize,
    /// Which alone: `bridge` is killed, `leader` is paused; else both.
    #[arg(long, value_parser = ["bridge", "leader"])]
    target: Option<String>,
    /// With the garbage collector of Kubernetes.
    #[arg(long)]
    collector: bool,
    /// Fails if it takes longer than so many seconds; 0: it may take as long as it likes.
    #[arg(long, default_value_t = 0)]
    within: u64,
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

async fn run(arguments: Arguments) -> Result<EndingSummary, TestError> {
    let begun = Instant::now();
    let mut stage = Stage::start(arguments.collector).await?;
    let points = batch::record_points(&mut stage).await?;
    for (story, points) in &points {
        let lost = story.lost(points);
        if !lost.is_empty() {
            let (name, lost) = (story.name(), lost.join(", "));
            return Err(TestError(format!(
                "{name} does not come by these points any more: {lost}"
            )));
        }
    }
    let whole = matrix(&points);
    let is_asked = |target| match arguments.target.as_deref() {
        Some("bridge") => target == Target::Bridge,
        Some(_) => target == Target::Leader,
        None => true,
    };
    let asked = whole.iter().filter(|case| is_asked(case.target));
    let chosen = asked.enumerate().filter(|(number, case)| {
        *number % arguments.every == arguments.first % arguments.every
            && case.to_string().contains(&arguments.only)
    });
    let chosen: Vec<EndingCase> = chosen.map(|(_, case)| case.clone()).collect();
    eprintln!(
        "{:4} s  {} of {} cases",
        begun.elapsed().as_secs(),
        chosen.len(),
        whole.len()
    );
    let out = File::create(arguments.out.join("endings.jsonl")).map_err(TestError::from)?;
    let mut out = BufWriter::new(out);
    let mut summary = EndingSummary {
        whole: whole.len(),
        collector: arguments.collector,
        within: arguments.within,
        ..EndingSummary::default()
    };
    for target in [Target::Bridge, Target::Leader] {
        let cases: Vec<EndingCase> = chosen
            .iter()
            .filter(|case| case.target == target)
            .cloned()
            .collect();
        for cases in cases.chunks(arguments.batch) {
            for result in batch::run(&mut stage, target, cases.to_vec()).await? {
                summary.add(&result);
                if !result.hit || !result.faults.is_empty() {
                    let faults: Vec<&str> = result.faults.all().map(String::as_str).collect();
                    eprintln!("{}: hit {}: {}", result.case, result.hit, faults.join("; "));
                }
                let line = serde_json::to_string(&result).map_err(TestError::from)?;
                writeln!(out, "{line}").map_err(TestError::from)?;
            }
            eprintln!(
                "{:4} s  {target:?}: {} cases so far, {} wrong, {} not hit",
                begun.elapsed().as_secs(),
                summary.cases,
                summary.wrong,
                summary.cases - summary.hit
            );
        }
    }
    summary.kills = stage.processes.kills;
    summary.pauses = stage.processes.pauses;
    summary.holes = stage.record.holes();
    summary.seconds = begun.elapsed().as_secs();
    let text = serde_json::to_string(&summary).map_err(TestError::from)?;
    out.flush().map_err(TestError::from)?;
    std::fs::write(arguments.out.join("endings.json"), &text).map_err(TestError::from)?;
    println!("{text}");
    Ok(summary)
}

/// Every point of every story, for either target.
fn matrix(points: &BTreeMap<Story, Vec<String>>) -> Vec<EndingCase> {
    let points = points
        .iter()
        .flat_map(|(story, points)| points.iter().map(|point| (*story, point.clone())));
    let points: Vec<(Story, String)> = points.collect();
    let of = |target| {
        let points = points.iter();
        points.map(move |(story, point)| EndingCase {
            story: *story,
            point: point.clone(),
            target,
        })
    };
    of(Target::Bridge).chain(of(Target::Leader)).collect()
}
