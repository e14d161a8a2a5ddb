//! What became of a case.

use serde::Serialize;

use crate::case::{Case, Phase, Variant};

/// One line of the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseResult {
    /// The case's name, by which it can be run alone.
    pub case: String,
    /// The kind of its object.
    pub kind: String,
    /// The point of the kill: `create/before intent#1`.
    pub point: String,
    /// The point was reached and the kill came there; else the case proves nothing of its point.
    pub hit: bool,
    /// External objects that were ever created for it: one is right.
    pub made: usize,
    /// Those that are there after its deletion: none is right, or one where the policies do not include Delete.
    pub left: usize,
    /// A person was asked what became of the creation.
    pub asked: bool,
    /// What went wrong; empty: nothing.
    pub wrong: Vec<String>,
}

/// The sum of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Which part of the matrix: `3/8`.
    pub part: String,
    /// Cases of that part that were run.
    pub cases: usize,
    /// Cases of that part that there was no time for.
    pub left_out: usize,
    /// Cases whose point was reached.
    pub hit: usize,
    /// Processes killed with SIGKILL.
    pub kills: u32,
    /// Cases in which a person was asked.
    pub asked: usize,
    /// Cases with more than one external object.
    pub duplicates: usize,
    /// Cases whose external object was lost: none was created, or it was left behind.
    pub lost: usize,
    /// Cases in which anything was wrong.
    pub wrong: usize,
    /// Points that were missed too often to prove anything.
    pub too_few: Vec<String>,
    /// Seconds that it took.
    pub seconds: u64,
    /// Seconds that it may take; 0: as many as it likes.
    pub within: u64,
}

impl CaseResult {
    /// Of a case that has not begun.
    pub fn of(case: &Case) -> Self {
        Self {
            case: case.to_string(),
            point: case.point.clone(),
            ..Self::undisturbed(&case.variant)
        }
    }

    /// Of an object that no one disturbs.
    pub fn undisturbed(variant: &Variant) -> Self {
        Self {
            case: variant.to_string(),
            kind: variant.kind.clone(),
            point: String::new(),
            hit: false,
            made: 0,
            left: 0,
            asked: false,
            wrong: Vec::new(),
        }
    }

    /// Something is not as it should be.
    pub fn wrong(&mut self, phase: Phase, what: impl Into<String>) {
        self.wrong.push(format!("{phase:?}: {}", what.into()));
    }
}

impl Summary {
    /// Nothing was wrong, each point was hit often enough, and it did not take too long.
    pub fn is_proof(&self) -> bool {
        self.cases > 0 && self.wrong == 0 && self.too_few.is_empty() && self.is_in_time()
    }

    fn is_in_time(&self) -> bool {
        self.within == 0 || self.seconds <= self.within
    }

    /// What is wrong with it, as a sentence; empty: nothing.
    pub fn describe(&self) -> String {
        let mut amiss = Vec::new();
        if self.cases == 0 {
            amiss.push("there was no case".to_owned());
        }
        if self.wrong > 0 {
            amiss.push(format!("{} cases went wrong", self.wrong));
        }
        if !self.too_few.is_empty() {
            amiss.push(format!(
                "too few cases hit their point: {}",
                self.too_few.join(", ")
            ));
        }
        if !self.is_in_time() {
            amiss.push(format!(
                "it took {} s, and may take {}",
                self.seconds, self.within
            ));
        }
        amiss.join("; ")
    }

    /// Counts one case; `keeps`: its resource must be left after the deletion.
    pub fn add(&mut self, result: &CaseResult, keeps: bool) {
        self.cases += 1;
        self.hit += usize::from(result.hit);
        self.asked += usize::from(result.asked);
        self.duplicates += usize::from(result.made > 1);
        self.lost += usize::from(result.made == 0 || result.left != usize::from(keeps));
        self.wrong += usize::from(!result.wrong.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::Summary;

    fn summary() -> Summary {
        Summary {
            cases: 650,
            hit: 650,
            seconds: 190,
            within: 600,
            ..Summary::default()
        }
    }

    #[test]
    fn every_problem_of_a_run_is_described() {
        assert!(summary().is_proof() && summary().describe().is_empty());
        let without_limit = Summary {
            seconds: 4_000,
            within: 0,
            ..summary()
        };
        assert!(without_limit.is_proof());
        for (amiss, word) in [
            (
                Summary {
                    cases: 0,
                    ..summary()
                },
                "no case",
            ),
            (
                Summary {
                    wrong: 1,
                    ..summary()
                },
                "1 cases went wrong",
            ),
            (
                Summary {
                    too_few: vec!["create/before persist: 0 of 4".to_owned()],
                    ..summary()
                },
                "before persist",
            ),
            (
                Summary {
                    seconds: 601,
                    ..summary()
                },
                "601 s",
            ),
        ] {
            assert!(
                !amiss.is_proof() && amiss.describe().contains(word),
                "{}",
                amiss.describe()
            );
        }
    }
}
