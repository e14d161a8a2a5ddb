//! Runs seeds of the simulation: `sim --seeds N --from S`, or `sim --replay SEED` with what happens; `sim --explore` runs the explorer of compositions.

use std::{
    fs,
    panic::resume_unwind,
    path::PathBuf,
    process::ExitCode,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use bridge_sim::{
    composition_scenario::{CompositionScenario, simulate_with_faults},
    exploration::{Exploration, Explored},
    scenario::{Scenario, simulate},
    simulation::{Counts, FaultAt, Report, SeedKind},
};
use clap::Parser;
use serde_json::json;

/// From one fault to the next: a large prime.
const STEP: usize = 1_000_003;

/// Runs seeds of the simulation.
#[derive(Debug, Parser)]
struct Args {
    /// Number of seeds, from the first one on.
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
    /// Folder of the result: `simulation.json`.
    #[arg(long)]
    out: Option<PathBuf>,
    /// One seed, and what happens.
    #[arg(long)]
    replay: Option<u64>,
    /// Seeds with compositions: a kind of their own.
    #[arg(long)]
    compositions: bool,
    /// One scenario, and what happens.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// One of its writes, and what becomes of it.
    #[arg(long, value_name = "NUMBER:NAME", requires = "scenario")]
    fault: Vec<FaultAt>,
    /// The explorer of compositions, or of the one of `scenario`: each fault at each write of each scenario, in an order that `from` chooses.
    #[arg(long)]
    explore: bool,
    /// Of the single faults those of these names alone: `UserStripsOwner`.
    #[arg(long, value_name = "NAME", requires = "explore")]
    only: Vec<String>,
    /// So many pairs of faults instead.
    #[arg(long, requires = "explore")]
    pairs: Option<u64>,
}

impl Args {
    fn kind(&self) -> SeedKind {
        if self.compositions {
            SeedKind::Compositions
        } else {
            SeedKind::ManagedResources
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.explore {
        return explore(&args);
    }
    if let Some(name) = &args.scenario {
        return tell_scenario(name, &args.fault);
    }
    if let Some(seed) = args.replay {
        let report = args.kind().replay(seed, true);
        for line in &report.journal {
            println!("{line}");
        }
        return tell(&report, args.kind());
    }
    run_seeds(&args)
}

/// Those that once failed come first. What came of all is said, and written where that was asked for.
fn run_seeds(args: &Args) -> ExitCode {
    let kind = args.kind();
    let known = kind.known();
    let begun = Instant::now();
    let seed = |number: usize| match known.get(number) {
        Some(seed) => Some(*seed),
        None => (args.from..args.from.saturating_add(args.seeds)).nth(number - known.len()),
    };
    let ended: Vec<Report> = on_threads(args, |number| {
        let report = kind.run(seed(number)?, false);
        tell(&report, kind);
        Some(report)
    });
    let failed: Vec<u64> = ended
        .iter()
        .filter_map(|report| (!report.violations.is_empty()).then_some(report.seed))
        .collect();
    println!(
        "{} seeds from {} in {:.1} s, {} failed",
        ended.len(),
        args.from,
        begun.elapsed().as_secs_f64(),
        failed.len()
    );
    let mut happened = Counts::new();
    for (what, times) in ended.iter().flat_map(|report| &report.happened) {
        *happened.entry(what.clone()).or_default() += times;
    }
    let never = kind.never_happened(ended.len(), &happened);
    let result = json!({
        "seeds": ended.len(),
        "from": args.from,
        "violations": ended.iter().map(|report| report.violations.len()).sum::<usize>(),
        "failed": failed,
        "happened": happened,
        "never": never,
        "seconds": begun.elapsed().as_secs(),
    });
    if let Some(folder) = &args.out {
        let file = folder.join(kind.results());
        if let Err(error) = fs::write(&file, result.to_string()) {
            eprintln!("cannot write {}: {error}", file.display());
            return ExitCode::FAILURE;
        }
    }
    // What happens a few times in so many seeds may by chance not happen in others: the same ones are judged, not those that a commit chose.
    let too_few = args.seconds.is_none() && !never.is_empty();
    if too_few {
        println!("in so many seeds these never happened: {}", never.join(", "));
    }
    if failed.is_empty() && !too_few {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Does this with 0, 1, 2 and so on, until it gives nothing, or time is up.
fn on_threads<T: Send>(args: &Args, work: impl Fn(usize) -> Option<T> + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let until = args
        .seconds
        .map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let thread = || {
        let mut all = Vec::new();
        while until.is_none_or(|until| Instant::now() < until)
            && let Some(one) = work(next.fetch_add(1, Ordering::Relaxed))
        {
            all.push(one);
        }
        all
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..args.jobs).map(|_| scope.spawn(thread)).collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        ended.flatten().collect()
    })
}

/// Runs the explorer, as long as there is time.
fn explore(args: &Args) -> ExitCode {
    let exploration = CompositionScenario::explored().and_then(|mut scenarios| {
        scenarios.retain(|one| args.scenario.as_ref().is_none_or(|name| one.name == *name));
        Exploration::begin(scenarios)
    });
    let exploration = match exploration {
        Ok(exploration) => exploration,
        Err(why) => {
            println!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let begun = Instant::now();
    let mut single = exploration.single();
    single.retain(|case| args.only.is_empty() || args.only.iter().any(|name| case.is_of(name)));
    if single.is_empty() {
        println!("no fault is of these names: {}", args.only.join(", "));
        return ExitCode::FAILURE;
    }
    let of_commit = usize::try_from(args.from).unwrap_or_default();
    let case = |number: usize| match args.pairs {
        Some(pairs) => ((number as u64) < pairs).then(|| exploration.pair(args.from + number as u64)),
        // A step that shares no divisor with the count comes by each, and by neighbors late.
        None => (number < single.len()).then(|| {
            let at = (of_commit + number).wrapping_mul(STEP) % single.len();
            single[at].clone()
        }),
    };
    let ended: Vec<Explored> = on_threads(args, |number| {
        let explored = exploration.run(&case(number)?);
        if let Some(failed) = &explored.failed {
            println!("{failed}");
        }
        Some(explored)
    });
    let failed: Vec<_> = ended.iter().filter_map(|one| one.failed.as_ref()).collect();
    let fired = ended.iter().filter(|one| one.fired).count();
    let (file, all) = match args.pairs {
        Some(_) => ("exploration-pairs.json", "pairs of faults".to_owned()),
        None => ("exploration.json", format!("of {} faults", single.len())),
    };
    println!(
        "{} {all} in {:.1} s, {fired} came as drawn, {} failed",
        ended.len(),
        begun.elapsed().as_secs_f64(),
        failed.len(),
    );
    let result = json!({
        "faults": single.len(),
        "explored": ended.len(),
        "fired": fired,
        "failed": failed.iter().map(|one| &one.flags).collect::<Vec<_>>(),
        "seconds": begun.elapsed().as_secs(),
    });
    if let Some(folder) = &args.out
        && let Err(error) = fs::write(folder.join(file), result.to_string())
    {
        eprintln!("cannot write {file}: {error}");
        return ExitCode::FAILURE;
    }
    // What explored nothing has found nothing.
    if failed.is_empty() && fired > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn tell_scenario(name: &str, faults: &[FaultAt]) -> ExitCode {
    let ended = match (Scenario::all(), CompositionScenario::all()) {
        (Ok(scenarios), Ok(of_compositions)) => {
            let scenario = scenarios.iter().find(|scenario| scenario.name == name);
            let of_compositions = of_compositions.iter().find(|scenario| scenario.name == name);
            let ended = match (scenario, of_compositions) {
                (Some(_), _) if !faults.is_empty() => {
                    println!("{name} is no scenario of compositions: it takes no --fault");
                    return ExitCode::FAILURE;
                }
                (Some(scenario), _) => simulate(scenario),
                (None, Some(scenario)) => simulate_with_faults(scenario, faults, true).ended,
                (None, None) => {
                    println!("there is no scenario {name}");
                    return ExitCode::FAILURE;
                }
            };
            ended.map_err(|(unexpected, journal)| (unexpected.to_string(), journal))
        }
        (Err(why), _) | (_, Err(why)) => Err((why, Vec::new())),
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

/// Prints what was wrong; the exit code tells whether nothing was.
fn tell(report: &Report, kind: SeedKind) -> ExitCode {
    if report.violations.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!(
        "seed {}: {}; replay it with `cargo xtask sim{} --replay {0}`",
        report.seed,
        report.violations.join("; "),
        kind.flag(),
    );
    ExitCode::FAILURE
}
