//! Writing time to live and backups: they take requests of their own, and only a table that has been created accepts them.

use std::time::Duration;

use aws_sdk_dynamodb::types::{PointInTimeRecoverySpecification, TimeToLiveSpecification};
use crossbridge_sdk::Failure;

use super::errors::explain;
use crate::api::ApiError;
use crate::context::CallContext;
use crate::services::dynamodb::model::{TableParameters, TimeToLive};
use crate::services::dynamodb::read::{ObservedTable, client};

/// AWS rejects a second change of the time to live for up to an hour.
const TIME_TO_LIVE_RETRY: Duration = Duration::from_mins(10);

/// Whether a new table needs settings that cannot be given at creation.
pub(in crate::services::dynamodb) fn are_desired(desired: &TableParameters) -> bool {
    let time_to_live = desired.time_to_live.as_ref();
    time_to_live.is_some_and(|time_to_live| time_to_live.enabled)
        || desired.point_in_time_recovery_enabled == Some(true)
}

/// Changes both to the desired state.
pub(in crate::services::dynamodb) async fn converge(
    context: &CallContext<'_>,
    observed: &ObservedTable,
    desired: &TableParameters,
) -> Result<(), Failure> {
    let (client, current) = (client(&context.session), &observed.parameters);
    if let Some(change) = time_to_live_change(desired.time_to_live.as_ref(), current.time_to_live.as_ref()) {
        let specification = TimeToLiveSpecification::builder()
            .enabled(change.enabled)
            .attribute_name(change.attribute_name)
            .build()?;
        let request = client
            .update_time_to_live()
            .table_name(&observed.name)
            .time_to_live_specification(specification);
        context
            .requests
            .write("dynamodb:UpdateTimeToLive", request.send())
            .await
            .map_err(|error| time_to_live_failure(context, error))?;
    }
    if let Some(desired) = desired.point_in_time_recovery_enabled
        && Some(desired) != current.point_in_time_recovery_enabled
    {
        let specification = PointInTimeRecoverySpecification::builder()
            .point_in_time_recovery_enabled(desired)
            .build()?;
        let request = client
            .update_continuous_backups()
            .table_name(&observed.name)
            .point_in_time_recovery_specification(specification);
        context
            .requests
            .write("dynamodb:UpdateContinuousBackups", request.send())
            .await
            .map_err(|error| backups_failure(context, error))?;
    }
    Ok(())
}

/// The next change of the time to live. Another attribute can be set only after the former one was removed.
fn time_to_live_change(desired: Option<&TimeToLive>, observed: Option<&TimeToLive>) -> Option<TimeToLive> {
    let desired = desired?;
    match observed.filter(|observed| observed.enabled) {
        Some(observed) if desired == observed => None,
        Some(observed) => Some(TimeToLive {
            enabled: false,
            attribute_name: observed.attribute_name.clone(),
        }),
        None => desired.enabled.then(|| desired.clone()),
    }
}

fn time_to_live_failure(context: &CallContext<'_>, error: ApiError) -> Failure {
    if error.message().contains("multiple times within a fixed interval") {
        let message = "AWS rejects another change of the time to live for up to an hour; it is retried";
        let failure = Failure::conflict(message)
            .reason("TimeToLiveCooldown")
            .retry_after(TIME_TO_LIVE_RETRY);
        return error.into_failure(failure);
    }
    explain(context, error)
}

fn backups_failure(context: &CallContext<'_>, error: ApiError) -> Failure {
    if error.has_code("ContinuousBackupsUnavailableException") {
        let message = "AWS is still setting up backups of the table; it is retried";
        let failure = Failure::conflict(message).reason("BackupsUnavailable");
        return error.into_failure(failure.retry_after(context.poll_interval));
    }
    explain(context, error)
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
    fn another_attribute_is_set_after_the_former_was_removed() {
        let change =
            |desired: TimeToLive, observed: TimeToLive| time_to_live_change(Some(&desired), Some(&observed));
        assert_eq!(change(ttl(true, "a"), ttl(true, "a")), None);
        assert_eq!(change(ttl(true, "b"), ttl(true, "a")), Some(ttl(false, "a")));
        assert_eq!(change(ttl(true, "b"), ttl(false, "b")), Some(ttl(true, "b")));
        assert_eq!(change(ttl(false, "a"), ttl(true, "a")), Some(ttl(false, "a")));
        assert_eq!(change(ttl(false, "a"), ttl(false, "a")), None);
        assert_eq!(time_to_live_change(None, Some(&ttl(true, "a"))), None);
    }
}
