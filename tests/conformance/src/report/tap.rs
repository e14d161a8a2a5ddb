//! Test Anything Protocol, version 13.

use crate::{run::Report, verdict::Verdict};

pub(super) fn write(report: &Report) -> String {
    let mut text = format!("TAP version 13\n1..{}\n", report.findings.len());
    for (index, finding) in report.findings.iter().enumerate() {
        let name = format!("{} - {} ({})", index + 1, finding.assertion.id, finding.subject);
        let line = match &finding.verdict {
            Verdict::Passed => format!("ok {name}\n"),
            Verdict::Skipped => format!("ok {name} # SKIP on demand\n"),
            Verdict::NotApplicable(why) => format!("ok {name} # SKIP {}\n", one_line(why)),
            Verdict::Blocked(why) => format!("not ok {name}\n# blocked: {}\n", one_line(why)),
            Verdict::Failed(why) => format!(
                "not ok {name}\n# seen: {}\n# fix: {}\n",
                one_line(why),
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
