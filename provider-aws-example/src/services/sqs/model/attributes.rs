//! A queue's attributes, in the API a map of texts, and their conversion from and to parameters.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::QueueAttributeName as Name;
use crossbridge_sdk::serde_json::{Value, from_str, json};

use super::{QueueParameters, RedriveAllowPolicy, RedrivePolicy};
use crate::json_text;
use crate::tags::Tags;

/// Values by attribute, as the API has them.
pub(in crate::services::sqs) type Attributes = BTreeMap<Name, String>;

/// The desired attributes that can be changed at any time.
pub(in crate::services::sqs) fn mutable(desired: &QueueParameters) -> Attributes {
    let mut attributes = Attributes::new();
    let mut put = |name: Name, value: Option<String>| {
        if let Some(value) = value {
            attributes.insert(name, value);
        }
    };
    let number = |value: Option<i64>| value.map(|value| value.to_string());
    let flag = |value: Option<bool>| value.map(|value| value.to_string());
    put(
        Name::VisibilityTimeout,
        number(desired.visibility_timeout_seconds),
    );
    put(
        Name::MessageRetentionPeriod,
        number(desired.message_retention_period_seconds),
    );
    put(Name::DelaySeconds, number(desired.delay_seconds));
    put(
        Name::MaximumMessageSize,
        number(desired.maximum_message_size_bytes),
    );
    put(
        Name::ReceiveMessageWaitTimeSeconds,
        number(desired.receive_message_wait_time_seconds),
    );
    // A standard queue has no such attribute, not even as false.
    put(
        Name::ContentBasedDeduplication,
        flag(desired.content_based_deduplication.filter(|_| desired.is_fifo())),
    );
    put(Name::DeduplicationScope, desired.deduplication_scope.clone());
    put(Name::FifoThroughputLimit, desired.fifo_throughput_limit.clone());
    put(Name::SqsManagedSseEnabled, flag(desired.sqs_managed_sse_enabled));
    put(Name::KmsMasterKeyId, desired.kms_master_key_id.clone());
    put(
        Name::KmsDataKeyReusePeriodSeconds,
        number(desired.kms_data_key_reuse_period_seconds),
    );
    put(Name::Policy, desired.policy.clone());
    put(
        Name::RedrivePolicy,
        desired.redrive_policy.as_ref().map(|policy| {
            json!({
                "deadLetterTargetArn": policy.dead_letter_target_arn,
                "maxReceiveCount": policy.max_receive_count,
            })
            .to_string()
        }),
    );
    put(
        Name::RedriveAllowPolicy,
        desired
            .redrive_allow_policy
            .as_ref()
            .map(|policy| json!(policy).to_string()),
    );
    attributes
}

/// All desired attributes of a new queue. Empty ones are left out.
pub(in crate::services::sqs) fn initial(desired: &QueueParameters) -> Attributes {
    let mut attributes = mutable(desired);
    attributes.retain(|_, value| !value.is_empty());
    if desired.is_fifo() {
        // SQS takes no false here.
        attributes.insert(Name::FifoQueue, true.to_string());
    }
    attributes
}

/// The desired attributes whose observed value differs.
pub(in crate::services::sqs) fn differing(desired: Attributes, observed: &Attributes) -> Attributes {
    let mut differing = desired;
    differing.retain(|name, value| {
        let observed = observed.get(name).map_or("", String::as_str);
        let is_equal = match name {
            Name::Policy => json_text::is_equal(value, observed),
            Name::RedrivePolicy => redrive_policy(value) == redrive_policy(observed),
            Name::RedriveAllowPolicy => redrive_allow_policy(value) == redrive_allow_policy(observed),
            _ => value.eq_ignore_ascii_case(observed),
        };
        !is_equal
    });
    differing
}

