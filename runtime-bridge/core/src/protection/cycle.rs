//! Usages that form a cycle: no order of deletion pleases them all.

use std::collections::BTreeSet;

use super::view::{NamedObject, UsageView};

/// Usages that lead from what a usage is used by, each to the next, back to what it is used of; sorted by title, itself among them. Empty: there
/// is no cycle.
pub fn cycle<'a>(of: &'a UsageView, all: &'a [UsageView]) -> Vec<&'a UsageView> {
    let Some((start, end)) = of.by.as_ref().zip(of.of.as_ref()) else {
        return Vec::new();
    };
    let mut way = vec![of];
    if !follow(start, end, all, &mut way, &mut BTreeSet::from([of.uid.as_str()])) {
        return Vec::new();
    }
    way.sort_by(|a, b| a.title.cmp(&b.title));
    way
}

/// From one object on: what is used by it, and so on. `way` holds the usages gone over.
fn follow<'a>(
    from: &NamedObject,
    to: &NamedObject,
    all: &'a [UsageView],
    way: &mut Vec<&'a UsageView>,
    seen: &mut BTreeSet<&'a str>,
) -> bool {
    if is_same(from, to) {
        return true;
    }
    for usage in all {
        let is_next = usage.of.as_ref().is_some_and(|of| is_same(of, from));
        let Some(by) = usage.by.as_ref().filter(|_| is_next) else {
            continue;
        };
        if !seen.insert(&usage.uid) {
            continue;
        }
        way.push(usage);
        if follow(by, to, all, way, seen) {
            return true;
        }
        way.pop();
    }
    false
}

fn is_same(one: &NamedObject, other: &NamedObject) -> bool {
    match (&one.uid, &other.uid) {
        (Some(one), Some(other)) => one == other,
        _ => one.id == other.id,
    }
}

/// For messages; empty: there is no cycle.
pub fn describe(cycle: &[&UsageView]) -> String {
    let titles: Vec<&str> = cycle.iter().map(|usage| usage.title.as_str()).collect();
    titles.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protection::sample;

    fn usage(uid: &str, of: &str, by: &str) -> UsageView {
        let named = |name: &str| NamedObject {
            id: sample::reference("Db", name).id(None),
            uid: None,
        };
        UsageView {
            uid: uid.to_owned(),
            title: format!("Usage {uid}"),
            details: String::new(),
            created: None,
            controller: None,
            is_deleting: false,
            has_finalizer: true,
            of: Some(named(of)),
            by: Some(named(by)),
        }
    }

    fn found(of: &UsageView, all: &[UsageView]) -> String {
        describe(&cycle(of, all))
    }

    #[test]
    fn a_cycle_is_found_from_each_of_its_usages() {
        let all = [
            usage("3", "c", "a"),
            usage("1", "a", "b"),
            usage("2", "b", "c"),
            usage("4", "c", "d"),
        ];
        for one in &all[..3] {
            assert_eq!(found(one, &all), "Usage 1, Usage 2, Usage 3");
        }
        assert_eq!(found(&all[3], &all), "");
        assert_eq!(found(&usage("5", "x", "x"), &all), "Usage 5");
    }

    #[test]
    fn what_leads_into_a_cycle_is_none() {
        let all = [usage("1", "a", "b"), usage("2", "b", "a"), usage("3", "x", "a")];
        assert_eq!(found(&all[2], &all), "");
    }
}
