//! Seeds with compositions: one repeats itself, those that once failed hold, and so do some more.
#![allow(missing_docs, clippy::unwrap_used)]

use std::thread;

use bridge_sim::simulation::SeedKind;

const KIND: SeedKind = SeedKind::Compositions;
/// More seeds are run by `cargo xtask sim --compositions`.
const SEEDS: u64 = 60;
const THREADS: usize = 2;

#[test]
fn the_same_seed_is_the_same_schedule() {
    for seed in [3, 13, 24, 31, 47, 58, 76, 99] {
        let (first, second) = (KIND.run(seed, true), KIND.run(seed, true));
        assert!(first.journal.len() > 20, "{first:?}");
        for (one, other) in first.journal.iter().zip(&second.journal) {
            assert_eq!(one, other, "seed {seed}");
        }
        assert_eq!(first, second);
    }
}

#[test]
fn known_seeds_break_no_invariant() {
    let all: Vec<u64> = KIND.known().into_iter().chain(0..SEEDS).collect();
    let failed: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let own = (thread..).step_by(THREADS);
                let all = &all;
                let seeds = own.map_while(move |at| all.get(at).copied());
                scope.spawn(move || {
                    let reports = seeds.map(|seed| KIND.run(seed, false));
                    reports
                        .filter(|report| !report.violations.is_empty())
                        .map(|report| format!("seed {}: {:?}", report.seed, report.violations))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(
        failed.is_empty(),
        "{}\nreplay one with `cargo xtask sim --compositions --replay SEED`",
        failed.join("\n")
    );
}
