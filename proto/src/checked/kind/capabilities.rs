//! What a kind can do, how it must be treated, and how long it may take.

use std::time::Duration;

use crate::{
    checked::{Rule, Violation, text},
    v1alpha1 as wire,
};

/// The contract's "for ever": 10,000 years.
const FOR_EVER: Duration = Duration::from_hours(87_660_000);

/// Longest call.
const CALL_LIMIT: Duration = Duration::from_mins(1);

/// Call timeout where the plugin says nothing.
const DEFAULT_CALL: Duration = Duration::from_secs(30);

/// How an unknown create is cleared up. Nothing declared: a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CreateRecovery {
    /// The name is known beforehand, so a look settles it.
    DeterministicName,
    /// The same Create settles it, while the token is retained.
    ClientToken,
    /// A look with an empty name finds it by its marker.
    Marker,
}

/// Who compares wish and fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffMode {
    /// The bridge, by schema and field rules.
    Bridge,
    /// The plugin.
    Plugin,
}

/// What a kind can do, and how it must be treated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // The contract's own flags.
pub struct Capabilities {
    /// False: observe-only.
    pub can_create: bool,
    /// False: any change needs replacement.
    pub can_update: bool,
    /// False: removing the object leaves the resource.
    pub can_delete: bool,
    /// In order of preference, without `NONE`; empty: none.
    pub create_recovery: Vec<CreateRecovery>,
    /// How long a token is honoured after its first use; zero without `ClientToken`; `Duration::MAX`: for ever.
    pub token_retention: Duration,
    /// For this long after a Create may last have taken effect, absence is not believed.
    pub consistency_window: Duration,
    /// The ownership marker is kept on the resource and read back.
    pub holds_marker: bool,
    /// Who compares.
    pub diff_mode: DiffMode,
    /// Update is accepted while another operation runs.
    pub concurrent_update: bool,
    /// Delete is accepted while Create runs.
    pub delete_during_create: bool,
    /// Objects that share an upstream limit; the kind's own type where the plugin said nothing.
    pub rate_limit_group: String,
    /// How long after its deadline an accepted request may still take effect.
    pub late_margin: Duration,
    /// What a Create makes is seen as soon as the upstream has accepted the request, not only when its operation ends.
    pub visible_when_accepted: bool,
}

impl Capabilities {
    pub(super) fn or_rate_limit_group(mut self, group: String) -> Self {
        if self.rate_limit_group.is_empty() {
            self.rate_limit_group = group;
        }
        self
    }
}

impl TryFrom<wire::KindCapabilities> for Capabilities {
    type Error = Violation;

    fn try_from(wire: wire::KindCapabilities) -> Result<Self, Violation> {
        let create_recovery = create_recovery(&wire)?;
        let retention = text::uncut_duration(wire.token_retention, "token_retention")?;
        if create_recovery.contains(&CreateRecovery::Marker) && !wire.holds_marker {
            return Err(Violation::new(
                "holds_marker",
                Rule::RequiredWhere { when: "with MARKER" },
            ));
        }
        if create_recovery.contains(&CreateRecovery::ClientToken)
            && retention.is_none_or(|time| time.is_zero())
        {
            return Err(Violation::new(
                "token_retention",
                Rule::RequiredWhere {
                    when: "with CLIENT_TOKEN",
                },
            ));
        }
        Ok(Self {
            can_create: wire.can_create,
            can_update: wire.can_update,
            can_delete: wire.can_delete,
            create_recovery,
            token_retention: retention.map_or(Duration::ZERO, or_for_ever),
            consistency_window: text::duration(wire.consistency_window, "consistency_window")?
                .unwrap_or_default(),
            holds_marker: wire.holds_marker,
            diff_mode: match wire.diff_mode() {
                wire::DiffMode::Unspecified | wire::DiffMode::Bridge => DiffMode::Bridge,
                wire::DiffMode::Plugin => DiffMode::Plugin,
            },
            concurrent_update: wire.concurrent_update,
            delete_during_create: wire.delete_during_create,
            late_margin: text::duration(wire.late_margin, "late_margin")?.unwrap_or_default(),
            rate_limit_group: wire.rate_limit_group,
            visible_when_accepted: wire.visible_when_accepted,
        })
    }
}

fn or_for_ever(retention: Duration) -> Duration {
    if retention >= FOR_EVER {
        Duration::MAX
    } else {
        retention
    }
}

/// A way that this version does not know is left out, as NONE is: the ways it does know still hold.
fn create_recovery(wire: &wire::KindCapabilities) -> Result<Vec<CreateRecovery>, Violation> {
    let mut ways = Vec::new();
    for way in wire.create_recovery() {
        let way = match way {
            wire::CreateRecovery::Unspecified | wire::CreateRecovery::None => continue,
            wire::CreateRecovery::DeterministicName => CreateRecovery::DeterministicName,
            wire::CreateRecovery::ClientToken => CreateRecovery::ClientToken,
            wire::CreateRecovery::Marker => CreateRecovery::Marker,
        };
        if ways.contains(&way) {
            return Err(Violation::new(
                "create_recovery",
                Rule::Duplicate {
                    value: format!("{way:?}"),
                },
            ));
        }
        ways.push(way);
    }
    if !ways.is_empty()
        && wire
            .create_recovery()
            .any(|way| way == wire::CreateRecovery::None)
    {
        return Err(Violation::new(
            "create_recovery",
            Rule::NotAllowed {
                why: "NONE stands beside another way".to_owned(),
            },
        ));
    }
    Ok(ways)
}

/// Limits of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// One call; more than 0, at most 60 s.
    pub call: Duration,
    /// Whole creation, polls included; `None`: no limit.
    pub create: Option<Duration>,
    /// Whole update.
    pub update: Option<Duration>,
    /// Whole deletion.
    pub delete: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            call: DEFAULT_CALL,
            create: None,
            update: None,
            delete: None,
        }
    }
}

impl TryFrom<wire::Timeouts> for Timeouts {
    type Error = Violation;

    fn try_from(wire: wire::Timeouts) -> Result<Self, Violation> {
        let call = text::duration(wire.call_timeout, "call_timeout")?.unwrap_or(DEFAULT_CALL);
        if call.is_zero() || call > CALL_LIMIT {
            return Err(Violation::new(
                "call_timeout",
                Rule::OutOfRange {
                    range: "more than 0s, at most 60s",
                },
            ));
        }
        Ok(Self {
            call,
            create: text::duration(wire.create_timeout, "create_timeout")?,
            update: text::duration(wire.update_timeout, "update_timeout")?,
            delete: text::duration(wire.delete_timeout, "delete_timeout")?,
        })
    }
}
