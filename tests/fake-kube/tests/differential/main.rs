//! Random sequences of requests, on the fake and on a real kube-apiserver: each must be answered alike, and watches must send the same.
//!
//! One seed is one sequence. `FAKE_KUBE_SEEDS=N` runs N of them, `FAKE_KUBE_FIRST_SEED=S` begins at S. Seeds that failed once are kept in
//! `differential/seeds.txt`, and are always run.
#![allow(missing_docs, clippy::unwrap_used)]

mod compare;
mod draw;
mod kinds;
mod play;
#[allow(dead_code)] // The contract uses more of it.
#[path = "../server/mod.rs"]
mod server;

use futures::{StreamExt, stream};

use self::{compare::Comparison, server::Server};

/// In the run of every change.
const SEEDS: u64 = 300;
/// At once: most of the time goes by on the way to the API server and back.
const AT_ONCE: usize = 8;
/// The part of all sequences that must be compared to their end, answers and events: the others end at a version that only the real server
/// makes.
const LEAST_WHOLE: (usize, usize) = (1, 2);

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

fn seeds() -> Vec<u64> {
    let first = number("FAKE_KUBE_FIRST_SEED").unwrap_or(0);
    let count = number("FAKE_KUBE_SEEDS").unwrap_or(SEEDS);
    let kept = include_str!("seeds.txt").lines();
    let kept = kept.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut seeds: Vec<u64> = kept.map(|line| line.parse().unwrap()).collect();
    seeds.extend(first..first + count);
    seeds.sort_unstable();
    seeds.dedup();
    seeds
}

/// How the two answer the sequence of a seed.
async fn comparison(real: &Server, seed: u64) -> Comparison {
    let steps = draw::steps(seed);
    let fake = Server::bare_fake();
    kinds::define(&fake).await;
    let namespace = format!("seed-{seed}");
    let on_fake = play::play(&fake, &namespace, &steps).await;
    let on_real = play::play(real, &namespace, &steps).await;
    compare::compare(&steps, &on_fake, &on_real)
}

#[tokio::test]
async fn fake_and_real_answer_random_sequences_alike() {
    let real = Server::bare_real().await;
    kinds::define(&real).await;
    let seeds = seeds();
    let count = seeds.len();
    let compared: Vec<(u64, Comparison)> = stream::iter(seeds)
        .map(|seed| {
            let real = &real;
            async move { (seed, comparison(real, seed).await) }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let different: Vec<String> = compared
        .iter()
        .filter_map(|(seed, one)| match one {
            Comparison::Different(how) => Some(format!("seed {seed}: {how}")),
            Comparison::Alike | Comparison::AlikeSoFar => None,
        })
        .collect();
    let shown = different.iter().take(5).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(
        different.is_empty(),
        "{} of {count} sequences are answered otherwise:\n{shown}",
        different.len()
    );
    let whole = compared
        .iter()
        .filter(|(_, one)| *one == Comparison::Alike)
        .count();
    println!("{whole} of {count} sequences were compared to their end");
    assert!(
        whole * LEAST_WHOLE.1 >= count * LEAST_WHOLE.0,
        "only {whole} of {count} sequences were compared to their end"
    );
}

#[tokio::test]
async fn a_sequence_is_played_the_same_way_twice() {
    for seed in 0..20 {
        let mut played = Vec::new();
        for _ in 0..2 {
            let fake = Server::bare_fake();
            kinds::define(&fake).await;
            played.push(play::play(&fake, "seed", &draw::steps(seed)).await);
        }
        let steps = draw::steps(seed);
        assert_eq!(
            compare::compare(&steps, &played[0], &played[1]),
            Comparison::Alike
        );
        assert!(
            !played[0].events.is_empty(),
            "seed {seed}: the watch sent no event"
        );
    }
}
