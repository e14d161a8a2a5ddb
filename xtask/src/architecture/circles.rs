//! Circles: modules that import each other, directly or by way of others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::modules::Imports;

/// Modules of which each is reached from each.
pub(super) type Circle = BTreeSet<String>;

/// All of them; those that share a module are one.
pub(super) fn circles(imports: &Imports) -> Vec<Circle> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|from| (from.as_str(), reached_from(imports, from)))
        .collect();
    let mut circles: Vec<Circle> = Vec::new();
    for (from, to) in &reached {
        if to.contains(from) && !circles.iter().any(|circle| circle.contains(*from)) {
            let both_ways = to.iter().filter(|other| reached[**other].contains(from));
            circles.push(both_ways.map(|other| (*other).to_owned()).collect());
        }
    }
    circles
}

fn reached_from<'a>(imports: &'a Imports, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut due: Vec<&str> = imports[from].keys().map(String::as_str).collect();
    while let Some(next) = due.pop() {
        if reached.insert(next) {
            due.extend(imports[next].keys().map(String::as_str));
        }
    }
    reached
}

/// A shortest way round, with the line of each import.
pub(super) fn way_round(imports: &Imports, circle: &Circle) -> String {
    let ways = circle.iter().filter_map(|start| shortest(imports, start));
    let way = ways.min_by_key(Vec::len).unwrap_or_default();
    let steps = way.windows(2).map(|step| {
        let line = imports[step[0]][step[1]];
        format!("    {} imports {} (line {line})\n", step[0], step[1])
    });
    steps.collect()
}

fn shortest<'a>(imports: &'a Imports, start: &'a str) -> Option<Vec<&'a str>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut due = VecDeque::from([start]);
    while let Some(at) = due.pop_front() {
        for next in imports[at].keys().map(String::as_str) {
            if next == start {
                let mut way = vec![start, at];
                while let Some(before) = way
                    .last()
                    .filter(|last| **last != start)
                    .and_then(|last| came_from.get(last))
                {
                    way.push(before);
                }
                way.reverse();
                return Some(way);
            }
            if !came_from.contains_key(next) {
                came_from.insert(next, at);
                due.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(of: &[(&str, &[&str])]) -> Imports {
        of.iter()
            .map(|(from, to)| {
                (
                    (*from).to_owned(),
                    to.iter().map(|to| ((*to).to_owned(), 7)).collect(),
                )
            })
            .collect()
    }

    #[test]
    fn a_circle_is_found_with_its_shortest_way_round() {
        let imports = imports(&[
            ("a", &["b"]),
            ("b", &["c", "d"]),
            ("c", &["a"]),
            ("d", &["b"]),
            ("e", &["a"]),
        ]);
        let found = circles(&imports);
        assert_eq!(found, [["a", "b", "c", "d"].map(str::to_owned).into()]);
        assert_eq!(
            way_round(&imports, &found[0]),
            "    b imports d (line 7)\n    d imports b (line 7)\n"
        );
    }

    #[test]
    fn a_tree_has_no_circle() {
        assert!(circles(&imports(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])).is_empty());
    }
}
