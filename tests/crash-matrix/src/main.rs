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
    Trouble, batch,
    case::{Case, HANGS, Part, Phase, Sort, Victim},
    hits::{self, Hits},
    stage::{Programs, Stage},
    verdict::Sum,
};
use fake_cloud::cloud::Mood;

/// Kills the bridge, the plugin and both, right before and right after each write and each call.
#[derive(Debug, Parser)]
struct Arguments {
    /// One part of the matrix, as `3/8`: the parts 0/8 to 7/8 make up the whole.
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
    /// Which of the five sorts of batches is the first, so that it is not always the same ones that there is no time for.
    #[arg(long, default_value_t = 0)]
    first: usize,
    /// Fails if it takes longer than so many seconds; 0: it may take as long as it likes.
    #[arg(long, default_value_t = 0)]
    within: u64,
}

/// Who is killed, and whether in the middle of a call.
const KINDS_OF_BATCHES: [(Victim, bool); 5] = [
    (Victim::Plugin, true),
    (Victim::Bridge, false),
    (Victim::Plugin, false),
    (Victim::Both, false),
    (Victim::Leader, false),
];
/// So few that all their calls hang at the same time.
const AMID_AT_ONCE: usize = 60;

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
        Ok(sum) if sum.is_proof() => ExitCode::SUCCESS,
        Ok(sum) => {
            eprintln!("error: {}", sum.told());
            ExitCode::FAILURE
        }
        Err(trouble) => {
            eprintln!("error: {trouble}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<Sum, Trouble> {
    let begun = Instant::now();
    let flags = ["--clock-skew", "200ms", "--max-concurrent-reconciles", "4000"];
    let mut stage = Stage::start(Programs::beside("halting-bridge", &flags)?).await?;
    let points = batch::record(&mut stage).await?;
    // So that on a busy machine it is polled as often as when it was recorded.
    let mood = Mood {
        work: Mood::default().work * 2,
        ..Mood::default()
    };
    stage.cloud.set_mood(&mood).await.map_err(Trouble::from)?;
    let lost: Vec<String> = points
        .iter()
        .flat_map(|(sort, points)| {
            hits::lost(sort, points)
                .into_iter()
                .map(move |point| format!("{sort} {point}"))
        })
        .collect();
    if !lost.is_empty() {
        let lost = lost.join(", ");
        return Err(Trouble(format!(
            "undisturbed lives do not come by these points any more: {lost}"
        )));
    }
    let whole = matrix(&points);
    let chosen: Vec<Case> = whole
        .iter()
        .filter(|case| arguments.part.takes(case) && case.to_string().contains(&arguments.only))
        .cloned()
        .collect();
    eprintln!(
        "part {}/{} of the matrix: {} of {} cases",
        arguments.part.part,
        arguments.part.of,
        chosen.len(),
        whole.len()
    );
    let out = File::create(arguments.out.join("crash-matrix.jsonl")).map_err(Trouble::from)?;
    let mut out = BufWriter::new(out);
    let mut sum = Sum {
        part: format!("{}/{}", arguments.part.part, arguments.part.of),
        within: arguments.within,
        ..Sum::default()
    };
    let (mut number, mut hits) = (0, Hits::default());
    let mut sorts_of_batches = KINDS_OF_BATCHES;
    sorts_of_batches.rotate_left(arguments.first % KINDS_OF_BATCHES.len());
    for (victim, amid) in sorts_of_batches {
        let cases: Vec<Case> = chosen
            .iter()
            .filter(|case| case.victim == victim && case.amid().is_some() == amid)
            .cloned()
            .collect();
        let size = if amid { AMID_AT_ONCE } else { arguments.batch };
        for cases in cases.chunks(size) {
            if arguments.seconds > 0 && begun.elapsed().as_secs() >= arguments.seconds {
                sum.left_out += cases.len();
                continue;
            }
            number += 1;
            let lines = batch::run(&mut stage, number, victim, cases.to_vec()).await?;
            for (case, line) in lines {
                hits.add(&case, line.hit);
                sum.add(&line, !case.sort.may("Delete"));
                if !line.wrong.is_empty() || !line.hit {
                    eprintln!("{}: hit {}: {}", line.case, line.hit, line.wrong.join("; "));
                }
                let line = serde_json::to_string(&line).map_err(Trouble::from)?;
                writeln!(out, "{line}").map_err(Trouble::from)?;
            }
            eprintln!(
                "{:4} s  batch {number}, {victim:?}: {} cases so far, {} wrong, {} not hit",
                begun.elapsed().as_secs(),
                sum.cases,
                sum.wrong,
                sum.cases - sum.hit
            );
        }
    }
    sum.kills = stage.kills;
    sum.too_few = hits.too_few();
    sum.seconds = begun.elapsed().as_secs();
    let text = serde_json::to_string(&sum).map_err(Trouble::from)?;
    out.flush().map_err(Trouble::from)?;
    std::fs::write(arguments.out.join("crash-matrix.json"), &text).map_err(Trouble::from)?;
    println!("{text}");
    Ok(sum)
}

/// Calls that change something, and are cut off in the middle too.
const CALLS: [&str; 4] = ["create", "update", "delete", "poll"];

/// Every point of every sort, for every victim.
fn matrix(points: &BTreeMap<Sort, Vec<String>>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (sort, points) in points {
        for point in points {
            let Some(phase) = Phase::of(point) else { continue };
            let case = |victim, point: &str| Case {
                victim,
                sort: sort.clone(),
                phase,
                point: point.to_owned(),
            };
            cases.extend(Victim::ALL.map(|victim| case(victim, point)));
            let call = point
                .split_once("/before ")
                .and_then(|(_, what)| what.strip_suffix("#1"));
            if let Some(call) = call.filter(|call| CALLS.contains(call)) {
                let amid = HANGS.map(|(how, _)| format!("{}/amid {call} {how}", phase.word()));
                cases.extend(amid.map(|point| case(Victim::Plugin, &point)));
            }
        }
    }
    cases
}
