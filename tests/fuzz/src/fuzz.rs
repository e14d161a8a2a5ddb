//! One run: inputs are changed, judged, and kept where they are answered in a new way.

use std::{
    collections::HashSet,
    fs::File,
    os::unix::fs::FileExt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use fastrand::Rng;

use crate::{Broken, Target, Verdict, mutate::Mutator};

/// In bytes: what is promised of larger ones is promised by limits that inputs of this size reach, too.
pub(crate) const LONGEST_INPUT: usize = 64 << 10;

/// Inputs that are kept beside the corpus.
const MOST_KEPT: usize = 4096;

/// A broken input is made smaller in so many attempts.
const ATTEMPTS_TO_SHRINK: u32 = 2000;

/// How long, and by which chance.
#[derive(Debug)]
pub struct Limits<'a> {
    /// The run ends after this, or after `inputs`.
    pub time: Duration,
    /// So many inputs at most.
    pub inputs: u64,
    /// One seed is one sequence of inputs.
    pub seed: u64,
    /// Has the input that is being judged, should it end the process.
    pub current: Option<&'a File>,
    /// Counts the inputs.
    pub judged: &'a AtomicU64,
}

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fuzzed {
    /// Inputs.
    pub inputs: u64,
    /// Ways in which they were answered.
    pub answers: usize,
}

/// An input that breaks a promise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{broken}")]
pub struct Failed {
    /// The input, as small as it could be made.
    pub input: Vec<u8>,
    /// The promise.
    pub broken: Broken,
}

/// Judges one input. A panic is a broken promise.
///
/// # Errors
/// What is broken.
pub fn judge(target: &Target, input: &[u8]) -> Verdict {
    catch_unwind(AssertUnwindSafe(|| (target.judge)(input))).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Broken(format!(
            "it panics: {}",
            message.unwrap_or("without a message")
        )))
    })
}

/// Judges the corpus, and then what mutation makes of it.
///
/// # Errors
/// The first input that breaks a promise.
pub fn fuzz(target: &Target, corpus: Vec<Vec<u8>>, limits: &Limits<'_>) -> Result<Fuzzed, Failed> {
    let begun = Instant::now();
    let mut rng = Rng::with_seed(limits.seed);
    let (mut pool, mut seen, mut inputs) = (Vec::new(), HashSet::new(), 0);
    let mut corpus = corpus.into_iter();
    loop {
        let is_of_corpus = corpus.len() > 0;
        if inputs >= limits.inputs || (!is_of_corpus && begun.elapsed() >= limits.time) {
            return Ok(Fuzzed {
                inputs,
                answers: seen.len(),
            });
        }
        let input = corpus.next().unwrap_or_else(|| next(&mut rng, target, &pool));
        if let Some(current) = limits.current {
            note(current, &input);
        }
        inputs += 1;
        limits.judged.fetch_add(1, Ordering::Relaxed);
        match judge(target, &input) {
            Ok(answer) => {
                let is_new = seen.insert(answer);
                if is_of_corpus || (is_new && pool.len() < MOST_KEPT) {
                    pool.push(input);
                }
            }
            Err(broken) => return Err(shrunk(target, input, broken, limits.judged)),
        }
    }
}

fn next(rng: &mut Rng, target: &Target, pool: &[Vec<u8>]) -> Vec<u8> {
    let mut one_of_pool = || match pool.len() {
        0 => &[][..],
        kept => pool[rng.usize(..kept)].as_slice(),
    };
    let (input, other) = (one_of_pool(), one_of_pool());
    Mutator::new(rng, target.words, LONGEST_INPUT).mutated(input, other)
}

/// Where it cannot be written, the seed gives the same input again.
fn note(current: &File, input: &[u8]) {
    let _ = current
        .set_len(input.len() as u64)
        .and_then(|()| current.write_all_at(input, 0));
}

/// Leaves out parts, ever smaller ones, as long as a promise is broken without them.
fn shrunk(target: &Target, mut input: Vec<u8>, mut broken: Broken, judged: &AtomicU64) -> Failed {
    let mut attempts = 0;
    let mut part = input.len() / 2;
    while part > 0 {
        let mut at = 0;
        while at < input.len() {
            attempts += 1;
            if attempts > ATTEMPTS_TO_SHRINK {
                return Failed { input, broken };
            }
            let end = (at + part).min(input.len());
            let smaller = [&input[..at], &input[end..]].concat();
            judged.fetch_add(1, Ordering::Relaxed);
            match judge(target, &smaller) {
                Err(still) => (input, broken) = (smaller, still),
                Ok(_) => at = end,
            }
        }
        part /= 2;
    }
    Failed { input, broken }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ensure;

    fn limits(judged: &AtomicU64) -> Limits<'_> {
        Limits {
            time: Duration::from_mins(1),
            inputs: 100_000,
            seed: 1,
            current: None,
            judged,
        }
    }

    fn target(judge: fn(&[u8]) -> Verdict) -> Target {
        Target {
            name: "test",
            about: "",
            words: &["Orphan"],
            judge,
        }
    }

    #[test]
    fn a_panic_that_needs_two_steps_is_found_and_shrunk() {
        // The first step is answered in another way, which keeps it: both at once are too seldom.
        let two_steps = target(|input| {
            let value: serde_json::Value = serde_json::from_slice(input).unwrap_or_default();
            let is_first = value["policy"] == "Orphan";
            assert!(!(is_first && value["count"].as_i64() > Some(4096)), "planted");
            Ok(format!("{is_first}"))
        });
        let corpus = vec![br#"{"policy": "Delete", "count": 1, "other": ["long", "text"]}"#.to_vec()];
        let failed = fuzz(&two_steps, corpus, &limits(&AtomicU64::new(0))).unwrap_err();
        assert_eq!(failed.broken, Broken("it panics: planted".to_owned()));
        assert!(
            failed.input.len() < 60,
            "{:?}",
            String::from_utf8_lossy(&failed.input)
        );
        assert!(judge(&two_steps, &failed.input).is_err());
    }

    #[test]
    fn a_broken_promise_is_found_among_plain_bytes() {
        let no_escape = target(|input| {
            ensure(!input.contains(&0x1b), || "an escape passes".to_owned())?;
            Ok(String::new())
        });
        let failed = fuzz(&no_escape, vec![b"plain".to_vec()], &limits(&AtomicU64::new(0))).unwrap_err();
        assert_eq!(failed.input, [0x1b]);
    }

    #[test]
    fn the_corpus_is_judged_whatever_the_time() {
        let judged = AtomicU64::new(0);
        let no_time = Limits {
            time: Duration::ZERO,
            ..limits(&judged)
        };
        let corpus = vec![b"a".to_vec(), b"b".to_vec()];
        let fuzzed = fuzz(&target(|input| Ok(format!("{input:?}"))), corpus, &no_time);
        assert_eq!(
            fuzzed,
            Ok(Fuzzed {
                inputs: 2,
                answers: 2
            })
        );
    }
}
