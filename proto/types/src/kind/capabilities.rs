//! What a kind can do, how it must be treated, and how long it may take.

use std::time::Duration;

use crate::{Rule, Violation, check};

/// Longest timeout of one call that a plugin may declare.
const CALL_LIMIT: Duration = Duration::from_mins(1);

/// Call timeout where the plugin declares none.
const DEFAULT_CALL: Duration = Duration::from_secs(30);

/// How an unknown outcome of Create is cleared up. None declared: a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CreateRecovery {
    /// The name is known beforehand, so Observe resolves it.
    DeterministicName,
    /// The same Create resolves it, while the token is retained.
    ClientToken,
    /// Observe with an empty name finds it by its marker.
    Marker,
}

/// Who compares desired and observed state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffMode {
    /// The bridge, by schema and field rules.
    Bridge,
    /// The plugin, which sets `Observation::up_to_date`.
    Plugin,
}

/// What a kind can do, and how it must be treated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // The contract's own flags.
pub struct Capabilities {
    /// Whether Create is served; without it the kind is observe-only.
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
    /// Who compares desired with observed parameters.
    pub diff_mode: DiffMode,
    /// Update is accepted while another operation runs.
    pub concurrent_update: bool,
    /// Delete is accepted while Create runs.
    pub delete_during_create: bool,
    /// Objects that share an upstream limit; the kind's own name where the plugin declares none.
    pub rate_limit_group: String,
    /// How long after its deadline an accepted request may still take effect.
    pub late_margin: Duration,
    /// What a Create creates can be observed as soon as the upstream has accepted the request, not only when its operation ends.
    pub visible_when_accepted: bool,
}

impl Capabilities {
    /// Checks that a way of recovery has what it needs.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub(super) fn check(&self) -> Result<(), Violation> {
        check::name(&self.rate_limit_group, "rate_limit_group")?;
        let required = |field, when| Err(Violation::new(field, Rule::RequiredWhere { when }));
        if self.create_recovery.contains(&CreateRecovery::Marker) && !self.holds_marker {
            return required("holds_marker", "with MARKER");
        }
        if self.create_recovery.contains(&CreateRecovery::ClientToken) && self.token_retention.is_zero() {
            return required("token_retention", "with CLIENT_TOKEN");
        }
        Ok(())
    }
}

/// Limits of one kind, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// One call; more than 0, at most 60 s.
    pub call: Duration,
    /// Whole creation, polls included; `None`: no limit.
    pub create: Option<Duration>,
    /// Whole update, polls included; `None`: no limit.
    pub update: Option<Duration>,
    /// Whole deletion, polls included; `None`: no limit.
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

impl Timeouts {
    pub(super) fn check(&self) -> Result<(), Violation> {
        if self.call.is_zero() || self.call > CALL_LIMIT {
            let range = "more than 0s, at most 60s";
            return Err(Violation::new("call_timeout", Rule::OutOfRange { range }));
        }
        Ok(())
    }
}
