//! Test Anything Protocol, version 13.

use super::rule_place;
use crate::{run::Report, verdict::Verdict};

pub(super) fn write(report: &Report) -> String {
    let mut text = format!("TAP version 13\n1..{}\n", report.findings.len());
    let chosen = report.selection.to_string();
    if !chosen.is_empty() {
        text.push_str(&format!("# judged on demand: {}\n", one_line(&chosen)));
    }
    for (index, finding) in report.findings.iter().enumerate() {
        let name = format!("{} - {} ({})", index + 1, finding.assertion.id, finding.subject);
        let line = match &finding.verdict {
            Verdict::Passed => format!("ok {name}\n"),
            Verdict::Skipped => format!("ok {name} # SKIP on demand\n"),
            Verdict::NotApplicable(why) => format!("ok {name} # SKIP {}\n", one_line(why)),
            Verdict::Blocked(why) => format!("not ok {name}\n# blocked: {}\n", one_line(why)),
            Verdict::Failed(why) => format!(
                "not ok {name}\n# seen: {}\n# rule: {}\n# fix: {}\n",
                one_line(why),
                rule_place(finding.assertion.rule),
                finding.assertion.fix
            ),
        };
        text.push_str(&line);
    }
    text
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ").replace('#', "\\#")
}
