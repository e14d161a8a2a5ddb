//! What becomes of the mark of a used object. Each usage adds and removes its own uid by a write that is guarded by the object's version, so that the
//! last one takes the label off, whatever happens in between.

use std::collections::BTreeSet;

use super::{mark::Mark, view::UsageView};
use crate::rule::Rule;

/// With this usage as well. `usages`: all that are known of those that hold it.
pub(super) fn joined(mark: &Mark, uid: &str, usages: &[UsageView]) -> Mark {
    let mut held_by = mark.held_by.clone();
    held_by.insert(uid.to_owned());
    Mark {
        label: true,
        text: Some(text(&held_by, usages)),
        held_by,
        let_go_by: None,
    }
}

/// Without this usage, and without those that are known to be gone. `others`: those that protect the object beside it.
pub(super) fn left(mark: &Mark, uid: &str, gone: &BTreeSet<String>, others: &[UsageView]) -> Mark {
    let is_left = |one: &String| one != uid && !gone.contains(one);
    let held_by: BTreeSet<String> = mark.held_by.iter().filter(|one| is_left(one)).cloned().collect();
    // Others that are about to hold it, such as those that Crossplane made. One without a finalizer may go, and take nothing off.
    let is_about_to = |other: &UsageView| !other.is_deleting && other.has_finalizer;
    let is_held = !held_by.is_empty() || others.iter().any(is_about_to);
    if !is_held || Rule::LabelOutlivesOtherUsages.is_off() {
        return Mark::default();
    }
    Mark {
        label: mark.label,
        text: Some(text(&held_by, others)).filter(|text| !text.is_empty()),
        held_by,
        let_go_by: None,
    }
}

/// The first of the usages, and how many more there are.
fn text(held_by: &BTreeSet<String>, usages: &[UsageView]) -> String {
    let mut known: Vec<&UsageView> = usages
        .iter()
        .filter(|usage| held_by.contains(&usage.uid))
        .collect();
    known.sort_by(|a, b| a.title.cmp(&b.title));
    let first = known.first().map_or_else(String::new, |first| first.text());
    match held_by.len() {
        0 | 1 => first,
        all => format!("{first} (and {} more)", all - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protection::sample;

    fn view(uid: &str, is_deleting: bool) -> UsageView {
        UsageView {
            uid: uid.to_owned(),
            title: format!("Usage {uid}"),
            details: "why".to_owned(),
            created: None,
            controller: None,
            is_deleting,
            has_finalizer: true,
            of: None,
            by: None,
        }
    }

    fn marked(uids: &[&str]) -> Mark {
        uids.iter().fold(Mark::default(), |mark, uid| {
            joined(&mark, uid, &[view("a", false), view("b", false)])
        })
    }

    #[test]
    fn the_first_usage_is_named_and_the_others_are_counted() {
        assert_eq!(marked(&["a"]).text.as_deref(), Some("Usage a: why"));
        assert_eq!(
            marked(&["b", "a"]).text.as_deref(),
            Some("Usage a: why (and 1 more)")
        );
    }

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        for mark in [Mark::default(), marked(&["a"]), marked(&["a", "b"])] {
            let mut object = sample::object("Db", "db");
            object.object_mut()["metadata"]["labels"] = mark.patch()["metadata"]["labels"].clone();
            object.object_mut()["metadata"]["annotations"] = mark.patch()["metadata"]["annotations"].clone();
            assert_eq!(Mark::of(&object), mark);
        }
    }

    #[test]
    fn the_label_goes_with_the_last_usage() {
        let none = BTreeSet::new();
        assert_eq!(left(&marked(&["a"]), "a", &none, &[]), Mark::default());
        let rest = left(&marked(&["a", "b"]), "a", &none, &[view("b", true)]);
        assert_eq!((rest.label, rest.text.as_deref()), (true, Some("Usage b: why")));
        // One that is known to be gone holds nothing; one of which nothing is known does.
        let gone = BTreeSet::from(["b".to_owned()]);
        assert_eq!(left(&marked(&["a", "b"]), "a", &gone, &[]), Mark::default());
        assert!(left(&marked(&["a", "b"]), "a", &none, &[]).label);
        // One that is about to hold it does, unless it goes, too.
        assert!(left(&marked(&["a"]), "a", &none, &[view("b", false)]).label);
        assert!(!left(&marked(&["a"]), "a", &none, &[view("b", true)]).label);
        let new = UsageView {
            has_finalizer: false,
            ..view("b", false)
        };
        assert!(!left(&marked(&["a"]), "a", &none, &[new]).label);
    }
}
