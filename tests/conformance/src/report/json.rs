//! The report as one JSON document, for programs.

use serde::Serialize;

use super::{Counts, count, coverage, rule_place};
use crate::{
    run::{Report, Selection},
    verdict::Verdict,
};

#[derive(Serialize)]
struct Document<'a> {
    plugin: &'a str,
    conforms: bool,
    /// Whether nothing was left out: neither on demand, nor for want of something that the author can give.
    complete: bool,
    selection: &'a Selection,
    counts: Counts,
    unsearched_secrets: &'a [String],
    left_behind: &'a [String],
    findings: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    level: String,
    subject: &'a str,
    title: &'a str,
    rule: &'a str,
    /// With its file and line.
    place: String,
    fix: &'a str,
    #[serde(flatten)]
    verdict: &'a Verdict,
}

pub(super) fn write(report: &Report) -> String {
    let document = Document {
        plugin: &report.plugin,
        conforms: report.exit_code() == 0,
        complete: coverage::is_complete(report),
        selection: &report.selection,
        counts: count(&report.findings),
        unsearched_secrets: &report.unsearched_secrets,
        left_behind: &report.left_behind,
        findings: report
            .findings
            .iter()
            .map(|finding| Entry {
                id: finding.assertion.id,
                level: finding.assertion.level.to_string(),
                subject: &finding.subject,
                title: finding.assertion.title,
                rule: finding.assertion.rule,
                place: rule_place(finding.assertion.rule),
                fix: finding.assertion.fix,
                verdict: &finding.verdict,
            })
            .collect(),
    };
    // A document of strings and numbers can always be written.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}
