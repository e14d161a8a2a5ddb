//! What came of the mutants that were tried.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Failure;

use super::failed;

/// So many of a hundred must be noticed; what survives is tested or explained.
const ENOUGH: usize = 95;

/// Names of mutants, by what came of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// A test failed.
    pub(super) caught: Vec<String>,
    /// It does not build.
    pub(super) unviable: Vec<String>,
    /// The tests did not end.
    pub(super) timed_out: Vec<String>,
    /// All tests passed.
    pub(super) missed: Vec<String>,
    /// There was no time left for all of the tests.
    pub(super) untried: Vec<String>,
}

impl Outcome {
    /// What one run of cargo-mutants found.
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let lines = |name: &str| -> Result<Vec<String>, Failure> {
            let file = folder.join(name);
            let text = fs::read_to_string(&file).map_err(|error| failed(&file, &error))?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        Ok(Self {
            caught: lines("caught.txt")?,
            unviable: lines("unviable.txt")?,
            timed_out: lines("timeout.txt")?,
            missed: lines("missed.txt")?,
            untried: Vec::new(),
        })
    }

    /// Those of another run.
    pub(super) fn extend(&mut self, other: Self) {
        self.caught.extend(other.caught);
        self.unviable.extend(other.unviable);
        self.timed_out.extend(other.timed_out);
        self.missed.extend(other.missed);
        self.untried.extend(other.untried);
    }

    /// Of `asked`, what `found` does not name was not tried.
    pub(super) fn add(&mut self, asked: &[String], mut found: Self) {
        let tried: BTreeSet<&String> = [&found.caught, &found.unviable, &found.timed_out, &found.missed]
            .into_iter()
            .flatten()
            .collect();
        let untried = asked.iter().filter(|name| !tried.contains(name)).cloned();
        found.untried = untried.collect();
        self.extend(found);
    }

    /// Tests that never end have noticed too.
    fn noticed(&self) -> usize {
        self.caught.len() + self.timed_out.len()
    }

    fn viable(&self) -> usize {
        self.noticed() + self.missed.len()
    }

    /// For other programs.
    pub(super) fn to_json(&self, package: &str, seed: u64) -> Value {
        json!({
            "package": package,
            "seed": seed,
            "viable": self.viable(),
            "noticed": self.noticed(),
            "caught": self.caught.len(),
            "unviable": self.unviable.len(),
            "timed_out": self.timed_out,
            "missed": self.missed,
            "untried": self.untried,
        })
    }

    /// For people; it fails where too few were noticed.
    pub(super) fn conclude(&self) -> Result<(), Failure> {
        let viable = self.viable();
        if viable == 0 {
            return Err(Failure::new("nothing was tried"));
        }
        for mutant in &self.timed_out {
            println!("timeout: {mutant}");
        }
        for mutant in &self.missed {
            println!("missed: {mutant}");
        }
        println!(
            "{} mutants: {} caught, {} timeouts, {} missed, {} do not build, {} not tried; {} % of {viable} noticed",
            viable + self.unviable.len() + self.untried.len(),
            self.caught.len(),
            self.timed_out.len(),
            self.missed.len(),
            self.unviable.len(),
            self.untried.len(),
            self.noticed() * 100 / viable,
        );
        if self.noticed() * 100 < viable * ENOUGH {
            return Err(Failure::new(format!(
                "less than {ENOUGH} % of the mutants were noticed"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(letter: &str, count: usize) -> Vec<String> {
        (0..count).map(|number| format!("{letter}{number}")).collect()
    }

    fn outcome(caught: usize, timed_out: usize, missed: usize) -> Outcome {
        Outcome {
            caught: named("c", caught),
            unviable: named("u", 7),
            timed_out: named("t", timed_out),
            missed: named("m", missed),
            untried: Vec::new(),
        }
    }

    #[test]
    fn nineteen_of_twenty_mutants_must_be_caught() {
        assert!(outcome(90, 5, 5).conclude().is_ok());
        assert!(outcome(90, 4, 6).conclude().is_err());
    }

    #[test]
    fn a_run_that_tried_nothing_proves_nothing() {
        assert!(outcome(0, 0, 0).conclude().is_err());
    }

    #[test]
    fn the_last_tests_tell_which_mutants_are_missed() {
        let mut sum = outcome(1, 0, 3);
        let asked = std::mem::take(&mut sum.missed);
        let found = Outcome {
            caught: vec!["m0".to_owned()],
            missed: vec!["m2".to_owned()],
            ..Outcome::default()
        };
        sum.add(&asked, found);
        assert_eq!(
            sum,
            Outcome {
                caught: vec!["c0".to_owned(), "m0".to_owned()],
                missed: vec!["m2".to_owned()],
                untried: vec!["m1".to_owned()],
                ..outcome(1, 0, 0)
            }
        );
    }
}
