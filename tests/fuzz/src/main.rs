//! Fuzzes targets: `fuzz --seconds 60 record`, or judges one input: `fuzz --replay FILE record`.

use std::{
    collections::VecDeque,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::{ExitCode, exit},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use bridge_fuzz::{Corpus, Fuzzed, Limits, TARGETS, Target, fuzz, judge};
use clap::Parser;

/// An input takes milliseconds: one that takes longer than this hangs, on a machine where others come first, too.
const HANGS: Duration = Duration::from_mins(2);

/// Fuzzes what is parsed of plugins, annotations, Secrets and manifests.
#[derive(Debug, Parser)]
struct Args {
    /// Targets; all of them if none is named.
    targets: Vec<String>,
    /// How long each target is fuzzed.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// One seed is one sequence of inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Targets at once.
    #[arg(long, default_value_t = 2)]
    jobs: u32,
    /// Where inputs go that break a promise.
    #[arg(long, default_value = "target/fuzz")]
    out: PathBuf,
    /// Judges this input alone.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Lists the targets, and what is asserted of each.
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.list {
        for target in TARGETS {
            println!("{:24} {}", target.name, target.about);
        }
        return ExitCode::SUCCESS;
    }
    match chosen(&args).and_then(|targets| match &args.replay {
        Some(file) => replay(&targets, file),
        None => run(&args, &targets),
    }) {
        Ok(sum) => {
            println!("{sum}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("FAILED: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn chosen(args: &Args) -> Result<Vec<Target>, String> {
    if args.targets.is_empty() {
        return Ok(TARGETS.to_vec());
    }
    let named = |name: &String| {
        let found = TARGETS.iter().find(|target| target.name == name);
        found
            .copied()
            .ok_or_else(|| format!("there is no target {name:?}: --list names them"))
    };
    args.targets.iter().map(named).collect()
}

fn replay(targets: &[Target], file: &Path) -> Result<String, String> {
    let [target] = targets else {
        return Err("name the target of the input".to_owned());
    };
    let input = fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    match judge(target, &input) {
        Ok(answer) => Ok(format!("{}: holds ({answer})", target.name)),
        Err(broken) => Err(format!("{}: {broken}", target.name)),
    }
}

/// What a thread is at.
struct Lane {
    target: Mutex<&'static str>,
    judged: AtomicU64,
}

fn run(args: &Args, targets: &[Target]) -> Result<String, String> {
    fs::create_dir_all(&args.out)
        .map_err(|error| format!("cannot create {}: {error}", args.out.display()))?;
    let jobs = args.jobs.max(1);
    let time = Duration::from_secs(args.seconds);
    // What panics is reported with its input; a replay shows where.
    std::panic::set_hook(Box::new(|_| {}));
    let queue = Mutex::new(VecDeque::from_iter(targets));
    let lanes: Vec<Lane> = (0..jobs)
        .map(|_| Lane {
            target: Mutex::new(""),
            judged: AtomicU64::new(0),
        })
        .collect();
    let results = Mutex::new((Vec::new(), Vec::new()));
    let (lanes, results) = (&lanes, &results);
    thread::scope(|scope| {
        let working: Vec<_> = lanes
            .iter()
            .map(|lane| {
                let queue = &queue;
                scope.spawn(move || {
                    loop {
                        // Not in the condition of a loop, which would hold the lock throughout.
                        let next = locked(queue).pop_front();
                        let Some(target) = next else { break };
                        *locked(&lane.target) = target.name;
                        let result = fuzz_one(args, target, time, lane);
                        let mut results = locked(results);
                        match result {
                            Ok(fuzzed) => results.0.push(fuzzed),
                            Err(failure) => results.1.push(failure),
                        }
                    }
                    *locked(&lane.target) = "";
                })
            })
            .collect();
        watch(args, lanes, || {
            working.iter().all(thread::ScopedJoinHandle::is_finished)
        });
    });
    let results = locked(results);
    let inputs: u64 = results.0.iter().map(|fuzzed| fuzzed.inputs).sum();
    let answers: usize = results.0.iter().map(|fuzzed| fuzzed.answers).sum();
    match results.1.len() {
        0 => Ok(format!(
            "fuzz: {} targets, {inputs} inputs from seed {}, {answers} kinds of answers, none broke a promise",
            targets.len(),
            args.seed
        )),
        broken => Err(format!("{broken} of {} targets broke a promise", targets.len())),
    }
}

fn fuzz_one(args: &Args, target: &Target, time: Duration, lane: &Lane) -> Result<Fuzzed, String> {
    let failed = |why: String| {
        println!("BROKEN {}: {why}", target.name);
        why
    };
    let corpus = Corpus::of(target.name)
        .inputs()
        .map_err(|error| failed(error.to_string()))?;
    let current = current(&args.out, target.name);
    let file = File::create(&current).ok();
    let limits = Limits {
        time,
        inputs: u64::MAX,
        seed: args.seed,
        current: file.as_ref(),
        judged: &lane.judged,
    };
    let fuzzed = fuzz(
        target,
        corpus.into_iter().map(|(_, input)| input).collect(),
        &limits,
    );
    let _ = fs::remove_file(&current);
    match fuzzed {
        Ok(fuzzed) => {
            println!(
                "{:24} {:9} inputs, {:4} kinds of answers",
                target.name, fuzzed.inputs, fuzzed.answers
            );
            Ok(fuzzed)
        }
        Err(broken) => {
            let mut hash = DefaultHasher::new();
            broken.input.hash(&mut hash);
            let file = args
                .out
                .join(format!("{}-{:08x}", target.name, hash.finish() >> 32));
            let written = fs::write(&file, &broken.input);
            let file = match written {
                Ok(()) => file.display().to_string(),
                Err(error) => format!("which cannot be written: {error}"),
            };
            Err(failed(format!(
                "{broken}\n  input: {file}, {} bytes, from seed {}\n  replay: cargo xtask fuzz --replay {file} {}\n  once it holds, keep it in {}",
                broken.input.len(),
                args.seed,
                target.name,
                Corpus::of(target.name).folder().display(),
            )))
        }
    }
}

/// The file with the input that is being judged: it stays if that ends the process.
fn current(out: &Path, target: &str) -> PathBuf {
    out.join(format!("{target}-current"))
}

/// Ends the process if an input hangs.
fn watch(args: &Args, lanes: &[Lane], is_done: impl Fn() -> bool) {
    const EVERY: Duration = Duration::from_millis(100);
    let mut since: Vec<(u64, Duration)> = lanes.iter().map(|_| (0, Duration::ZERO)).collect();
    while !is_done() {
        thread::sleep(EVERY);
        for (lane, (count, idle)) in lanes.iter().zip(&mut since) {
            let (judged, target) = (lane.judged.load(Ordering::Relaxed), *locked(&lane.target));
            *idle = if judged == *count {
                *idle + EVERY
            } else {
                Duration::ZERO
            };
            *count = judged;
            if *idle >= HANGS && !target.is_empty() {
                let file = current(&args.out, target);
                eprintln!(
                    "FAILED: {target}: one input takes longer than {} s: {}",
                    HANGS.as_secs(),
                    file.display()
                );
                exit(2);
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
