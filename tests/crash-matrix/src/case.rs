//! One case of the matrix: an object of a kind under a set of policies, where it is hit, and who is killed.

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use fake_cloud::{
    fault::{Fate, Rpc},
    kinds::{self, Subject},
};
use serde::Serialize;

/// The sets of `managementPolicies` that include Create, of the fifteen that crossplane-runtime accepts.
pub const CREATING_POLICIES: [&[&str]; 9] = [
    &["*"],
    &["Observe", "Create", "Update", "LateInitialize", "Delete"],
    &["Observe", "Create", "Update", "Delete"],
    &["Observe", "Create", "Update", "LateInitialize"],
    &["Observe", "Create", "Update"],
    &["Observe", "Create", "Delete", "LateInitialize"],
    &["Observe", "Create", "LateInitialize"],
    &["Observe", "Create", "Delete"],
    &["Observe", "Create"],
];

static KINDS: LazyLock<BTreeMap<String, Subject>> = LazyLock::new(|| {
    let all = kinds::all().into_iter();
    all.map(|subject| (subject.name().to_owned(), subject)).collect()
});

/// What an object is, apart from its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sort {
    /// Of the fake cloud.
    pub kind: String,
    /// A row of [`CREATING_POLICIES`].
    pub policies: usize,
}

/// What a user does to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Makes it.
    Create,
    /// Changes its spec.
    Update,
    /// Deletes it.
    Delete,
}

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Victim {
    /// The bridge.
    Bridge,
    /// The plugin; the bridge goes on while it is dead.
    Plugin,
    /// Both at once.
    Both,
    /// Nobody: the leader is stopped (SIGSTOP) until its standby leads, and wakes in the middle of what it did.
    Leader,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// Who is killed.
    pub victim: Victim,
    /// Of what.
    pub sort: Sort,
    /// While what.
    pub phase: Phase,
    /// Where, as the bridge names it: `create/before intent#1`.
    pub point: String,
}

impl Phase {
    /// In the order of a life.
    pub const ALL: [Self; 3] = [Self::Create, Self::Update, Self::Delete];

    /// That of a point.
    pub fn of(point: &str) -> Option<Self> {
        let word = point.split('/').next()?;
        Self::ALL.into_iter().find(|phase| phase.word() == word)
    }

    /// As points begin.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// The cloud hangs in the middle of a call: before its effect, or after it.
pub const HANGS: [(&str, Fate); 2] = [
    ("before its effect", Fate::Hang),
    ("after its effect", Fate::LoseAnswer),
];

impl Case {
    /// Where the plugin dies in the middle of a call: which call hangs, and how. `None`: the bridge halts at a point of its own.
    pub fn amid(&self) -> Option<(Rpc, Fate)> {
        let (_, what) = self.point.split_once("/amid ")?;
        let (call, how) = what.split_once(' ')?;
        let rpc = match call {
            "create" => Rpc::Create,
            "update" => Rpc::Update,
            "delete" => Rpc::Delete,
            "poll" => Rpc::Poll,
            _ => return None,
        };
        let (_, fate) = HANGS.into_iter().find(|(name, _)| *name == how)?;
        Some((rpc, fate))
    }

    /// Nothing but a question is left: a Create was recorded, what became of it died with whoever had it, and nobody can look or repeat.
    pub fn must_ask(&self) -> bool {
        let answer_died = match self.victim {
            Victim::Bridge | Victim::Both => UNANSWERED.contains(&self.point.as_str()),
            Victim::Plugin => matches!(self.amid(), Some((Rpc::Create, _))),
            // It may wake in time to write what it knows.
            Victim::Leader => false,
        };
        answer_died && self.sort.may_ask()
    }
}

/// Where the bridge alone knows the answer to a Create, or that it has none: whoever comes after it cannot know that nothing was sent.
const UNANSWERED: [&str; 4] = [
    "create/after intent#1",
    "create/before create#1",
    "create/after create#1",
    "create/before persist#1",
];

impl Victim {
    /// All.
    pub const ALL: [Self; 4] = [Self::Bridge, Self::Plugin, Self::Both, Self::Leader];
}

impl Sort {
    /// Every kind under every set of policies.
    pub fn all() -> Vec<Self> {
        let sorts = kinds::all().into_iter().flat_map(|subject| {
            (0..CREATING_POLICIES.len()).map(move |policies| Self {
                kind: subject.name().to_owned(),
                policies,
            })
        });
        sorts.collect()
    }

