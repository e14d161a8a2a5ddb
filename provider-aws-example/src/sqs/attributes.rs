//! A queue's attributes: a map of texts in the API, typed parameters here.

use std::collections::BTreeMap;

use aws_sdk_sqs::types::QueueAttributeName as Name;
use crossbridge_sdk::serde_json::{Value, from_str, json};

use super::model::{QueueParameters, RedriveAllowPolicy, RedrivePolicy};
use crate::json_text;
use crate::ownership::Tags;

/// As the API has them.
pub(super) type Attributes = BTreeMap<Name, String>;

/// The wished attributes that can change at any time.
pub(super) fn mutable(wish: &QueueParameters) -> Attributes {
    let mut attributes = Attributes::new();
    let mut put = |name: Name, value: Option<String>| {
        if let Some(value) = value {
            attributes.insert(name, value);
        }
    };
    let number = |value: Option<i64>| value.map(|value| value.to_string());
    let flag = |value: Option<bool>| value.map(|value| value.to_string());
    put(Name::VisibilityTimeout, number(wish.visibility_timeout_seconds));
    put(
        Name::MessageRetentionPeriod,
        number(wish.message_retention_period_seconds),
    );
    put(Name::DelaySeconds, number(wish.delay_seconds));
    put(Name::MaximumMessageSize, number(wish.maximum_message_size_bytes));
    put(
        Name::ReceiveMessageWaitTimeSeconds,
        number(wish.receive_message_wait_time_seconds),
    );
    // A queue that is no FIFO queue knows no such attribute, not even as false.
    put(
        Name::ContentBasedDeduplication,
        flag(wish.content_based_deduplication.filter(|_| wish.is_fifo())),
    );
    put(Name::DeduplicationScope, wish.deduplication_scope.clone());
    put(Name::FifoThroughputLimit, wish.fifo_throughput_limit.clone());
    put(Name::SqsManagedSseEnabled, flag(wish.sqs_managed_sse_enabled));
    put(Name::KmsMasterKeyId, wish.kms_master_key_id.clone());
    put(
        Name::KmsDataKeyReusePeriodSeconds,
        number(wish.kms_data_key_reuse_period_seconds),
    );
    put(Name::Policy, wish.policy.clone());
    put(
        Name::RedrivePolicy,
        wish.redrive_policy.as_ref().map(|policy| {
            json!({
                "deadLetterTargetArn": policy.dead_letter_target_arn,
                "maxReceiveCount": policy.max_receive_count,
            })
            .to_string()
        }),
    );
    put(
        Name::RedriveAllowPolicy,
        wish.redrive_allow_policy
            .as_ref()
            .map(|policy| json!(policy).to_string()),
    );
    attributes
}

/// All wished attributes, for a new queue. What is empty there is not said at all.
pub(super) fn initial(wish: &QueueParameters) -> Attributes {
    let mut attributes = mutable(wish);
    attributes.retain(|_, value| !value.is_empty());
    if wish.is_fifo() {
        // Its opposite is said by leaving it out.
        attributes.insert(Name::FifoQueue, true.to_string());
    }
    attributes
}

/// The wished attributes that are not there.
pub(super) fn missing(wish: Attributes, found: &Attributes) -> Attributes {
    let mut missing = wish;
    missing.retain(|name, value| {
        let found = found.get(name).map_or("", String::as_str);
        let is_met = match name {
            Name::Policy => json_text::same(value, found),
            Name::RedrivePolicy => redrive_policy(value) == redrive_policy(found),
            Name::RedriveAllowPolicy => redrive_allow_policy(value) == redrive_allow_policy(found),
            _ => value.eq_ignore_ascii_case(found),
        };
        !is_met
    });
    missing
}

/// What was found, in the shape of the wish.
pub(super) fn observed(name: &str, region: &str, found: &Attributes, tags: Tags) -> QueueParameters {
    let text = |name: &Name| found.get(name).cloned();
    let number = |name: &Name| found.get(name).and_then(|value| value.parse().ok());
    let flag = |name: &Name| {
        Some(
            found
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
        redrive_policy: found
            .get(&Name::RedrivePolicy)
            .and_then(|policy| redrive_policy(policy)),
        redrive_allow_policy: found
            .get(&Name::RedriveAllowPolicy)
            .and_then(|policy| redrive_allow_policy(policy)),
        policy: Some(text(&Name::Policy).unwrap_or_default()),
    }
}

/// The count is written as a number by some and as text by others.
fn redrive_policy(text: &str) -> Option<RedrivePolicy> {
    let policy: Value = from_str(text).ok()?;
    let count = policy.get("maxReceiveCount")?;
    Some(RedrivePolicy {
        dead_letter_target_arn: policy.get("deadLetterTargetArn")?.as_str()?.to_owned(),
        max_receive_count: count.as_i64().or_else(|| count.as_str()?.parse().ok())?,
    })
}

/// The order of the queues does not count.
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

    fn wish() -> QueueParameters {
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
    fn policies_are_compared_by_what_they_mean() {
        let found = [
            (Name::VisibilityTimeout, "45"),
            (Name::Policy, "{\"a\":1}"),
            (
                Name::RedrivePolicy,
                "{\"maxReceiveCount\":\"3\",\"deadLetterTargetArn\":\"arn\"}",
            ),
            (Name::DelaySeconds, "7"),
        ];
        let mut found: Attributes = found.map(|(name, value)| (name, value.to_owned())).into();
        assert_eq!(missing(mutable(&wish()), &found), Attributes::new());
        found.insert(Name::VisibilityTimeout, "30".to_owned());
        let only: Attributes = [(Name::VisibilityTimeout, "45".to_owned())].into();
        assert_eq!(
            missing(mutable(&wish()), &found),
            only,
            "what is there is not sent again"
        );
    }

    #[test]
    fn queues_that_are_allowed_have_no_order() {
        let allow = |text: &str| Attributes::from([(Name::RedriveAllowPolicy, text.to_owned())]);
        let wish = allow(r#"{"redrivePermission":"byQueue","sourceQueueArns":["b","a"]}"#);
        let found = allow(r#"{"sourceQueueArns":["a","b"],"redrivePermission":"byQueue"}"#);
        assert_eq!(missing(wish.clone(), &found), Attributes::new());
        assert_eq!(
            missing(wish.clone(), &allow(r#"{"redrivePermission":"denyAll"}"#)),
            wish
        );
    }

    #[test]
    fn what_is_not_there_reads_as_off_or_empty() {
        let observed = observed("jobs", "eu-west-1", &Attributes::new(), Tags::new());
        assert_eq!(observed.fifo_queue, Some(false));
        assert_eq!(observed.policy.as_deref(), Some(""));
        assert_eq!(observed.delay_seconds, None);
    }

    #[test]
    fn a_new_queue_is_not_told_what_is_empty_and_a_standard_one_nothing_of_fifo() {
        let wish = QueueParameters {
            policy: Some(String::new()),
            content_based_deduplication: Some(false),
            fifo_queue: Some(false),
            ..wish()
        };
        let names: Vec<Name> = initial(&wish).into_keys().collect();
        assert_eq!(names.len(), 2, "{names:?}");
        let fifo = QueueParameters {
            fifo_queue: Some(true),
            ..wish
        };
        assert_eq!(
            initial(&fifo).get(&Name::FifoQueue).map(String::as_str),
            Some("true")
        );
    }
}
