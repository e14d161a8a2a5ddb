//! How much of the contract a run has judged, level by level, and what would let it judge more.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    assertion::Level,
    run::Report,
    verdict::{Finding, Verdict},
};

/// Reasons begin with it where the author's flags would do.
const GIVE: &str = "give ";

/// Of one level.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub level: Level,
    /// Ids that were judged about somebody, and those that were not.
    pub judged: usize,
    pub unjudged: usize,
    /// What to give, and which ids that would judge.
    pub wanted: BTreeMap<String, BTreeSet<&'static str>>,
}

/// Of each level that is in the report.
pub(super) fn extents(report: &Report) -> Vec<Extent> {
    [Level::Core, Level::Feature, Level::Durable]
        .into_iter()
        .filter_map(|level| {
            let of_level = report.findings.iter();
            extent(level, of_level.filter(|finding| finding.assertion.level == level))
        })
        .collect()
}

/// Whether it is the whole contract, of all kinds, as far as it says anything about this plugin.
pub(super) fn is_whole(report: &Report) -> bool {
    let selection = &report.selection;
    let is_chosen = !selection.only.is_empty() || !selection.levels.is_empty() || !selection.kinds.is_empty();
    let is_skipped = report
        .findings
        .iter()
        .any(|finding| finding.verdict == Verdict::Skipped);
    let is_wanting = extents(report).iter().any(|extent| !extent.wanted.is_empty());
    !is_chosen && !is_skipped && !is_wanting
}

fn extent<'a>(level: Level, findings: impl Iterator<Item = &'a Finding>) -> Option<Extent> {
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
    let mut extent = Extent {
        level,
        judged: 0,
        unjudged: 0,
        wanted: BTreeMap::new(),
    };
    for (id, verdicts) in by_id {
        let is_judged = |verdict: &&Verdict| matches!(verdict, Verdict::Passed | Verdict::Failed(_));
        if verdicts.iter().any(is_judged) {
            extent.judged += 1;
            continue;
        }
        extent.unjudged += 1;
        for verdict in verdicts {
            if let Verdict::NotApplicable(why) = verdict
                && why.starts_with(GIVE)
            {
                extent.wanted.entry(why.clone()).or_default().insert(id);
            }
        }
    }
    Some(extent)
}
