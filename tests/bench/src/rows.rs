//! What is measured of managed resources, in which unit, and what is to be reached.

/// What a figure of ours is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// For information.
    None,
    /// Ours by the peer's.
    RatioAtMost(f64),
    /// Ours by the peer's, of what is better the more it is.
    RatioAtLeast(f64),
    /// Ours alone.
    AtMost(f64),
    /// Ours alone, of what is better the more it is.
    AtLeast(f64),
    /// Ours alone, and ours by the peer's.
    BothAtMost(f64, f64),
}

impl Goal {
    /// `None`: there is no goal, or it is a ratio to what was not measured.
    pub fn is_met(self, ours: f64, ratio: Option<f64>) -> Option<bool> {
        match self {
            Self::None => None,
            Self::RatioAtMost(goal) => ratio.map(|ratio| ratio <= goal),
            Self::RatioAtLeast(goal) => ratio.map(|ratio| ratio >= goal),
            Self::AtMost(goal) => Some(ours <= goal),
            Self::AtLeast(goal) => Some(ours >= goal),
            Self::BothAtMost(goal, _) if ours > goal => Some(false),
            Self::BothAtMost(_, goal) => ratio.map(|ratio| ratio <= goal),
        }
    }
}

/// A line of the table: of a row that has many values in each run, one quantile of them.
#[derive(Debug, PartialEq)]
pub struct Line {
    /// In percent.
    pub quantile: usize,
    /// What this quantile is to be.
    pub goal: Goal,
}

/// What is measured.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// Unique.
    pub what: &'static str,
    /// Of the values.
    pub unit: &'static str,
    /// At least one.
    pub lines: &'static [Line],
}

impl Row {
    /// One value in each run.
    pub(crate) const fn one(what: &'static str, unit: &'static str, lines: &'static [Line; 1]) -> Self {
        Self { what, unit, lines }
    }
}

pub(crate) const fn whole(goal: Goal) -> [Line; 1] {
    [Line { quantile: 100, goal }]
}

pub(crate) const fn halves(p50: Goal, p99: Goal) -> [Line; 2] {
    [
        Line {
            quantile: 50,
            goal: p50,
        },
        Line {
            quantile: 99,
            goal: p99,
        },
    ]
}

pub(crate) const KNOWN: &[Line; 1] = &whole(Goal::None);
pub(crate) const NONE: &[Line; 1] = &whole(Goal::AtMost(0.0));

/// Of a kind that is named by the user.
pub static WRITES_NAMED: Row = Row::one("writes per life, without events", "", &whole(Goal::AtMost(4.0)));
/// Of a kind that is named by the cloud: 4 or 5.
pub static WRITES_GIVEN: Row = Row::one("writes per life, without events", "", &whole(Goal::AtMost(5.0)));
/// Create, Ready, delete.
pub static EVENTS: Row = Row::one("writes of events per life", "", KNOWN);
/// Create, Ready, delete.
pub static LIFE_API_SERVER: Row = Row::one(
    "CPU per 1,000 lives, API server",
    "s",
    &whole(Goal::RatioAtMost(0.5)),
);
/// Of bridge and plugin together.
pub static LIFE_CONTROLLER: Row = Row::one(
    "CPU per 1,000 lives, controller",
    "s",
    &whole(Goal::RatioAtMost(0.25)),
);
/// Of ours alone: the peer's cloud is in its own process.
pub static LIFE_PLUGIN: Row = Row::one("CPU per 1,000 lives, of it the plugin", "s", KNOWN);
/// Deletion of all of them.
pub static DRAIN: Row = Row::one("drain, older than 30 s", "per s", &whole(Goal::RatioAtLeast(1.6)));
/// Deletion as soon as all are Ready.
pub static DRAIN_FRESH: Row = Row::one("drain, fresh", "per s", &whole(Goal::RatioAtLeast(4.0)));
/// From the user's request until the cloud is called.
pub static CHANGE: Row = Row {
    what: "spec change to Update",
    unit: "ms",
    lines: &halves(Goal::RatioAtMost(0.6), Goal::RatioAtMost(0.6)),
};
/// By the controller.
pub static CHANGE_WRITES: Row = Row::one("writes per spec change", "", KNOWN);
/// Of bridge and plugin together.
pub static POLL_CONTROLLER: Row =
    Row::one("idle poll, controller", "CPU-ms", &whole(Goal::RatioAtMost(0.15)));
