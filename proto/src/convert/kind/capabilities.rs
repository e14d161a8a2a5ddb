//! What a kind can do, and how it must be treated.

use std::time::Duration;

use crossbridge_types::{Capabilities, CreateRecovery, DiffMode, Rule, Violation};

use crate::{convert::scalar, v1alpha1 as wire};

/// The contract's "for ever": 10,000 years.
const FOR_EVER: Duration = Duration::from_hours(87_660_000);

impl TryFrom<wire::KindCapabilities> for Capabilities {
    type Error = Violation;

    fn try_from(wire: wire::KindCapabilities) -> Result<Self, Violation> {
        Ok(Self {
            can_create: wire.can_create,
            can_update: wire.can_update,
            can_delete: wire.can_delete,
            create_recovery: create_recovery(&wire)?,
            token_retention: scalar::uncut_duration(wire.token_retention, "token_retention")?
                .map_or(Duration::ZERO, or_for_ever),
            consistency_window: scalar::duration(wire.consistency_window, "consistency_window")?
                .unwrap_or_default(),
            holds_marker: wire.holds_marker,
            diff_mode: match wire.diff_mode() {
                wire::DiffMode::Unspecified | wire::DiffMode::Bridge => DiffMode::Bridge,
                wire::DiffMode::Plugin => DiffMode::Plugin,
            },
            concurrent_update: wire.concurrent_update,
            delete_during_create: wire.delete_during_create,
            late_margin: scalar::duration(wire.late_margin, "late_margin")?.unwrap_or_default(),
            visible_when_accepted: wire.visible_when_accepted,
            rate_limit_group: wire.rate_limit_group,
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
