//! What came out of a run, for people and for programs.

mod coverage;
mod json;
mod junit;
mod markdown;
mod tap;
#[cfg(test)]
mod tests;
mod text;

use crate::{
    run::Report,
    verdict::{Finding, Verdict},
};

pub use markdown::assertions_markdown;
pub use text::{TextProgress, rule_place};

/// How the outcome of a run is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Lines for people.
    Text,
    /// One JSON document, for programs.
    Json,
    /// `JUnit` XML, for CI systems.
    Junit,
    /// Test Anything Protocol, version 13.
    Tap,
}

/// The outcome in this format; with a newline at its end.
pub fn write(report: &Report, format: Format) -> String {
    match format {
        Format::Text => text::verdict(report),
        Format::Json => json::write(report),
        Format::Junit => junit::write(report),
        Format::Tap => tap::write(report),
    }
}

/// How many of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub blocked: usize,
    pub skipped: usize,
    pub not_applicable: usize,
}

/// How many of each.
pub fn count(findings: &[Finding]) -> Counts {
    let mut counts = Counts::default();
    for finding in findings {
        *match finding.verdict {
            Verdict::Passed => &mut counts.passed,
            Verdict::Failed(_) => &mut counts.failed,
            Verdict::Blocked(_) => &mut counts.blocked,
            Verdict::Skipped => &mut counts.skipped,
            Verdict::NotApplicable(_) => &mut counts.not_applicable,
        } += 1;
    }
    counts
}

impl Report {
    /// Nothing that was judged speaks against it; something may have been left behind.
    fn is_good(&self) -> bool {
        let counts = count(&self.findings);
        counts.failed == 0 && counts.blocked == 0 && counts.passed > 0
    }

    /// 0: conforms; 1: it does not; 3: it could not be judged, or something was left behind.
    pub fn exit_code(&self) -> u8 {
        let counts = count(&self.findings);
        if counts.failed > 0 {
            1
        } else if counts.blocked > 0 || counts.passed == 0 || !self.left_behind.is_empty() {
            3
        } else {
            0
        }
    }
}
