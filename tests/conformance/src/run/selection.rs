//! What of the kit is run.

use crate::{
    assertion::{Assertion, Level},
    stories::assertions,
};

/// Which assertions are judged.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Ids, or beginnings of ids; empty: all.
    pub only: Vec<String>,
    /// Likewise; they are shown as skipped.
    pub skip: Vec<String>,
    /// Levels; empty: all.
    pub levels: Vec<Level>,
    /// Kinds; empty: all.
    pub kinds: Vec<String>,
}

impl Selection {
    pub(crate) fn takes(&self, assertion: &Assertion) -> bool {
        let named = self.only.is_empty() || matches(&self.only, assertion.id);
        let level = self.levels.is_empty() || self.levels.contains(&assertion.level);
        named && level && !self.skips(assertion)
    }

    pub(crate) fn skips(&self, assertion: &Assertion) -> bool {
        matches(&self.skip, assertion.id)
    }

    pub(crate) fn takes_kind(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind)
    }

    /// The first pattern that stands for no assertion at all: a word that is misspelled, or an id that was dropped.
    pub(crate) fn stray(&self) -> Option<&str> {
        let all = assertions();
        self.only
            .iter()
            .chain(&self.skip)
            .find(|pattern| {
                !all.iter()
                    .any(|assertion| matches(std::slice::from_ref(*pattern), assertion.id))
            })
            .map(String::as_str)
    }
}

/// `create` and `create/` stand for all of `create/…`.
fn matches(patterns: &[String], id: &str) -> bool {
    patterns.iter().any(|pattern| {
        id == pattern
            || id
                .strip_prefix(pattern.trim_end_matches(['/', '*']))
                .is_some_and(|rest| rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(only: &[&str], skip: &[&str]) -> Vec<&'static str> {
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        let selection = Selection {
            only: owned(only),
            skip: owned(skip),
            ..Selection::default()
        };
        assertions()
            .into_iter()
            .filter(|assertion| selection.takes(assertion))
            .map(|assertion| assertion.id)
            .collect()
    }

    #[test]
    fn an_area_stands_for_all_of_it() {
        let marker = taken(&["marker"], &["marker/kept"]);
        assert!(marker.contains(&"marker/not-in-parameters"), "{marker:?}");
        assert!(!marker.contains(&"marker/kept"), "{marker:?}");
        assert!(marker.iter().all(|id| id.starts_with("marker/")), "{marker:?}");
        assert_eq!(taken(&["marker/"], &[]), taken(&["marker"], &[]));
        assert_eq!(taken(&["mark"], &[]), Vec::<&str>::new());
        assert_eq!(taken(&[], &[]).len(), assertions().len());
    }
}
