//! What is committed: every input holds, as those do that once broke a promise.

use std::{collections::BTreeSet, fs};

use bridge_fuzz::{Corpus, TARGETS, judge};

/// In bytes: they are read by people, too.
const LARGEST_INPUT: usize = 16 << 10;
/// Of one target.
const MOST_INPUTS: usize = 64;

#[test]
fn every_input_of_every_corpus_holds() {
    for target in TARGETS {
        let inputs = Corpus::of(target.name).inputs().unwrap();
        assert!(
            (1..=MOST_INPUTS).contains(&inputs.len()),
            "{}: {} inputs",
            target.name,
            inputs.len()
        );
        for (name, input) in inputs {
            assert!(
                input.len() <= LARGEST_INPUT,
                "{}/{name} has {} bytes",
                target.name,
                input.len()
            );
            if let Err(broken) = judge(target, &input) {
                panic!("{}/{name}: {broken}", target.name);
            }
        }
    }
}

#[test]
fn a_corpus_has_an_input_that_is_accepted() {
    for target in TARGETS {
        let inputs = Corpus::of(target.name).inputs().unwrap();
        let answers: Vec<_> = inputs.iter().map(|(_, input)| judge(target, input)).collect();
        let is_good = |answer: &str| !answer.starts_with("rejected") && !answer.starts_with("no ");
        assert!(
            answers.iter().flatten().any(|answer| is_good(answer)),
            "{}: mutation begins far from what it could break: {answers:?}",
            target.name
        );
    }
}

#[test]
fn every_corpus_is_of_a_target() {
    let corpora = Corpus::of("");
    let folders: BTreeSet<_> = fs::read_dir(corpora.folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let targets = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(folders, targets);
}