/// Of ours alone.
pub static POLL_PLUGIN: Row = Row::one("idle poll, of it the plugin", "CPU-ms", KNOWN);
/// Beyond what it uses without any object.
pub static POLL_API_SERVER: Row = Row::one("idle poll, API server", "CPU-ms", KNOWN);
/// By the controller.
pub static POLL_WRITES: Row = Row::one("writes per idle poll", "", NONE);
/// Of bridge and plugin together, beyond what they have without any object.
pub static MEMORY: Row = Row::one("memory per idle object", "KB", &whole(Goal::RatioAtMost(0.3)));
/// Until each is observed once.
pub static RESTART_API_SERVER: Row =
    Row::one("restart, API server", "CPU-s", &whole(Goal::RatioAtMost(0.06)));
/// Until each is observed once, from its start on. The plugin, which is not restarted, included.
pub static RESTART_CONTROLLER: Row = Row::one("restart, controller", "CPU-s", KNOWN);
/// Without that of the one object that has changed.
pub static RESTART_WRITES: Row = Row::one("restart, writes", "", NONE);
/// Of what was changed while the controller was stopped, from its start on.
pub static RESTART_FIRST: Row = Row::one(
    "restart, until the Update of what has changed",
    "s",
    &whole(Goal::AtMost(2.0)),
);
/// From its start on.
pub static RESTART_LAST: Row = Row::one("restart, until all are observed", "s", KNOWN);
/// All at once.
pub static BURST: Row = Row {
    what: "burst: create to Ready",
    unit: "ms",
    lines: &halves(Goal::RatioAtMost(0.02), Goal::None),
};
/// One after another.
pub static PACED: Row = Row {
    what: "10 per s: create to Ready",
    unit: "ms",
    lines: &halves(Goal::None, Goal::AtMost(60.0)),
};
/// As it is read from the API server when it is Ready.
pub static SIZE: Row = Row::one("size of an object", "KB", KNOWN);
/// Without any object.
pub static REST_CONTROLLER: Row = Row::one("no object, controller", "CPU-ms per s", KNOWN);
/// Without any object.
pub static REST_API_SERVER: Row = Row::one("no object, API server", "CPU-ms per s", KNOWN);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_held_against_the_ratio_or_the_value() {
        assert_eq!(Goal::RatioAtMost(0.5).is_met(9.0, Some(0.5)), Some(true));
        assert_eq!(Goal::RatioAtMost(0.5).is_met(9.0, Some(0.51)), Some(false));
        assert_eq!(Goal::RatioAtLeast(4.0).is_met(9.0, Some(4.1)), Some(true));
        assert_eq!(Goal::RatioAtLeast(4.0).is_met(9.0, None), None);
        assert_eq!(Goal::AtMost(4.0).is_met(5.0, Some(0.1)), Some(false));
        assert_eq!(Goal::BothAtMost(4.0, 0.1).is_met(4.0, Some(0.1)), Some(true));
        assert_eq!(Goal::BothAtMost(4.0, 0.1).is_met(4.0, Some(0.2)), Some(false));
        assert_eq!(Goal::BothAtMost(4.0, 0.1).is_met(4.1, None), Some(false));
        assert_eq!(Goal::BothAtMost(4.0, 0.1).is_met(4.0, None), None);
        assert_eq!(Goal::None.is_met(5.0, Some(0.1)), None);
    }
}
