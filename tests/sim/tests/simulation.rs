//! The simulation itself: a seed repeats itself, seeds that once failed hold, and so do some more.
#![allow(missing_docs, clippy::unwrap_used)]

use bridge_sim::simulation::SeedKind;

const KIND: SeedKind = SeedKind::ManagedResources;
/// More seeds are run by `cargo xtask sim`.
const SEEDS: u64 = 30;

#[test]
fn the_same_seed_is_the_same_schedule() {
    for seed in [3, 17] {
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
    for seed in KIND.known().into_iter().chain(0..SEEDS) {
        let report = KIND.run(seed, false);
        assert!(
            report.violations.is_empty(),
            "seed {seed}: {:?}; replay it with `cargo xtask sim --replay {seed}`",
            report.violations
        );
    }
}