    /// The policies themselves.
    pub fn policies(&self) -> &'static [&'static str] {
        CREATING_POLICIES[self.policies]
    }

    /// Of the fake cloud; `None`: it has no such kind.
    pub fn subject(&self) -> Option<&'static Subject> {
        KINDS.get(&self.kind)
    }

    /// A person may be asked what became of a creation: only where nobody can look for it, or repeat it. Tokens are kept for ever here.
    pub fn may_ask(&self) -> bool {
        self.subject()
            .is_some_and(|subject| subject.kind.capabilities.create_recovery.is_empty())
    }

    /// The policies include this verb.
    pub fn may(&self, verb: &str) -> bool {
        self.policies().iter().any(|one| *one == "*" || *one == verb)
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.kind, self.policies().join(","))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.sort, self.point, self.victim)
    }
}

/// The part of the matrix that one run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Which, from 0.
    pub part: u64,
    /// Of how many.
    pub of: u64,
}

impl Part {
    /// All of it.
    pub const WHOLE: Self = Self { part: 0, of: 1 };

    /// Whether the case belongs to it: by its name alone, so that all parts make up the whole.
    pub fn takes(self, case: &Case) -> bool {
        fnv(&case.to_string()) % self.of == self.part
    }
}

/// FNV-1a: the same on every machine and in every release.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Vec<Case> {
        let points = [
            "create/before intent#1",
            "update/after status#1",
            "delete/before finalizer#1",
        ];
        let mut cases = Vec::new();
        for sort in Sort::all() {
            for victim in Victim::ALL {
                for point in points {
                    cases.push(Case {
                        victim,
                        sort: sort.clone(),
                        phase: Phase::of(point).unwrap(),
                        point: point.to_owned(),
                    });
                }
            }
        }
        cases
    }

    #[test]
    fn the_parts_make_up_the_whole_and_are_about_as_large() {
        let cases = some();
        let mut taken = 0;
        for part in 0..7 {
            let part = Part { part, of: 7 };
            let count = cases.iter().filter(|case| part.takes(case)).count();
            assert!(count > cases.len() / 14, "{part:?}: {count} of {}", cases.len());
            taken += count;
        }
        assert_eq!(taken, cases.len());
    }

    fn case(kind: &str, point: &str, victim: Victim) -> Case {
        Case {
            victim,
            sort: Sort {
                kind: kind.to_owned(),
                policies: 0,
            },
            phase: Phase::of(point).unwrap(),
            point: point.to_owned(),
        }
    }

    #[test]
    fn only_kinds_without_recovery_may_ask() {
        let mut may = Sort::all();
        may.retain(|sort| sort.policies == 0 && sort.may_ask());
        let kinds: Vec<&str> = may.iter().map(|sort| sort.kind.as_str()).collect();
        assert_eq!(kinds, ["Nothing", "LongNothing"]);
    }

    #[test]
    fn a_question_is_demanded_where_the_answer_died_and_nothing_else_helps() {
        let must = |point: &str, victim| case("Nothing", point, victim).must_ask();
        for point in UNANSWERED {
            assert!(
                must(point, Victim::Bridge) && must(point, Victim::Both),
                "{point}"
            );
            // The bridge lives and has the answer, or wakes with it.
            assert!(
                !must(point, Victim::Plugin) && !must(point, Victim::Leader),
                "{point}"
            );
            for kind in ["Named", "Token", "Marked", "Cluster"] {
                assert!(!case(kind, point, Victim::Both).must_ask(), "{kind} {point}");
            }
        }
        for (how, _) in HANGS {
            assert!(
                must(&format!("create/amid create {how}"), Victim::Plugin),
                "{how}"
            );
            assert!(!must(&format!("create/amid poll {how}"), Victim::Plugin), "{how}");
        }
        // Nobody can know there whether it was sent, or everything is stored.
        for point in [
            "create/before intent#1",
            "create/before persist#2",
            "create/after persist#1",
        ] {
            assert!(!must(point, Victim::Both), "{point}");
        }
    }

    #[test]
    fn a_case_says_all_of_itself() {
        let case = &some()[0];
        assert_eq!(case.to_string(), "Named [*] create/before intent#1 Bridge");
    }
}
