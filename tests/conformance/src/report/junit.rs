//! `JUnit` XML: one suite for each subject.

use super::{count, rule_place};
use crate::{
    run::{Report, Selection},
    verdict::{Finding, Verdict},
};

pub(super) fn write(report: &Report) -> String {
    let mut subjects: Vec<&str> = Vec::new();
    for finding in &report.findings {
        if !subjects.contains(&finding.subject.as_str()) {
            subjects.push(&finding.subject);
        }
    }
    let mut text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"provider-conformance\">\n".to_owned();
    for subject in subjects {
        let findings: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.subject == subject)
            .cloned()
            .collect();
        text.push_str(&suite(subject, &report.selection, &findings));
    }
    text.push_str("</testsuites>\n");
    text
}

fn suite(subject: &str, selection: &Selection, findings: &[Finding]) -> String {
    let counts = count(findings);
    let mut text = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
        escape(subject),
        findings.len(),
        counts.failed,
        counts.blocked,
        counts.skipped + counts.not_applicable,
    );
    let chosen = selection.to_string();
    if !chosen.is_empty() {
        text.push_str(&format!(
            "    <properties><property name=\"selection\" value=\"{}\"/></properties>\n",
            escape(&chosen)
        ));
    }
    for finding in findings {
        let inner = match &finding.verdict {
            Verdict::Passed => String::new(),
            Verdict::Skipped => "<skipped message=\"on demand\"/>".to_owned(),
            Verdict::NotApplicable(why) => format!("<skipped message=\"{}\"/>", escape(why)),
            Verdict::Blocked(why) => format!("<error message=\"{}\"/>", escape(why)),
            Verdict::Failed(why) => format!(
                "<failure message=\"{}\">{}: {}</failure>",
                escape(why),
                escape(&rule_place(finding.assertion.rule)),
                escape(finding.assertion.fix)
            ),
        };
        text.push_str(&format!(
            "    <testcase classname=\"{}\" name=\"{}\">{inner}</testcase>\n",
            escape(subject),
            escape(finding.assertion.id),
        ));
    }
    text.push_str("  </testsuite>\n");
    text
}

/// Control characters have no place in XML 1.0 at all.
fn escape(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t'))
        .map(|letter| match letter {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            '\n' => "&#10;".to_owned(),
            other => other.to_string(),
        })
        .collect()
}
