//! Which points a run hit, and which too seldom to prove anything of them.

use std::{collections::BTreeMap, fmt::Display};

use fake_cloud::{
    kinds::{Pace, Subject},
    types::{CreateRecovery, NameSource},
};

use crate::case::{Case, KillTarget, Variant};

/// A tenth of all cases may miss their point, and a fifth of those of one point and kill target: on a busy machine a lifecycle differs from
/// the recorded one, and what depends on time, a poll or the answer to a call, does so more often than the rest, and many at once.
const MISSED_SHARE_OF_ALL: usize = 10;
const MISSED_SHARE_OF_GROUP: usize = 5;
/// So many may do so however few there are.
const MISSED_LIMIT_OF_FEW: usize = 4;

/// How often each point was to be hit, and was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    groups: BTreeMap<(String, KillTarget), Count>,
}

/// Of one group of cases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    cases: usize,
    hit: usize,
}

impl Count {
    fn of(counts: impl IntoIterator<Item = Self>) -> Self {
        counts.into_iter().fold(Self::default(), |all, one| Self {
            cases: all.cases + one.cases,
            hit: all.hit + one.hit,
        })
    }

    /// More than one of so many.
    fn misses_more_than_one_of(self, so_many: usize) -> bool {
        self.cases - self.hit > MISSED_LIMIT_OF_FEW.max(self.cases / so_many)
    }

    fn is_never_hit(self) -> bool {
        self.cases > MISSED_LIMIT_OF_FEW && self.hit == 0
    }

    fn describe(self, of: impl Display) -> String {
        format!("{of}: {} of {}", self.hit, self.cases)
    }
}

impl Coverage {
    /// Counts one case; `hit`: the kill came at its point.
    pub fn add(&mut self, case: &Case, hit: bool) {
        let point = without_number(&case.point).to_owned();
        let count = self.groups.entry((point, case.target)).or_default();
        count.cases += 1;
        count.hit += usize::from(hit);
    }

    /// What was missed too often, in words; empty: the run proves something of all that it was about.
    ///
    /// A part has a handful of cases of each point and kill target, often one or two: there a miss is chance, and five of five are none.
    /// What is too small for that is judged over all kill targets of a point. In the whole every point has enough under each kill target.
    pub fn too_few(&self) -> Vec<String> {
        let mut too_few = Vec::new();
        let all = Count::of(self.groups.values().copied());
        if all.misses_more_than_one_of(MISSED_SHARE_OF_ALL) {
            too_few.push(all.describe("all points"));
        }
        let mut points: BTreeMap<&str, Vec<Count>> = BTreeMap::new();
        for ((point, target), count) in &self.groups {
            points.entry(point).or_default().push(*count);
            if count.misses_more_than_one_of(MISSED_SHARE_OF_GROUP) {
                too_few.push(count.describe(format_args!("{point} {target:?}")));
            }
        }
        for (point, counts) in points {
            let count = Count::of(counts);
            if count.is_never_hit() {
                too_few.push(count.describe(point));
            }
        }
        too_few
    }
}

fn without_number(point: &str) -> &str {
    point.split_once('#').map_or(point, |(name, _)| name)
}

/// A step before and after which an undisturbed life halts, and whose life that is.
type Step = (&'static str, &'static str, fn(&Variant, &Subject) -> bool);

/// Every step that docs/reliability.md lists. A point that the bridge lost would take its cases with it, and nothing else would fail.
const STEPS: [Step; 18] = [
    ("create", "observe", |_, subject| can_observe(subject)),
    ("create", "intent", |_, _| true),
    ("create", "create", |_, _| true),
    ("create", "persist", |_, subject| {
        subject.cloud_named() || is_long(subject.manners.create)
    }),
    ("create", "poll", |_, subject| is_long(subject.manners.create)),
    ("create", "publish", |_, _| true),
    ("create", "status", |_, _| true),
    ("update", "observe", |variant, _| variant.may("Update")),
    ("update", "live read", |variant, _| variant.may("Update")),
    ("update", "update", |variant, _| variant.may("Update")),
    ("update", "poll", |variant, subject| {
        variant.may("Update") && is_long(subject.manners.update)
    }),
    ("update", "status", |variant, _| variant.may("Update")),
    ("delete", "observe", |variant, _| variant.may("Delete")),
    ("delete", "status", |variant, _| variant.may("Delete")),
    // Of a name that a successor may have, where each poll is a call: the first Delete is recorded with the status.
    ("delete", "intent", |variant, subject| {
        variant.may("Delete") && !subject.cloud_named() && subject.manners.delete == Pace::Driven
    }),
    ("delete", "delete", |variant, _| variant.may("Delete")),
    ("delete", "poll", |variant, subject| {
        variant.may("Delete") && is_long(subject.manners.delete)
    }),
    ("delete", "finalizer", |_, _| true),
];

