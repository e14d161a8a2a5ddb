//! What came of the tests: how many passed, which failed, and which took longest.

use std::time::Duration;

/// So many of the slowest are shown.
const SLOWEST: usize = 20;

/// The sum of what the test programs printed.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    times: Vec<(Duration, String)>,
    failures: Vec<String>,
}

impl Tally {
    /// Counts a line of a program: `test result: ok. 3 passed; 0 failed; …`, or `test some::name ... ok <0.012s>`.
    pub(crate) fn add(&mut self, program: &str, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.add_counts(counts.split_once(". ").map_or(counts, |(_, counts)| counts));
        } else if let Some((name, result)) = line
            .strip_prefix("test ")
            .and_then(|line| line.rsplit_once(" ... "))
        {
            let (verdict, time) = result.split_once(" <").unwrap_or((result, ""));
            if verdict == "FAILED" {
                self.failures.push(format!("{program}: {name}"));
            }
            let seconds = time
                .strip_suffix("s>")
                .and_then(|seconds| seconds.parse().ok())
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            self.times
                .extend(seconds.map(|time| (time, format!("{program}: {name}"))));
        }
    }

    fn add_counts(&mut self, counts: &str) {
        for count in counts.split(';') {
            match count.trim().split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                Some((number, "ignored")) => self.ignored += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }

    /// A program that ended badly without saying which test did it: it counts as one.
    pub(crate) fn add_crash(&mut self, program: &str, how: &str) {
        self.failed += 1;
        self.failures.push(format!("{program}: {how}"));
    }

    /// Adds the results of another program.
    pub(crate) fn merge(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.times.extend(other.times);
        self.failures.extend(other.failures);
    }

    /// Tests that failed, and programs that ended badly.
    pub(crate) fn failed(&self) -> u64 {
        self.failed
    }

    /// The slowest, slowest first.
    pub(crate) fn slowest(&self) -> String {
        let mut times: Vec<_> = self.times.iter().collect();
        times.sort_by(|one, other| other.cmp(one));
        let lines = times
            .iter()
            .take(SLOWEST)
            .map(|(time, test)| format!("{:7.1} s  {test}\n", time.as_secs_f64()));
        format!("slowest tests:\n{}", lines.collect::<String>())
    }

    /// The names of those that failed, or nothing.
    pub(crate) fn failures(&self) -> String {
        if self.failures.is_empty() {
            String::new()
        } else {
            format!("failed tests:\n  {}\n", self.failures.join("\n  "))
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "total: {} passed, {} failed, {} skipped",
            self.passed, self.failed, self.ignored
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Tally {
        let mut tally = Tally::default();
        for line in lines {
            tally.add("core unit", line);
        }
        tally
    }

    #[test]
    fn summaries_are_added_up() {
        let mut tally = of(&[
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s",
        ]);
        tally.merge(of(&[
            "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out",
        ]));
        assert_eq!(tally.to_string(), "total: 7 passed, 2 failed, 1 skipped");
        assert_eq!(tally.failed(), 2);
    }

    #[test]
    fn the_slowest_tests_come_first() {
        let tally = of(&[
            "test quick ... ok <0.010s>",
            "test deep::slow - should panic ... ok <12.250s>",
            "test waits ... ignored",
            "test src/lib.rs - name (line 3) ... ok",
        ]);
        assert_eq!(
            tally.slowest(),
            "slowest tests:\n   12.2 s  core unit: deep::slow - should panic\n    0.0 s  core unit: quick\n"
        );
    }

    #[test]
    fn failed_tests_are_named_with_their_program() {
        let mut tally = of(&["test broken ... FAILED <0.010s>", "test fine ... ok <0.010s>"]);
        tally.add_crash("other unit", "ended with signal 6");
        assert_eq!(
            tally.failures(),
            "failed tests:\n  core unit: broken\n  other unit: ended with signal 6\n"
        );
        assert_eq!(of(&[]).failures(), "");
    }
}
