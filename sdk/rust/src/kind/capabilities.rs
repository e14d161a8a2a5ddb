//! What a kind can do, and how it must be treated.

use std::time::Duration;

use crossbridge_proto::v1alpha1::{CreateRecovery, DiffMode, KindCapabilities, Timeouts};
use prost_types::Duration as WireDuration;

use super::Kind;

/// The contract's "for ever": 10,000 years.
const FOR_EVER: Duration = Duration::from_hours(87_660_000);

impl Kind {
    /// Observe-only: it is never created, updated or deleted.
    pub fn observe_only(self) -> Self {
        self.capability(|can| (can.can_create, can.can_update, can.can_delete) = (false, false, false))
    }

    /// Any change needs a replacement.
    pub fn no_update(self) -> Self {
        self.capability(|can| can.can_update = false)
    }

    /// Removing the object leaves the resource.
    pub fn no_delete(self) -> Self {
        self.capability(|can| can.can_delete = false)
    }

    /// Declares how a creation with an unknown outcome is resolved: its name is known beforehand, so Observe finds it. The ways are
    /// preferred in the order in which they are declared; without any, the bridge stops and a person decides.
    pub fn recover_by_name(self) -> Self {
        self.capability(|can| can.push_create_recovery(CreateRecovery::DeterministicName))
    }

    /// Likewise: the upstream honours the client request token for this long after its first use, so the same create resolves it.
    /// `Duration::MAX`: for ever.
    pub fn recover_by_token(self, retention: Duration) -> Self {
        self.capability(|can| {
            can.push_create_recovery(CreateRecovery::ClientToken);
            can.token_retention = wire_duration(retention);
        })
    }

    /// Likewise: Observe with an empty name finds it by its marker, which the creating request itself sets. Implies
    /// [`holds_marker`](Self::holds_marker).
    pub fn recover_by_marker(self) -> Self {
        self.capability(|can| {
            can.push_create_recovery(CreateRecovery::Marker);
            can.holds_marker = true;
        })
    }

    /// The ownership marker is kept on the resource and read back.
    pub fn holds_marker(self) -> Self {
        self.capability(|can| can.holds_marker = true)
    }

    /// For this long after a create may have taken effect, absence is not believed. Unset: always believed.
    pub fn consistency_window(self, window: Duration) -> Self {
        self.capability(|can| can.consistency_window = wire_duration(window))
    }

    /// How long after its deadline a request that the upstream has accepted may still take effect. Unset: not at all.
    pub fn late_margin(self, margin: Duration) -> Self {
        self.capability(|can| can.late_margin = wire_duration(margin))
    }

    /// What a create creates is visible to Observe from the moment at which the upstream has accepted the request, within the
    /// [`consistency_window`](Self::consistency_window). Without this, a create whose answer was lost counts as under way for the
    /// [`create_timeout`](Self::create_timeout), or an hour, and its absence is believed only then.
    pub fn visible_when_accepted(self) -> Self {
        self.capability(|can| can.visible_when_accepted = true)
    }

    /// The plugin reports what differs ([`Observation::differs`](crate::Observation::differs)), instead of the bridge.
    pub fn plugin_compares(self) -> Self {
        self.capability(|can| can.set_diff_mode(DiffMode::Plugin))
    }

    /// Update is accepted while another operation runs.
    pub fn concurrent_update(self) -> Self {
        self.capability(|can| can.concurrent_update = true)
    }

    /// Delete is accepted while a creation runs.
    pub fn delete_during_create(self) -> Self {
        self.capability(|can| can.delete_during_create = true)
    }

    /// Kinds of the same group share an upstream rate limit. Unset: a limit of its own.
    pub fn rate_limit_group(self, group: &str) -> Self {
        self.capability(|can| group.clone_into(&mut can.rate_limit_group))
    }

    /// Deadline of one call; at most 60 s. Unset: 30 s.
    pub fn call_timeout(self, limit: Duration) -> Self {
        self.timeout(|timeouts| timeouts.call_timeout = wire_duration(limit))
    }

    /// Limit of a whole creation, polls included.
    pub fn create_timeout(self, limit: Duration) -> Self {
        self.timeout(|timeouts| timeouts.create_timeout = wire_duration(limit))
    }

    /// Limit of a whole update.
    pub fn update_timeout(self, limit: Duration) -> Self {
        self.timeout(|timeouts| timeouts.update_timeout = wire_duration(limit))
    }

    /// Limit of a whole deletion.
    pub fn delete_timeout(self, limit: Duration) -> Self {
        self.timeout(|timeouts| timeouts.delete_timeout = wire_duration(limit))
    }

    fn capability(mut self, change: impl FnOnce(&mut KindCapabilities)) -> Self {
        change(self.wire.capabilities.get_or_insert_default());
        self
    }

    fn timeout(mut self, change: impl FnOnce(&mut Timeouts)) -> Self {
        change(self.wire.timeouts.get_or_insert_default());
        self
    }
}

/// What is longer than the contract can express means for ever.
fn wire_duration(duration: Duration) -> Option<WireDuration> {
    WireDuration::try_from(duration.min(FOR_EVER)).ok()
}
