//! Which points a run hit, and which too seldom to prove anything of them.

use std::{collections::BTreeMap, fmt::Display};

use fake_cloud::{
    kinds::{Pace, Subject},
    types::{CreateRecovery, NameSource},
};

use crate::case::{Case, Sort, Victim};

/// A tenth of all cases may miss their point, and a fifth of those of one point and victim: on a busy machine a life takes another turn than
/// the recorded one, and what depends on time, a poll or the answer to a call, does so more often than the rest, and many at once.
const MISSED_OF_ALL: usize = 10;
const MISSED_OF_A_GROUP: usize = 5;
/// So many may do so however few there are.
const MISSED_OF_FEW: usize = 4;

/// How often each point was to be hit, and was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hits {
    groups: BTreeMap<(String, Victim), Count>,
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
        self.cases - self.hit > MISSED_OF_FEW.max(self.cases / so_many)
    }

    fn is_never_hit(self) -> bool {
        self.cases > MISSED_OF_FEW && self.hit == 0
    }

    fn told(self, of: impl Display) -> String {
        format!("{of}: {} of {}", self.hit, self.cases)
    }
}

impl Hits {
    /// One case more.
    pub fn add(&mut self, case: &Case, hit: bool) {
        let point = without_number(&case.point).to_owned();
        let count = self.groups.entry((point, case.victim)).or_default();
        count.cases += 1;
        count.hit += usize::from(hit);
    }

    /// What was missed too often, in words; empty: the run proves something of all that it was about.
    ///
    /// A part has a handful of cases of each point and victim, often one or two: there a miss is chance, and five of five are none. What is too
    /// small for that is judged over all victims of a point. In the whole every point has enough under each victim.
    pub fn too_few(&self) -> Vec<String> {
        let mut too_few = Vec::new();
        let all = Count::of(self.groups.values().copied());
        if all.misses_more_than_one_of(MISSED_OF_ALL) {
            too_few.push(all.told("all points"));
        }
        let mut points: BTreeMap<&str, Vec<Count>> = BTreeMap::new();
        for ((point, victim), count) in &self.groups {
            points.entry(point).or_default().push(*count);
            if count.misses_more_than_one_of(MISSED_OF_A_GROUP) {
                too_few.push(count.told(format_args!("{point} {victim:?}")));
            }
        }
        for (point, counts) in points {
            let count = Count::of(counts);
            if count.is_never_hit() {
                too_few.push(count.told(point));
            }
        }
        too_few
    }
}

fn without_number(point: &str) -> &str {
    point.split_once('#').map_or(point, |(name, _)| name)
}

/// A step before and after which an undisturbed life halts, and whose life that is.
type Step = (&'static str, &'static str, fn(&Sort, &Subject) -> bool);

/// Every step that docs/reliability.md tells of. A point that the bridge lost would take its cases with it, and nobody would miss them.
const STEPS: [Step; 18] = [
    ("create", "observe", |_, subject| can_look(subject)),
    ("create", "intent", |_, _| true),
    ("create", "create", |_, _| true),
    ("create", "persist", |_, subject| {
        subject.cloud_named() || is_long(subject.manners.create)
    }),
    ("create", "poll", |_, subject| is_long(subject.manners.create)),
    ("create", "publish", |_, _| true),
    ("create", "status", |_, _| true),
    ("update", "observe", |sort, _| sort.may("Update")),
    ("update", "live read", |sort, _| sort.may("Update")),
    ("update", "update", |sort, _| sort.may("Update")),
    ("update", "poll", |sort, subject| {
        sort.may("Update") && is_long(subject.manners.update)
    }),
    ("update", "status", |sort, _| sort.may("Update")),
    ("delete", "observe", |sort, _| sort.may("Delete")),
    ("delete", "status", |sort, _| sort.may("Delete")),
    // Of a name that a successor may have.
    ("delete", "intent", |sort, subject| {
        sort.may("Delete") && !subject.cloud_named()
    }),
    ("delete", "delete", |sort, _| sort.may("Delete")),
    ("delete", "poll", |sort, subject| {
        sort.may("Delete") && is_long(subject.manners.delete)
    }),
    ("delete", "finalizer", |_, _| true),
];

fn is_long(pace: Pace) -> bool {
    pace != Pace::AtOnce
}

