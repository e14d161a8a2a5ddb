//! For people: progress, a verdict, what to fix, and where the rule stands.

use std::{collections::BTreeSet, io::Write, sync::LazyLock};

use crossbridge_proto::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_types::{FileDescriptorProto, FileDescriptorSet};

use super::{
    Counts, count,
    coverage::{self, Coverage},
};
use crate::{
    run::{Progress, Report},
    suites::assertions,
    verdict::{Finding, Verdict},
};

/// Writes to standard error while the kit runs.
#[derive(Debug, Default)]
pub struct TextProgress {
    /// Passed and not applicable ones too.
    pub verbose: bool,
}

impl Progress for TextProgress {
    fn begins(&self, subject: &str) {
        say(&format!("{subject}\n"));
    }

    fn subject(&self, _: &str, findings: &[Finding]) {
        for finding in findings {
            let is_shown = match &finding.verdict {
                Verdict::Passed | Verdict::NotApplicable(_) => self.verbose,
                Verdict::Blocked(_) => false,
                Verdict::Failed(_) | Verdict::Skipped => true,
            };
            if is_shown {
                say(&line(finding));
            }
        }
        say(&blocked(findings));
        say(&format!("  {}\n", summary(count(findings))));
    }
}

/// A write error is ignored: the reader has closed its end.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn line(finding: &Finding) -> String {
    let (word, why) = match &finding.verdict {
        Verdict::Passed => ("ok     ", None),
        Verdict::Failed(why) => ("FAILED ", Some(why)),
        Verdict::Blocked(why) => ("blocked", Some(why)),
        Verdict::Skipped => ("skipped", None),
        Verdict::NotApplicable(why) => ("-      ", Some(why)),
    };
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    format!("  {word} {}{why}\n", finding.assertion.id)
}

/// What kept rules from being judged: one line for each cause and subject, however many rules it kept.
fn blocked(findings: &[Finding]) -> String {
    let mut causes: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for finding in findings {
        let Verdict::Blocked(why) = &finding.verdict else {
            continue;
        };
        let subject = finding.subject.as_str();
        match causes
            .iter_mut()
            .find(|(known, of, _)| known == why && *of == subject)
        {
            Some((_, _, ids)) => ids.push(finding.assertion.id),
            None => causes.push((why, subject, vec![finding.assertion.id])),
        }
    }
    let mut text = String::new();
    for (why, subject, ids) in causes {
        text.push_str(&match ids.as_slice() {
            [id] => format!("  blocked {id} ({subject}): {why}\n"),
            ids => format!(
                "  blocked {} rules of {subject}: {why}\n          {}\n",
                ids.len(),
                ids.join(", ")
            ),
        });
    }
    text
}

fn summary(counts: Counts) -> String {
    let parts = [
        (counts.passed, "passed"),
        (counts.failed, "failed"),
        (counts.blocked, "blocked"),
        (counts.skipped, "skipped"),
        (counts.not_applicable, "not applicable"),
    ];
    let shown: Vec<_> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    if shown.is_empty() {
        "nothing judged".to_owned()
    } else {
        shown.join(", ")
    }
}

/// The verdict, with what to do about each failure.
pub(super) fn verdict(report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        if let Verdict::Failed(seen) = &finding.verdict {
            let assertion = finding.assertion;
            text.push_str(&format!(
                "\n{} ({}, {})\n  rule: {}\n        {}\n  seen: {seen}\n  fix:  {}\n",
                assertion.id,
                finding.subject,
                assertion.level,
                assertion.title,
                rule_place(assertion.rule),
                assertion.fix,
            ));
        }
    }
    text.push_str(&fix_first(&report.findings));
    let blocked = blocked(&report.findings);
    if !blocked.is_empty() {
        text.push_str(&format!(
            "\nnot judged, as something before it did not work:\n{blocked}"
        ));
    }
    let skipped: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.verdict == Verdict::Skipped)
        .map(|finding| finding.assertion.id)
        .collect();
    if !skipped.is_empty() {
        text.push_str(&format!("\nskipped on demand: {}\n", skipped.join(", ")));
    }
    if !report.unsearched_secrets.is_empty() {
        text.push_str(&format!(
            "\nnot searched for in responses and logs, as they are too short: {}\n",
            report.unsearched_secrets.join(", ")
        ));
    }
    for left in &report.left_behind {
        text.push_str(&format!("\nleft behind, remove it by hand: {left}\n"));
    }
    let chosen = report.selection.to_string();
    if !chosen.is_empty() {
        text.push_str(&format!("\njudged on demand: {chosen}\n"));
    }
    text.push('\n');
    for coverage in coverage::coverages(report) {
        text.push_str(&describe_coverage(&coverage));
    }
    for ((subject, why), ids) in coverage::unseen(report) {
        let ids: Vec<_> = ids.into_iter().collect();
        text.push_str(&format!(
            "not judged of {subject}, as a caller cannot see it: {why}: {}\n",
            ids.join(", ")
        ));
    }
    let summary = summary(count(&report.findings));
    let of = if report.plugin.is_empty() {
        // It said nothing, not even its name.
        summary
    } else {
        format!("{} ({summary})", report.plugin)
    };
    text.push_str(&format!("\n{}: {of}\n", word(report)));
    text
}

