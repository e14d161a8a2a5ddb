//! Time to live and backups: they have requests of their own, and only a table that is there takes them.

use std::time::Duration;

use aws_sdk_dynamodb::types::{
    PointInTimeRecoverySpecification, PointInTimeRecoveryStatus, TimeToLiveSpecification, TimeToLiveStatus,
};
use crossbridge_sdk::Failure;

use super::look::Found;
use super::model::{TableParameters, TimeToLive};
use super::work::Work;
use crate::upstream::Refusal;

/// AWS lets changes of the time to live rest for an hour.
const TIME_TO_LIVE_RESTS: Duration = Duration::from_mins(10);

/// `wish` is echoed where it is off, as AWS then does not tell the attribute.
pub(super) async fn time_to_live(
    work: &Work<'_>,
    name: &str,
    wish: Option<&TimeToLive>,
) -> Result<TimeToLive, Failure> {
    let request = work.client().describe_time_to_live().table_name(name);
    let found = work
        .steps
        .read("dynamodb:DescribeTimeToLive", request.send())
        .await?
        .time_to_live_description;
    let on = found.filter(|found| {
        matches!(
            found.time_to_live_status,
            Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
        )
    });
    Ok(TimeToLive {
        enabled: on.is_some(),
        attribute_name: match on {
            Some(on) => on.attribute_name.unwrap_or_default(),
            None => wish.map(|wish| wish.attribute_name.clone()).unwrap_or_default(),
        },
    })
}

pub(super) async fn backups(work: &Work<'_>, name: &str) -> Result<bool, Failure> {
    let request = work.client().describe_continuous_backups().table_name(name);
    let found = work
        .steps
        .read("dynamodb:DescribeContinuousBackups", request.send())
        .await?;
    let status = found
        .continuous_backups_description
        .and_then(|found| found.point_in_time_recovery_description)
        .and_then(|found| found.point_in_time_recovery_status);
    Ok(status == Some(PointInTimeRecoveryStatus::Enabled))
}

/// Whether a new table needs what cannot be said when it is made.
pub(super) fn are_wished(wish: &TableParameters) -> bool {
    wish.time_to_live.as_ref().is_some_and(|wish| wish.enabled)
        || wish.point_in_time_recovery_enabled == Some(true)
}

/// Brings both from what was found to the wish.
pub(super) async fn converge(work: &Work<'_>, found: &Found, wish: &TableParameters) -> Result<(), Failure> {
    let (client, there) = (work.client(), &found.parameters);
    if let Some(change) = time_to_live_change(wish.time_to_live.as_ref(), there.time_to_live.as_ref()) {
        let specification = TimeToLiveSpecification::builder()
            .enabled(change.enabled)
            .attribute_name(change.attribute_name)
            .build()?;
        let request = client
            .update_time_to_live()
            .table_name(&found.name)
            .time_to_live_specification(specification);
        work.steps
            .change("dynamodb:UpdateTimeToLive", request.send())
            .await
            .map_err(|refusal| resting(work, refusal))?;
    }
    if let Some(wished) = wish.point_in_time_recovery_enabled
        && Some(wished) != there.point_in_time_recovery_enabled
    {
        let specification = PointInTimeRecoverySpecification::builder()
            .point_in_time_recovery_enabled(wished)
            .build()?;
        let request = client
            .update_continuous_backups()
            .table_name(&found.name)
            .point_in_time_recovery_specification(specification);
        work.steps
            .change("dynamodb:UpdateContinuousBackups", request.send())
            .await
            .map_err(|refusal| backups_busy(work, refusal))?;
    }
    Ok(())
}

/// Another attribute cannot be taken before the old one was given up.
fn time_to_live_change(wish: Option<&TimeToLive>, found: Option<&TimeToLive>) -> Option<TimeToLive> {
    let wish = wish?;
    match found.filter(|found| found.enabled) {
        Some(found) if wish == found => None,
        Some(found) => Some(TimeToLive {
            enabled: false,
            attribute_name: found.attribute_name.clone(),
        }),
        None => wish.enabled.then(|| wish.clone()),
    }
}

fn resting(work: &Work<'_>, refusal: Refusal) -> Failure {
    if refusal
        .message()
        .contains("multiple times within a fixed interval")
    {
        let message = "AWS lets changes of the time to live rest for up to an hour; it will be tried again";
        let failure = Failure::conflict(message)
            .reason("TimeToLiveRests")
            .retry_after(TIME_TO_LIVE_RESTS);
        return refusal.told_as(failure);
    }
    work.refused(refusal)
}

fn backups_busy(work: &Work<'_>, refusal: Refusal) -> Failure {
    if refusal.is("ContinuousBackupsUnavailableException") {
        let message = "AWS is still setting up backups of the table; it will be tried again";
        let failure = Failure::conflict(message).reason("BackupsUnavailable");
        return refusal.told_as(failure.retry_after(work.pace));
    }
    work.refused(refusal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ttl(enabled: bool, name: &str) -> TimeToLive {
        TimeToLive {
            enabled,
            attribute_name: name.to_owned(),
        }
    }

    #[test]
    fn another_attribute_is_taken_after_the_old_one_was_given_up() {
        let change = |wish: TimeToLive, found: TimeToLive| time_to_live_change(Some(&wish), Some(&found));
        assert_eq!(change(ttl(true, "a"), ttl(true, "a")), None);
        assert_eq!(change(ttl(true, "b"), ttl(true, "a")), Some(ttl(false, "a")));
        assert_eq!(change(ttl(true, "b"), ttl(false, "b")), Some(ttl(true, "b")));
        assert_eq!(change(ttl(false, "a"), ttl(true, "a")), Some(ttl(false, "a")));
        assert_eq!(change(ttl(false, "a"), ttl(false, "a")), None);
        assert_eq!(time_to_live_change(None, Some(&ttl(true, "a"))), None);
    }
}
