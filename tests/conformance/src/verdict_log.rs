//! Where verdicts are written down while the kit runs.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    assertion::Assertion,
    verdict::{Finding, Judgement, Verdict},
};

/// All verdicts so far. Of several on one assertion and subject the heaviest counts.
#[derive(Debug, Default)]
pub(crate) struct VerdictLog {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// In the order in which the subjects came up.
    subjects: Vec<String>,
    verdicts: BTreeMap<(String, &'static str), Finding>,
}

impl VerdictLog {
    pub(crate) fn note(&self, assertion: &'static Assertion, subject: &str, verdict: Verdict) {
        let mut entries = self.entries();
        if !entries.subjects.iter().any(|known| known == subject) {
            entries.subjects.push(subject.to_owned());
        }
        let finding = entries
            .verdicts
            .entry((subject.to_owned(), assertion.id))
            .or_insert_with(|| Finding {
                assertion,
                subject: subject.to_owned(),
                verdict: verdict.clone(),
            });
        if verdict > finding.verdict {
            finding.verdict = verdict;
        }
    }

    /// Takes back what was found to fail: a plugin that ended in the middle fails whatever comes next.
    pub(crate) fn withdraw_failure(&self, assertion: &Assertion, subject: &str) {
        let mut entries = self.entries();
        let key = (subject.to_owned(), assertion.id);
        if let Some(Finding {
            verdict: Verdict::Failed(_),
            ..
        }) = entries.verdicts.get(&key)
        {
            entries.verdicts.remove(&key);
        }
    }

    pub(crate) fn judge(&self, assertion: &'static Assertion, subject: &str, judgement: Judgement) {
        let verdict = match judgement {
            Ok(()) => Verdict::Passed,
            Err(seen) => Verdict::Failed(seen),
        };
        self.note(assertion, subject, verdict);
    }

    /// The verdict so far.
    pub(crate) fn verdict(&self, assertion: &Assertion, subject: &str) -> Option<Verdict> {
        self.entries()
            .verdicts
            .get(&(subject.to_owned(), assertion.id))
            .map(|finding| finding.verdict.clone())
    }

    /// All, by subject in the order in which they came up, then by id.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let entries = self.entries();
        entries
            .subjects
            .iter()
            .flat_map(|subject| {
                entries
                    .verdicts
                    .values()
                    .filter(move |finding| finding.subject == *subject)
            })
            .cloned()
            .collect()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
