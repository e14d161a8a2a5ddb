//! Runs test programs side by side: one that waits for other processes leaves the cores to one that computes.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bridge_control_plane::process::Spawn;

use super::programs::TestProgram;
use super::tally::Tally;
use crate::report::Report;
use crate::run::{both_outputs, without_cargo};

/// Those that take longest, longest first: begun first, none of them is left for the end, when the other cores are idle.
const LONG: [&str; 18] = [
    "bridge-engine real",
    "bridge-e2e scenarios",
    "bridge-hostile attacks",
    "crash-matrix scenarios",
    "bridge-languages new_plugin",
    "bridge-languages languages",
    "bridge-sim model",
    "runtime-bridge bridge",
    "bridge-languages conformance",
    "crash-matrix failures",
    "bridge-sim scenarios",
    "bridge-languages mutual_tls",
    "bridge-sim compositions",
    "provider-aws-example aws",
    "fake-kube differential",
    "bridge-sim exploration",
    "bridge-control-plane real",
    "fake-kube contract",
];

/// Most of what tests compute with are hundreds of API servers, in Go, which live for seconds: they collect garbage less often, which takes 8 % off the time.
/// Go's compiler has the same.
pub(crate) const GO_GARBAGE: (&str, &str) = ("GOGC", "400");

/// No program of ours takes half as long: one that does hangs.
pub(crate) const LONGEST: Duration = Duration::from_mins(40);

/// Those that judge how soon a process reacts, to some 10 ms: each of them has the machine for itself.
const UNDISTURBED: [&str; 1] = ["conformance-reference-plugin faults"];

/// Those whose tests wait most of the time, for what is to come or for nothing to come any more: each has twice as many at once as there are cores.
const WAITING: [&str; 2] = ["bridge-engine real", "runtime-bridge bridge"];

/// Names of this file that none of all programs has: it was renamed, and would no longer be run as it must be.
pub(crate) fn unknown_names(programs: &[TestProgram]) -> Vec<&'static str> {
    let names: BTreeSet<String> = programs.iter().map(TestProgram::name).collect();
    let named = LONG.iter().chain(&UNDISTURBED).chain(&WAITING);
    named.copied().filter(|name| !names.contains(*name)).collect()
}

/// Runs all of them to their end, also when some fail: three at once, each with as many tests at once as there are cores, or twice as many.
pub(crate) async fn run(report: &Report, programs: Vec<TestProgram>) -> Tally {
    let (undisturbed, others): (Vec<TestProgram>, _) = programs
        .into_iter()
        .partition(|program| UNDISTURBED.contains(&program.name().as_str()));
    let mut tally = run_three_at_once(report, others).await;
    for program in undisturbed {
        tally.merge(run_one(report, &program).await);
    }
    tally
}

async fn run_three_at_once(report: &Report, mut programs: Vec<TestProgram>) -> Tally {
    programs.sort_by_key(|program| {
        let name = program.name();
        LONG.iter().position(|long| *long == name).unwrap_or(LONG.len())
    });
    let queue = Mutex::new(VecDeque::from(programs));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let lane = async || {
        let mut tally = Tally::default();
        while let Some(program) = next() {
            tally.merge(run_one(report, &program).await);
        }
        tally
    };
    // Most tests wait for processes: two leave cores idle.
    let (mut one, other, third) = tokio::join!(lane(), lane(), lane());
    one.merge(other);
    one.merge(third);
    one
}

/// What it prints is shown when it ends, as another prints at the same time.
async fn run_one(report: &Report, program: &TestProgram) -> Tally {
    let (name, begun) = (program.name(), Instant::now());
    // libtest reports how long a test took as an unstable feature only. The tests themselves are built without it.
    let mut tests = without_cargo(Spawn::new(&program.executable))
        .args(["-Zunstable-options", "--report-time"])
        .env("RUSTC_BOOTSTRAP", "1")
        .env(GO_GARBAGE.0, GO_GARBAGE.1)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .current_dir(&program.folder);
    if WAITING.contains(&name.as_str())
        && let Ok(cores) = thread::available_parallelism()
    {
        tests = tests.env("RUST_TEST_THREADS", (2 * cores.get()).to_string());
    }
    report.say(&format!("{name}: begins"));
    let (ended, printed) = both_outputs(tests, LONGEST).await;
    println!("{name}\n{printed}");
    let mut tally = Tally::default();
    for line in printed.lines() {
        tally.add(&name, line);
    }
    let how = match ended {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("ended with {status}")),
        Err(failure) => Some(failure.to_string()),
    };
    if let Some(how) = how.filter(|_| tally.failed() == 0) {
        tally.add_crash(&name, &how);
    }
    report.say(&format!(
        "{name}: {}, in {:.1} s",
        if tally.failed() == 0 { "passed" } else { "FAILED" },
        begun.elapsed().as_secs_f64()
    ));
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(package: &str, target: &str) -> TestProgram {
        TestProgram {
            package: package.to_owned(),
            target: target.to_owned(),
            is_unit: false,
            executable: "/x".into(),
            folder: "/".into(),
        }
    }

    #[test]
    fn a_name_that_no_program_has_is_found() {
        let named = LONG.iter().chain(&UNDISTURBED);
        let all = named.map(|name| name.split_once(' ').unwrap());
        let mut programs: Vec<TestProgram> = all.map(|(package, target)| program(package, target)).collect();
        assert_eq!(unknown_names(&programs), [""; 0]);
        programs[0].target = "renamed".to_owned();
        // It is among those that wait, too.
        assert_eq!(
            unknown_names(&programs),
            ["bridge-engine real", "bridge-engine real"]
        );
    }
}