fn can_look(subject: &Subject) -> bool {
    subject.kind.external_name.source != NameSource::Provider || subject.recovers_by(CreateRecovery::Marker)
}

/// The points that an undisturbed life of this sort must come by, and did not.
pub fn lost(sort: &Sort, recorded: &[String]) -> Vec<String> {
    let Some(subject) = sort.subject() else {
        return vec![format!("{} is no kind of the cloud", sort.kind)];
    };
    let due = STEPS.iter().filter(|(_, _, whose)| whose(sort, subject));
    let points =
        due.flat_map(|(phase, step, _)| ["before", "after"].map(|side| format!("{phase}/{side} {step}#1")));
    points.filter(|point| !recorded.contains(point)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Phase;

    fn hits(groups: &[(&str, Victim, usize, usize)]) -> Hits {
        let (mut hits, sort) = (Hits::default(), Sort::all().remove(0));
        for (point, victim, hit, cases) in groups {
            for number in 0..*cases {
                let case = Case {
                    victim: *victim,
                    sort: sort.clone(),
                    phase: Phase::Create,
                    point: format!("{point}#{}", number % 2 + 1),
                };
                hits.add(&case, number < *hit);
            }
        }
        hits
    }

    const POINT: &str = "create/before persist";

    /// Enough others, so that the whole does not fail.
    const OTHERS: (&str, Victim, usize, usize) = ("create/before create", Victim::Both, 700, 700);

    #[test]
    fn a_fifth_of_a_group_may_be_missed_as_in_the_whole() {
        for (hit, cases, proves) in [
            (16, 20, true),
            (15, 20, false),
            (56, 70, true),
            (55, 70, false),
            (0, 70, false),
        ] {
            let too_few = hits(&[OTHERS, (POINT, Victim::Bridge, hit, cases)]).too_few();
            assert_eq!(too_few.is_empty(), proves, "{hit} of {cases}: {too_few:?}");
        }
    }

    /// On a busy machine three of four polls of one victim were missed in an honest part.
    #[test]
    fn of_few_four_may_be_missed_as_in_a_part_but_not_five() {
        for (hit, cases, proves) in [
            (0, 1, true),
            (0, 4, true),
            (0, 5, false),
            (1, 5, true),
            (4, 8, true),
            (3, 8, false),
        ] {
            let too_few = hits(&[OTHERS, (POINT, Victim::Bridge, hit, cases)]).too_few();
            assert_eq!(too_few.is_empty(), proves, "{hit} of {cases}: {too_few:?}");
        }
    }

    #[test]
    fn a_point_that_nothing_hits_any_more_shows_in_a_part_too() {
        let none = Victim::ALL.map(|victim| (POINT, victim, 0, 2));
        let too_few = hits(&[&[OTHERS], none.as_slice()].concat()).too_few();
        assert_eq!(too_few, [format!("{POINT}: 0 of 8")]);
        let one = (POINT, Victim::Bridge, 1, 2);
        assert!(hits(&[OTHERS, one, none[1], none[2]]).too_few().is_empty());
    }

    #[test]
    fn misses_that_are_scattered_are_added_up() {
        let points: Vec<String> = (0..10).map(|number| format!("create/before {number}")).collect();
        let groups: Vec<_> = points
            .iter()
            .map(|point| (point.as_str(), Victim::Both, 4, 5))
            .collect();
        assert_eq!(hits(&groups).too_few(), ["all points: 40 of 50"]);
    }

    #[test]
    fn a_point_that_the_bridge_lost_is_missed() {
        let sort = |kind: &str| Sort {
            kind: kind.to_owned(),
            policies: 0,
        };
        let due = lost(&sort("Table"), &[]);
        for point in [
            "create/before publish#1",
            "create/after poll#1",
            "delete/after finalizer#1",
        ] {
            assert!(due.iter().any(|one| one == point), "{point}");
        }
        // Nothing more is due of it.
        assert!(lost(&sort("Table"), &due).is_empty());
        assert_eq!(lost(&sort("Table"), &due[1..]), due[..1]);
        // A creation at once, under a name that is known, has nothing to persist, and a kind without recovery nothing to look at.
        for (kind, point) in [
            ("Named", "create/before persist#1"),
            ("Nothing", "create/before observe#1"),
        ] {
            assert!(!lost(&sort(kind), &[]).contains(&point.to_owned()), "{kind}");
        }
    }
}