/// Which rules to mend first where more fail than these: what every plugin owes before features, and what is judged early before what builds on it.
fn fix_first(findings: &[Finding]) -> String {
    const SHOWN: usize = 3;
    let failed = |id: &str| {
        let of_rule = findings.iter().filter(move |finding| {
            finding.assertion.id == id && matches!(finding.verdict, Verdict::Failed(_))
        });
        of_rule
            .map(|finding| finding.subject.as_str())
            .collect::<BTreeSet<_>>()
    };
    let mut rules: Vec<_> = assertions()
        .into_iter()
        .map(|rule| (rule, failed(rule.id)))
        .filter(|(_, subjects)| !subjects.is_empty())
        .collect();
    if rules.len() <= SHOWN {
        return String::new();
    }
    rules.sort_by_key(|(rule, _)| rule.level);
    let mut text = format!(
        "\nfix these first, others of the {} may follow from them:\n",
        rules.len()
    );
    for (rule, subjects) in &rules[..SHOWN] {
        let subjects: Vec<_> = subjects.iter().copied().collect();
        text.push_str(&format!(
            "  {} ({}): {}\n",
            rule.id,
            subjects.join(", "),
            rule.fix
        ));
    }
    text
}

/// `Core: 118 of 121 rules judged`, and what would let the others be judged.
fn describe_coverage(coverage: &Coverage) -> String {
    let all = coverage.judged + coverage.unjudged;
    let judged = match coverage.judged {
        0 => "none".to_owned(),
        judged => judged.to_string(),
    };
    let mut text = format!("{}: {judged} of {all} rules judged\n", coverage.level);
    for (what, ids) in &coverage.wanted {
        let ids: Vec<_> = ids.iter().copied().collect();
        text.push_str(&format!("  {what}: {}\n", ids.join(", ")));
    }
    text
}

fn word(report: &Report) -> String {
    let mut word = match report.exit_code() {
        1 => return "DOES NOT CONFORM".to_owned(),
        _ if report.is_good() => "CONFORMS".to_owned(),
        _ => return "COULD NOT BE JUDGED".to_owned(),
    };
    if !coverage::is_complete(report) {
        word.push_str(", as far as it was judged");
    }
    if !report.left_behind.is_empty() {
        word.push_str(", but left something behind");
    }
    word
}

/// Where a rule stands: its file with the line, and its name. The rule itself where it stands nowhere.
pub fn rule_place(rule: &str) -> String {
    static FILES: LazyLock<FileDescriptorSet> =
        LazyLock::new(|| FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap_or_default());
    for file in &FILES.file {
        let name = file.name.as_deref().unwrap_or_default();
        if name.rsplit('/').next() == Some(rule) {
            return name.to_owned();
        }
        if let Some(line) = path_of(file, rule).and_then(|path| line_of(file, &path)) {
            return format!("{name}:{line} {rule}");
        }
    }
    rule.to_owned()
}

/// The descriptor path of `Message`, `Message.field`, `Service.Method` or `Enum.VALUE`.
fn path_of(file: &FileDescriptorProto, rule: &str) -> Option<Vec<i32>> {
    if file.package.as_deref() != Some("crossbridge.provider.v1alpha1") {
        return None;
    }
    let (outer, inner) = match rule.split_once('.') {
        Some((outer, inner)) => (outer, Some(inner)),
        None => (rule, None),
    };
    let index = |position: usize| i32::try_from(position).ok();
    let is = |name: &Option<String>, wanted: &str| name.as_deref() == Some(wanted);
    // Numbers of the fields of FileDescriptorProto, DescriptorProto, EnumDescriptorProto and ServiceDescriptorProto.
    if let Some(at) = file
        .message_type
        .iter()
        .position(|message| is(&message.name, outer))
    {
        let Some(inner) = inner else {
            return Some(vec![4, index(at)?]);
        };
        let field = file.message_type[at]
            .field
            .iter()
            .position(|field| is(&field.name, inner))?;
        return Some(vec![4, index(at)?, 2, index(field)?]);
    }
    if let Some(at) = file.enum_type.iter().position(|known| is(&known.name, outer)) {
        let Some(inner) = inner else {
            return Some(vec![5, index(at)?]);
        };
        let value = file.enum_type[at]
            .value
            .iter()
            .position(|value| is(&value.name, inner))?;
        return Some(vec![5, index(at)?, 2, index(value)?]);
    }
    let at = file.service.iter().position(|service| is(&service.name, outer))?;
    let Some(inner) = inner else {
        return Some(vec![6, index(at)?]);
    };
    let method = file.service[at]
        .method
        .iter()
        .position(|method| is(&method.name, inner))?;
    Some(vec![6, index(at)?, 2, index(method)?])
}

fn line_of(file: &FileDescriptorProto, path: &[i32]) -> Option<i32> {
    let locations = &file.source_code_info.as_ref()?.location;
    let found = locations.iter().find(|location| location.path == path)?;
    found.span.first().map(|line| line + 1)
}
