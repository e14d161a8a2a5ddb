//! How much of the contract a run has judged, level by level, and what would let it judge more.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    assertion::Level,
    run::Report,
    verdict::{Finding, Verdict},
};

/// Reasons begin with it where the author's flags would do.
const GIVE: &str = "give ";

/// Reasons begin with it where a rule applies, and a caller cannot tell whether it is kept.
const UNSEEN: &str = "cannot be seen: ";

/// How many assertions of one level were judged, and what the others need.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Coverage {
    pub level: Level,
    /// Ids that were judged for at least one subject, and those that were not.
    pub judged: usize,
    pub unjudged: usize,
    /// What to give, and which ids that would judge.
    pub wanted: BTreeMap<String, BTreeSet<&'static str>>,
}

/// What applies and could not be judged of a subject, as nobody could have told: by subject and reason.
pub(super) fn unseen(report: &Report) -> BTreeMap<(&str, &str), BTreeSet<&'static str>> {
    let mut unseen: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for finding in &report.findings {
        if let Verdict::NotApplicable(why) = &finding.verdict
            && let Some(why) = why.strip_prefix(UNSEEN)
        {
            let ids = unseen.entry((finding.subject.as_str(), why)).or_default();
            ids.insert(finding.assertion.id);
        }
    }
    unseen
}

/// Of each level that is in the report.
pub(super) fn coverages(report: &Report) -> Vec<Coverage> {
    [Level::Core, Level::Feature, Level::Durable]
        .into_iter()
        .filter_map(|level| {
            let of_level = report.findings.iter();
            coverage(level, of_level.filter(|finding| finding.assertion.level == level))
        })
        .collect()
}

/// Whether it is the whole contract, of all kinds, as far as it reports anything about this plugin.
pub(super) fn is_complete(report: &Report) -> bool {
    let selection = &report.selection;
    let is_chosen = !selection.only.is_empty() || !selection.levels.is_empty() || !selection.kinds.is_empty();
    let is_skipped = report
        .findings
        .iter()
        .any(|finding| finding.verdict == Verdict::Skipped);
    let is_wanting = coverages(report)
        .iter()
        .any(|coverage| !coverage.wanted.is_empty());
    !is_chosen && !is_skipped && !is_wanting
}

fn coverage<'a>(level: Level, findings: impl Iterator<Item = &'a Finding>) -> Option<Coverage> {
    let mut by_id: BTreeMap<&'static str, Vec<&Verdict>> = BTreeMap::new();
    for finding in findings {
        by_id
            .entry(finding.assertion.id)
            .or_default()
            .push(&finding.verdict);
    }
    if by_id.is_empty() {
        return None;
    }
    let mut coverage = Coverage {
        level,
        judged: 0,
        unjudged: 0,
        wanted: BTreeMap::new(),
    };
    for (id, verdicts) in by_id {
        let is_judged = |verdict: &&Verdict| matches!(verdict, Verdict::Passed | Verdict::Failed(_));
        if verdicts.iter().any(is_judged) {
            coverage.judged += 1;
            continue;
        }
        coverage.unjudged += 1;
        for verdict in verdicts {
            if let Verdict::NotApplicable(why) = verdict
                && why.starts_with(GIVE)
            {
                coverage.wanted.entry(why.clone()).or_default().insert(id);
            }
        }
    }
    Some(coverage)
}
