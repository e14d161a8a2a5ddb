//! What of the kit is run.

use std::fmt;

use serde::Serialize;

use crate::{
    assertion::{Assertion, Level},
    suites::assertions,
};

/// Which assertions are judged.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Selection {
    /// Ids, or beginnings of ids; empty: all.
    pub only: Vec<String>,
    /// Likewise; they are shown as skipped.
    pub skip: Vec<String>,
    /// Levels to judge; empty: all.
    pub levels: Vec<Level>,
    /// Kinds to judge, by name; empty: all.
    pub kinds: Vec<String>,
    /// Ends after the first suite in which a rule fails.
    pub fail_fast: bool,
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

/// The flags that choose it; empty: everything.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let levels: Vec<String> = self
            .levels
            .iter()
            .map(|level| level.to_string().to_lowercase())
            .collect();
        let mut flags: Vec<String> = [
            ("only", &self.only),
            ("skip", &self.skip),
            ("level", &levels),
            ("kind", &self.kinds),
        ]
        .iter()
        .filter(|(_, chosen)| !chosen.is_empty())
        .map(|(flag, chosen)| format!("--{flag} {}", chosen.join(",")))
        .collect();
        if self.fail_fast {
            flags.push("--fail-fast".to_owned());
        }
        f.write_str(&flags.join(" "))
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
    fn a_selection_is_displayed_as_its_flags() {
        let chosen = Selection {
            only: vec!["create".to_owned(), "delete".to_owned()],
            levels: vec![Level::Core],
            kinds: vec!["Note".to_owned()],
            fail_fast: true,
            ..Selection::default()
        };
        assert_eq!(
            chosen.to_string(),
            "--only create,delete --level core --kind Note --fail-fast"
        );
        assert_eq!(Selection::default().to_string(), "");
    }

    #[test]
    fn an_area_selects_all_its_assertions() {
        let marker = taken(&["marker"], &["marker/kept"]);
        assert!(marker.contains(&"marker/not-in-parameters"), "{marker:?}");
        assert!(!marker.contains(&"marker/kept"), "{marker:?}");
        assert!(marker.iter().all(|id| id.starts_with("marker/")), "{marker:?}");
        assert_eq!(taken(&["marker/"], &[]), taken(&["marker"], &[]));
        assert_eq!(taken(&["mark"], &[]), Vec::<&str>::new());
        assert_eq!(taken(&[], &[]).len(), assertions().len());
    }
}
