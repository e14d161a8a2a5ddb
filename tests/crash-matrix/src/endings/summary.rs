//! The sum of a run.

use serde::Serialize;

use super::batch::EndingResult;

/// A tenth of the cases may miss their point, and four however few they are: siblings are written in no order.
const MISSED_SHARE: usize = 10;
const MISSED_LIMIT_OF_FEW: usize = 4;

/// What was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndingSummary {
    /// Cases of the whole matrix.
    pub whole: usize,
    /// Cases that were run.
    pub cases: usize,
    /// Cases whose point was reached.
    pub hit: usize,
    /// Bridges killed with SIGKILL.
    pub kills: u32,
    /// Leaders paused with SIGSTOP.
    pub pauses: u32,
    /// Kubernetes' garbage collector ran.
    pub collector: bool,
    /// Cases that did not leave what they should.
    pub left_over: usize,
    /// Deletions, and ends, out of order.
    pub out_of_order: usize,
    /// Deletions of what was in use.
    pub in_use: usize,
    /// Successors, and what stays, that were deleted.
    pub touched: usize,
    /// Cases in which anything was wrong.
    pub wrong: usize,
    /// What the record missed; nothing is proved then.
    pub holes: Vec<String>,
    /// Seconds that it took.
    pub seconds: u64,
    /// Seconds that it may take; 0: as many as it likes.
    pub within: u64,
}

impl EndingSummary {
    /// Counts one case.
    pub fn add(&mut self, result: &EndingResult) {
        let faults = &result.faults;
        self.cases += 1;
        self.hit += usize::from(result.hit);
        self.left_over += faults.left_over.len();
        self.out_of_order += faults.out_of_order.len();
        self.in_use += faults.in_use.len();
        self.touched += faults.touched.len();
        self.wrong += usize::from(!faults.is_empty());
    }

    /// Nothing was wrong, and enough was hit.
    pub fn is_proof(&self) -> bool {
        self.describe().is_empty()
    }

    /// What is wrong with it; empty: nothing.
    pub fn describe(&self) -> String {
        let mut amiss = Vec::new();
        if self.cases == 0 {
            amiss.push("there was no case".to_owned());
        }
        if self.wrong > 0 {
            amiss.push(format!("{} cases went wrong", self.wrong));
        }
        let missed = self.cases - self.hit;
        if missed > MISSED_LIMIT_OF_FEW.max(self.cases / MISSED_SHARE) || (self.cases > 0 && self.hit == 0) {
            amiss.push(format!("{missed} of {} cases missed their point", self.cases));
        }
        if !self.holes.is_empty() {
            amiss.push(self.holes.join("; "));
        }
        if self.within > 0 && self.seconds > self.within {
            amiss.push(format!(
                "it took {} s, and may take {}",
                self.seconds, self.within
            ));
        }
        amiss.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::EndingSummary;

    #[test]
    fn every_problem_of_a_run_is_described() {
        let good = EndingSummary {
            cases: 50,
            hit: 46,
            seconds: 100,
            within: 200,
            ..EndingSummary::default()
        };
        assert!(good.is_proof(), "{}", good.describe());
        let amiss = |change: fn(&mut EndingSummary)| {
            let mut summary = good.clone();
            change(&mut summary);
            summary.describe()
        };
        for (described, words) in [
            (amiss(|of| (of.cases, of.hit) = (0, 0)), "no case"),
            (amiss(|of| of.wrong = 2), "2 cases went wrong"),
            (amiss(|of| of.hit = 44), "6 of 50 cases missed"),
            (amiss(|of| (of.cases, of.hit) = (3, 0)), "3 of 3 cases missed"),
            (
                amiss(|of| of.holes = vec!["missed something".to_owned()]),
                "missed something",
            ),
            (amiss(|of| of.seconds = 201), "201 s"),
        ] {
            assert!(described.contains(words), "{described}");
        }
    }
}