fn is_long(pace: Pace) -> bool {
    pace != Pace::AtOnce
}

fn can_observe(subject: &Subject) -> bool {
    subject.kind.external_name.source != NameSource::Provider || subject.recovers_by(CreateRecovery::Marker)
}

/// The points that an undisturbed lifecycle of this variant must come by, and did not.
pub fn lost(variant: &Variant, recorded: &[String]) -> Vec<String> {
    let Some(subject) = variant.subject() else {
        return vec![format!("{} is no kind of the cloud", variant.kind)];
    };
    let due = STEPS.iter().filter(|(_, _, whose)| whose(variant, subject));
    let points =
        due.flat_map(|(phase, step, _)| ["before", "after"].map(|side| format!("{phase}/{side} {step}#1")));
    points.filter(|point| !recorded.contains(point)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Phase;

    fn coverage(groups: &[(&str, KillTarget, usize, usize)]) -> Coverage {
        let (mut coverage, variant) = (Coverage::default(), Variant::all().remove(0));
        for (point, target, hit, cases) in groups {
            for number in 0..*cases {
                let case = Case {
                    target: *target,
                    variant: variant.clone(),
                    phase: Phase::Create,
                    point: format!("{point}#{}", number % 2 + 1),
                };
                coverage.add(&case, number < *hit);
            }
        }
        coverage
    }

    const POINT: &str = "create/before persist";

    /// Enough others, so that the whole does not fail.
    const OTHERS: (&str, KillTarget, usize, usize) = ("create/before create", KillTarget::Both, 700, 700);

    #[test]
    fn a_fifth_of_a_group_may_miss_its_point() {
        for (hit, cases, proves) in [
            (16, 20, true),
            (15, 20, false),
            (56, 70, true),
            (55, 70, false),
            (0, 70, false),
        ] {
            let too_few = coverage(&[OTHERS, (POINT, KillTarget::Bridge, hit, cases)]).too_few();
            assert_eq!(too_few.is_empty(), proves, "{hit} of {cases}: {too_few:?}");
        }
    }

    /// On a busy machine three of four polls of one kill target were missed in an honest part.
    #[test]
    fn at_most_four_of_a_small_group_may_miss() {
        for (hit, cases, proves) in [
            (0, 1, true),
            (0, 4, true),
            (0, 5, false),
            (1, 5, true),
            (4, 8, true),
            (3, 8, false),
        ] {
            let too_few = coverage(&[OTHERS, (POINT, KillTarget::Bridge, hit, cases)]).too_few();
            assert_eq!(too_few.is_empty(), proves, "{hit} of {cases}: {too_few:?}");
        }
    }

    #[test]
    fn a_point_never_hit_fails_even_a_part() {
        let none = KillTarget::ALL.map(|target| (POINT, target, 0, 2));
        let too_few = coverage(&[&[OTHERS], none.as_slice()].concat()).too_few();
        assert_eq!(too_few, [format!("{POINT}: 0 of 8")]);
        let one = (POINT, KillTarget::Bridge, 1, 2);
        assert!(coverage(&[OTHERS, one, none[1], none[2]]).too_few().is_empty());
    }

    #[test]
    fn scattered_misses_are_summed() {
        let points: Vec<String> = (0..10).map(|number| format!("create/before {number}")).collect();
        let groups: Vec<_> = points
            .iter()
            .map(|point| (point.as_str(), KillTarget::Both, 4, 5))
            .collect();
        assert_eq!(coverage(&groups).too_few(), ["all points: 40 of 50"]);
    }

    #[test]
    fn a_failpoint_removed_from_the_bridge_is_reported() {
        let variant = |kind: &str| Variant {
            kind: kind.to_owned(),
            policies: 0,
        };
        let due = lost(&variant("Table"), &[]);
        for point in [
            "create/before publish#1",
            "create/after poll#1",
            "delete/after finalizer#1",
        ] {
            assert!(due.iter().any(|one| one == point), "{point}");
        }
        // Nothing more is due of it.
        assert!(lost(&variant("Table"), &due).is_empty());
        assert_eq!(lost(&variant("Table"), &due[1..]), due[..1]);
        // A creation at once, under a name that is known, has nothing to persist, and a kind without recovery nothing to observe.
        for (kind, point) in [
            ("Named", "create/before persist#1"),
            ("Nothing", "create/before observe#1"),
        ] {
            assert!(!lost(&variant(kind), &[]).contains(&point.to_owned()), "{kind}");
        }
    }
}
