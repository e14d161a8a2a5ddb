//! What happened, and how often: a fault that is drawn and never comes proves nothing.

use std::{collections::BTreeMap, fmt::Debug};

use parking_lot::Mutex;

/// How often things happened, by name.
pub type Counts = BTreeMap<String, u64>;

/// What happened in one seed, counted by group and name.
#[derive(Default)]
pub(crate) struct Coverage(Mutex<Counts>);

impl Coverage {
    /// Counts `what`, of this group. What stands in brackets behind its name is a matter of degree.
    pub(crate) fn count(&self, group: &str, what: impl Debug) {
        let what = format!("{what:?}");
        let word = what.split(['(', ' ', '{']).next().unwrap_or_default();
        *self.0.lock().entry(format!("{group}: {word}")).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> Counts {
        self.0.lock().clone()
    }
}

/// Where a bridge was when it died.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KillPoint {
    BeforeWrite,
    AfterWrite,
    BeforeCall,
    /// The call is on its way, and takes effect later.
    AmidCall,
    AfterCall,
}

/// What a watch did with its news.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WatchFault {
    Late,
    Twice,
    Cut,
}

/// What else is to happen in some seeds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ScenarioFeature {
    TwoBridges,
    /// Two objects want one external object.
    Rivals,
    LeaseMoved,
    /// A person was asked.
    Answered,
}

/// What so many seeds come by: words, by group.
#[derive(Debug, Clone, Copy)]
pub(super) struct MustHappen {
    pub(super) in_seeds: usize,
    groups: &'static [(&'static str, &'static [&'static str])],
}

impl MustHappen {
    /// What of it did not happen.
    pub(super) fn missing(&self, counts: &Counts) -> Vec<String> {
        let groups = self.groups.iter();
        let names =
            groups.flat_map(|(group, words)| words.iter().map(move |word| format!("{group}: {word}")));
        names
            .filter(|name| counts.get(name).is_none_or(|count| *count == 0))
            .collect()
    }
}

const API: (&str, &[&str]) = (
    "api",
    &[
        "BreakAfter",
        "BreakBefore",
        "Conflict",
        "ErrorAfter",
        "Gone",
        "HangAfter",
        "HangBefore",
        "Invalid",
        "Late",
        "Stale",
        "Throttle",
        "Unavailable",
    ],
);
const WATCH: (&str, &[&str]) = ("watch", &["Cut", "Late", "Twice"]);

pub(super) const MANAGED_RESOURCES: MustHappen = MustHappen {
    in_seeds: 5_000,
    groups: &[
        API,
        WATCH,
        (
            "cloud",
            &[
                "CrashAfter",
                "CrashBefore",
                "Doom",
                "Hang",
                "Late",
                "Lie",
                "LoseAnswer",
                "Slow",
                "Status",
                "StatusAfter",
                "Throttle",
                "Unavailable",
                "UnavailableAfter",
            ],
        ),
        // What comes of what was done to the cloud.
        (
            "answer",
            &["AlreadyExists", "OperationExpired", "OperationFailed"],
        ),
        (
            "bridge dies",
            &["AfterCall", "AfterWrite", "AmidCall", "BeforeCall", "BeforeWrite"],
        ),
        ("and then", &["Delete", "Nothing", "Pause", "Resize"]),
        (
            "step",
            &[
                "ApiDown",
                "Apply",
                "CloudDown",
                "Compact",
                "CutWatches",
                "Delete",
                "Foreign",
                "ForgetOperations",
                "KillBridge",
                "KillBridgeAt",
                "KillOne",
                "KillPlugin",
                "Pause",
                "RemoveByHand",
                "Resize",
                "Rotate",
                "Spoil",
                "Stall",
                "TerminateBridge",
                "TerminateOne",
                "Unpause",
                "Usurp",
            ],
        ),
        ("world", &["Answered", "LeaseMoved", "Rivals", "TwoBridges"]),
    ],
};

pub(super) const COMPOSITIONS: MustHappen = MustHappen {
    in_seeds: 300,
    groups: &[
        API,
        WATCH,
        ("bridge dies", &["AfterWrite", "BeforeWrite"]),
        (
            "function",
            &[
                "Fatal",
                "Flapping",
                "Undecodable",
                "UnstableRequirements",
                "WithoutKind",
            ],
        ),
        (
            "step",
            &[
                "ApiDown",
                "Apply",
                "ChangeSetting",
                "CloudDown",
                "Compact",
                "Compose",
                "CutWatches",
                "Define",
                "Delete",
                "DeleteComposed",
                "DeleteDefinition",
                "DeleteSetting",
                "EditDefinition",
                "FailFunction",
                "HangFunction",
                "Hold",
                "KillBridge",
                "KillBridgeAt",
                "KillFunction",
                "KillOne",
                "KillPlugin",
                "Meddle",
                "Pause",
                "Release",
                "Resize",
                "Stall",
                "Standalone",
                "TerminateBridge",
                "TerminateOne",
                "Unpause",
            ],
        ),
        ("usage", &["BulkDelete", "Create", "Delete", "Hold", "LetGo"]),
        (
            "world",
            &[
                "Managed",
                "Nested",
                "NoCollector",
                "Releases",
                "Secrets",
                "Settings",
                "ShortDeadline",
                "Standalone",
                "Ttl",
                "TwoBridges",
                "VanishingParents",
            ],
        ),
    ],
};

#[cfg(test)]
mod tests {
    use super::{COMPOSITIONS, Counts, Coverage, MANAGED_RESOURCES, MustHappen};

    #[derive(Debug)]
    #[allow(dead_code, reason = "they are printed")]
    enum Fault {
        Late(u32),
        Hang,
    }

    #[test]
    fn counts_are_keyed_by_name() {
        let coverage = Coverage::default();
        coverage.count("cloud", Fault::Late(3));
        coverage.count("cloud", Fault::Late(700));
        coverage.count("cloud", Fault::Hang);
        let counts: Vec<(String, u64)> = coverage.counts().into_iter().collect();
        assert_eq!(
            counts,
            [("cloud: Hang".to_owned(), 1), ("cloud: Late".to_owned(), 2)]
        );
    }

    #[test]
    fn events_that_never_happened_are_reported() {
        let all = |must: &MustHappen| -> Counts {
            let names = must.missing(&Counts::new()).into_iter();
            names.map(|name| (name, 1)).collect()
        };
        for must in [MANAGED_RESOURCES, COMPOSITIONS] {
            let all = all(&must);
            assert!(all.len() > 30 && must.missing(&all).is_empty());
        }
        let mut some = all(&MANAGED_RESOURCES);
        some.insert("cloud: Doom".to_owned(), 0);
        some.remove("step: Usurp");
        assert_eq!(MANAGED_RESOURCES.missing(&some), ["cloud: Doom", "step: Usurp"]);
    }
}
