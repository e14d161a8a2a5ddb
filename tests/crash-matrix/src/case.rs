//! One case of the matrix: an object of a kind under a set of policies, where it is hit, and who is killed.

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use fake_cloud::{
    fault::{FaultOutcome, Rpc},
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
pub struct Variant {
    /// A kind of the fake cloud.
    pub kind: String,
    /// A row of [`CREATING_POLICIES`].
    pub policies: usize,
}

/// What a user does to an object, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The object is applied and becomes ready.
    Create,
    /// The object's spec changes.
    Update,
    /// The object is deleted.
    Delete,
}

/// The process that is killed or paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum KillTarget {
    /// The bridge, and nothing else.
    Bridge,
    /// The plugin; the bridge goes on while it is dead.
    Plugin,
    /// Bridge and plugin at once.
    Both,
    /// None: the leader is paused (SIGSTOP) until its standby leads, and then resumed.
    Leader,
}

/// One point of one variant, and the process that is killed there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Case {
    /// The process that is killed or paused.
    pub target: KillTarget,
    /// The kind of its object, and the policies that it has.
    pub variant: Variant,
    /// The phase in which the kill comes.
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
        Self::ALL.into_iter().find(|phase| phase.name() == word)
    }

    /// The word that names of points begin with.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// The cloud hangs in the middle of a call: before its effect, or after it.
pub const HANG_POINTS: [(&str, FaultOutcome); 2] = [
    ("before its effect", FaultOutcome::Hang),
    ("after its effect", FaultOutcome::LoseAnswer),
];

impl Case {
    /// Where the plugin dies in the middle of a call: which call hangs, and how. `None`: the bridge halts at a point of its own.
    pub fn mid_call(&self) -> Option<(Rpc, FaultOutcome)> {
        let (_, what) = self.point.split_once("/amid ")?;
        let (call, how) = what.split_once(' ')?;
        let rpc = match call {
            "create" => Rpc::Create,
            "update" => Rpc::Update,
            "delete" => Rpc::Delete,
            "poll" => Rpc::Poll,
            _ => return None,
        };
        let (_, fate) = HANG_POINTS.into_iter().find(|(name, _)| *name == how)?;
        Some((rpc, fate))
    }

    /// Only a question is left: a Create was recorded, its outcome was lost with its process, and the kind can be neither observed without a name nor repeated.
    pub fn must_ask(&self) -> bool {
        let answer_died = match self.target {
            KillTarget::Bridge | KillTarget::Both => UNANSWERED_POINTS.contains(&self.point.as_str()),
            KillTarget::Plugin => matches!(self.mid_call(), Some((Rpc::Create, _))),
            // It may wake in time to write what it knows.
            KillTarget::Leader => false,
        };
        answer_died && self.variant.may_ask()
    }
}

/// Points at which only the bridge's memory holds the answer to a Create, or that there is none: its successor cannot know that nothing was sent.
const UNANSWERED_POINTS: [&str; 4] = [
    "create/after intent#1",
    "create/before create#1",
    "create/after create#1",
    "create/before persist#1",
];

impl KillTarget {
    /// All targets, in the order of the report.
    pub const ALL: [Self; 4] = [Self::Bridge, Self::Plugin, Self::Both, Self::Leader];
}

impl Variant {
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

    /// The names of the management policies.
    pub fn policies(&self) -> &'static [&'static str] {
        CREATING_POLICIES[self.policies]
    }

    /// Of the fake cloud; `None`: it has no such kind.
    pub fn subject(&self) -> Option<&'static Subject> {
        KINDS.get(&self.kind)
    }

    /// A person may be asked what became of a creation: only where no one can search for it, or repeat it. Tokens are kept for ever here.
    pub fn may_ask(&self) -> bool {
        self.subject()
            .is_some_and(|subject| subject.kind.capabilities.create_recovery.is_empty())
    }

    /// The policies include this verb.
    pub fn may(&self, verb: &str) -> bool {
        self.policies().iter().any(|one| *one == "*" || *one == verb)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.kind, self.policies().join(","))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.variant, self.point, self.target)
    }
}

/// The part of the matrix that one run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The number of the part, from 0.
    pub part: u64,
    /// The number of parts.
    pub of: u64,
}

impl Part {
    /// The one part that contains every case.
    pub const WHOLE: Self = Self { part: 0, of: 1 };

    /// Whether the case belongs to it: by its name alone, so that all parts together are the whole.
    pub fn contains(self, case: &Case) -> bool {
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
        for variant in Variant::all() {
            for target in KillTarget::ALL {
                for point in points {
                    cases.push(Case {
                        target,
                        variant: variant.clone(),
                        phase: Phase::of(point).unwrap(),
                        point: point.to_owned(),
                    });
                }
            }
        }
        cases
    }

    #[test]
    fn parts_cover_the_matrix_evenly() {
        let cases = some();
        let mut taken = 0;
        for part in 0..7 {
            let part = Part { part, of: 7 };
            let count = cases.iter().filter(|case| part.contains(case)).count();
            assert!(count > cases.len() / 14, "{part:?}: {count} of {}", cases.len());
            taken += count;
        }
        assert_eq!(taken, cases.len());
    }

    fn case(kind: &str, point: &str, target: KillTarget) -> Case {
        Case {
            target,
            variant: Variant {
                kind: kind.to_owned(),
                policies: 0,
            },
            phase: Phase::of(point).unwrap(),
            point: point.to_owned(),
        }
    }

    #[test]
    fn kinds_without_recovery_may_ask_a_person() {
        let mut may = Variant::all();
        may.retain(|variant| variant.policies == 0 && variant.may_ask());
        let kinds: Vec<&str> = may.iter().map(|variant| variant.kind.as_str()).collect();
        assert_eq!(kinds, ["Nothing", "LongNothing"]);
    }

    #[test]
    fn a_question_is_required_where_the_answer_was_lost() {
        let must = |point: &str, target| case("Nothing", point, target).must_ask();
        for point in UNANSWERED_POINTS {
            assert!(
                must(point, KillTarget::Bridge) && must(point, KillTarget::Both),
                "{point}"
            );
            // The bridge lives and has the answer, or wakes with it.
            assert!(
                !must(point, KillTarget::Plugin) && !must(point, KillTarget::Leader),
                "{point}"
            );
            for kind in ["Named", "Token", "Marked", "Cluster"] {
                assert!(!case(kind, point, KillTarget::Both).must_ask(), "{kind} {point}");
            }
        }
        for (how, _) in HANG_POINTS {
            assert!(
                must(&format!("create/amid create {how}"), KillTarget::Plugin),
                "{how}"
            );
            assert!(
                !must(&format!("create/amid poll {how}"), KillTarget::Plugin),
                "{how}"
            );
        }
        // No one can know there whether it was sent, or everything is stored.
        for point in [
            "create/before intent#1",
            "create/before persist#2",
            "create/after persist#1",
        ] {
            assert!(!must(point, KillTarget::Both), "{point}");
        }
    }

    #[test]
    fn a_case_displays_all_its_fields() {
        let case = &some()[0];
        assert_eq!(case.to_string(), "Named [*] create/before intent#1 Bridge");
    }
}