/// The parameters that the observed attributes stand for.
pub(in crate::services::sqs) fn to_parameters(
    name: &str,
    region: &str,
    observed: &Attributes,
    tags: Tags,
) -> QueueParameters {
    let text = |name: &Name| observed.get(name).cloned();
    let number = |name: &Name| observed.get(name).and_then(|value| value.parse().ok());
    let flag = |name: &Name| {
        Some(
            observed
                .get(name)
                .is_some_and(|value| value.eq_ignore_ascii_case("true")),
        )
    };
    QueueParameters {
        name: name.to_owned(),
        region: Some(region.to_owned()),
        tags: Some(tags),
        fifo_queue: flag(&Name::FifoQueue),
        visibility_timeout_seconds: number(&Name::VisibilityTimeout),
        message_retention_period_seconds: number(&Name::MessageRetentionPeriod),
        delay_seconds: number(&Name::DelaySeconds),
        maximum_message_size_bytes: number(&Name::MaximumMessageSize),
        receive_message_wait_time_seconds: number(&Name::ReceiveMessageWaitTimeSeconds),
        content_based_deduplication: flag(&Name::ContentBasedDeduplication),
        deduplication_scope: text(&Name::DeduplicationScope),
        fifo_throughput_limit: text(&Name::FifoThroughputLimit),
        sqs_managed_sse_enabled: flag(&Name::SqsManagedSseEnabled),
        kms_master_key_id: Some(text(&Name::KmsMasterKeyId).unwrap_or_default()),
        kms_data_key_reuse_period_seconds: number(&Name::KmsDataKeyReusePeriodSeconds),
        redrive_policy: observed
            .get(&Name::RedrivePolicy)
            .and_then(|policy| redrive_policy(policy)),
        redrive_allow_policy: observed
            .get(&Name::RedriveAllowPolicy)
            .and_then(|policy| redrive_allow_policy(policy)),
        policy: Some(text(&Name::Policy).unwrap_or_default()),
    }
}

/// Accepts the count as a number and as text: clients write both.
fn redrive_policy(text: &str) -> Option<RedrivePolicy> {
    let policy: Value = from_str(text).ok()?;
    let count = policy.get("maxReceiveCount")?;
    Some(RedrivePolicy {
        dead_letter_target_arn: policy.get("deadLetterTargetArn")?.as_str()?.to_owned(),
        max_receive_count: count.as_i64().or_else(|| count.as_str()?.parse().ok())?,
    })
}

/// Sorts the queues: their order does not count.
fn redrive_allow_policy(text: &str) -> Option<RedriveAllowPolicy> {
    let mut policy: RedriveAllowPolicy = from_str(text).ok()?;
    if let Some(arns) = &mut policy.source_queue_arns {
        arns.sort();
    }
    policy.source_queue_arns = policy.source_queue_arns.filter(|arns| !arns.is_empty());
    Some(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> QueueParameters {
        QueueParameters {
            name: "jobs".to_owned(),
            visibility_timeout_seconds: Some(45),
            policy: Some("{\"a\": 1}".to_owned()),
            redrive_policy: Some(RedrivePolicy {
                dead_letter_target_arn: "arn".to_owned(),
                max_receive_count: 3,
            }),
            ..QueueParameters::default()
        }
    }

    #[test]
    fn policies_are_compared_by_their_meaning() {
        let observed = [
            (Name::VisibilityTimeout, "45"),
            (Name::Policy, "{\"a\":1}"),
            (
                Name::RedrivePolicy,
                "{\"maxReceiveCount\":\"3\",\"deadLetterTargetArn\":\"arn\"}",
            ),
            (Name::DelaySeconds, "7"),
        ];
        let mut observed: Attributes = observed.map(|(name, value)| (name, value.to_owned())).into();
        assert_eq!(differing(mutable(&parameters()), &observed), Attributes::new());
        observed.insert(Name::VisibilityTimeout, "30".to_owned());
        let only: Attributes = [(Name::VisibilityTimeout, "45".to_owned())].into();
        assert_eq!(
            differing(mutable(&parameters()), &observed),
            only,
            "an equal attribute is not sent"
        );
    }

    #[test]
    fn the_order_of_source_queues_does_not_count() {
        let allow = |text: &str| Attributes::from([(Name::RedriveAllowPolicy, text.to_owned())]);
        let desired = allow(r#"{"redrivePermission":"byQueue","sourceQueueArns":["b","a"]}"#);
        let observed = allow(r#"{"sourceQueueArns":["a","b"],"redrivePermission":"byQueue"}"#);
        assert_eq!(differing(desired.clone(), &observed), Attributes::new());
        assert_eq!(
            differing(desired.clone(), &allow(r#"{"redrivePermission":"denyAll"}"#)),
            desired
        );
    }

    #[test]
    fn absent_attributes_read_as_off_or_empty() {
        let observed = to_parameters("jobs", "eu-west-1", &Attributes::new(), Tags::new());
        assert_eq!(observed.fifo_queue, Some(false));
        assert_eq!(observed.policy.as_deref(), Some(""));
        assert_eq!(observed.delay_seconds, None);
    }

    #[test]
    fn a_standard_queue_sends_no_empty_attributes_and_no_fifo() {
        let desired = QueueParameters {
            policy: Some(String::new()),
            content_based_deduplication: Some(false),
            fifo_queue: Some(false),
            ..parameters()
        };
        let names: Vec<Name> = initial(&desired).into_keys().collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let fifo = QueueParameters {
            fifo_queue: Some(true),
            ..desired
        };
        assert_eq!(
            initial(&fifo).get(&Name::FifoQueue).map(String::as_str),
            Some("true")
        );
    }
}
