//! Reading time to live and backups: they take requests of their own, and only a table that has been created has them.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{PointInTimeRecoveryStatus, TimeToLiveStatus};
use crossbridge_sdk::Failure;

use crate::context::CallContext;
use crate::services::dynamodb::model::TimeToLive;

/// The time to live, if `read` asks for it. Where it is off AWS does not report the attribute: the desired one is echoed.
pub(super) async fn time_to_live_if(
    read: bool,
    context: &CallContext<'_>,
    name: &str,
    desired: Option<&TimeToLive>,
) -> Result<Option<TimeToLive>, Failure> {
    if !read {
        return Ok(None);
    }
    let client = context.session.client(Client::new);
    let request = client.describe_time_to_live().table_name(name);
    let description = context
        .requests
        .read("dynamodb:DescribeTimeToLive", request.send())
        .await?
        .time_to_live_description;
    let enabled = description.filter(|description| {
        matches!(
            description.time_to_live_status,
            Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
        )
    });
    Ok(Some(TimeToLive {
        enabled: enabled.is_some(),
        attribute_name: match enabled {
            Some(description) => description.attribute_name.unwrap_or_default(),
            None => desired
                .map(|desired| desired.attribute_name.clone())
                .unwrap_or_default(),
        },
    }))
}

/// Whether continuous backups are on, if `read` asks for it.
pub(super) async fn backups_if(
    read: bool,
    context: &CallContext<'_>,
    name: &str,
) -> Result<Option<bool>, Failure> {
    if !read {
        return Ok(None);
    }
    let client = context.session.client(Client::new);
    let request = client.describe_continuous_backups().table_name(name);
    let response = context
        .requests
        .read("dynamodb:DescribeContinuousBackups", request.send())
        .await?;
    let status = response
        .continuous_backups_description
        .and_then(|backups| backups.point_in_time_recovery_description)
        .and_then(|recovery| recovery.point_in_time_recovery_status);
    Ok(Some(status == Some(PointInTimeRecoveryStatus::Enabled)))
}
