//! Runs seeds of the simulation: `sim --seeds N --from S`, or `sim --replay SEED` with what happens.

use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use bridge_sim::{
    scenario::{Scenario, simulate},
    simulation::{Report, known_seeds, run},
};
use clap::Parser;

/// Runs seeds of the simulation.
#[derive(Debug, Parser)]
struct Args {
    /// How many seeds.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Threads; each runs one seed at a time.
    #[arg(long, default_value_t = 2)]
    jobs: u32,
    /// No seed begins after so many seconds.
    #[arg(long)]
    seconds: Option<u64>,
    /// One seed, and what happens.
    #[arg(long)]
    replay: Option<u64>,
    /// One scenario, and what happens.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(name) = &args.scenario {
        return tell_scenario(name);
    }
    if let Some(seed) = args.replay {
        let report = run(seed, true);
        for line in &report.journal {
            println!("{line}");
        }
        return told(&[report]);
    }
    // Those that once failed come first.
    let known = known_seeds();
    let (next, begun) = (AtomicU64::new(0), Instant::now());
    let all = known.len() as u64 + args.seeds;
    let until = args.seconds.map(|seconds| begun + Duration::from_secs(seconds));
    let work = || {
        let mut failed = Vec::new();
        let mut count = 0_u64;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= all || until.is_some_and(|until| Instant::now() >= until) {
                return (count, failed);
            }
            let fresh = || args.from + (number - known.len() as u64);
            let seed = usize::try_from(number)
                .ok()
                .and_then(|number| known.get(number).copied());
            let seed = seed.unwrap_or_else(fresh);
            count += 1;
            let report = run(seed, false);
            if !report.violations.is_empty() {
                println!("seed {seed}: {}", report.violations.join("; "));
                failed.push(report);
            }
        }
    };
    let ended: Vec<(u64, Vec<Report>)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..args.jobs).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    let count: u64 = ended.iter().map(|(count, _)| count).sum();
    let failed: Vec<Report> = ended.into_iter().flat_map(|(_, failed)| failed).collect();
    let took = begun.elapsed().as_secs_f64();
    println!(
        "{count} seeds from {} in {took:.1} s, {} failed",
        args.from,
        failed.len()
    );
    told(&failed)
}

fn tell_scenario(name: &str) -> ExitCode {
    let scenarios = Scenario::all().map(|all| all.into_iter().find(|scenario| scenario.name == name));
    let ended = match scenarios {
        Ok(Some(scenario)) => {
            simulate(&scenario).map_err(|(unexpected, journal)| (unexpected.to_string(), journal))
        }
        Ok(None) => Err((format!("there is no scenario {name}"), Vec::new())),
        Err(why) => Err((why, Vec::new())),
    };
    let (journal, wrong) = match ended {
        Ok(journal) => (journal, None),
        Err((why, journal)) => (journal, Some(why)),
    };
    println!("{}", journal.join("\n"));
    match wrong {
        None => ExitCode::SUCCESS,
        Some(why) => {
            println!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn told(reports: &[Report]) -> ExitCode {
    let broken = reports.iter().filter(|report| !report.violations.is_empty());
    let mut code = ExitCode::SUCCESS;
    for report in broken {
        println!("seed {}: {}", report.seed, report.violations.join("; "));
        code = ExitCode::FAILURE;
    }
    code
}
