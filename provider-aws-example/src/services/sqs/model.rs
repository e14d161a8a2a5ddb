//! The types of a queue.

pub(super) mod attributes;
pub(super) mod url;

use crossbridge_sdk::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tags::{self, Tags};
use crate::validation::Violations;

/// An SQS queue.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueParameters {
    /// Name of the queue. That of a FIFO queue ends in .fifo.
    #[schemars(
        length(min = 1, max = 80),
        regex(pattern = r"^[A-Za-z0-9_-]{1,75}(\.fifo|[A-Za-z0-9_-]{0,5})$")
    )]
    pub(crate) name: String,
    /// AWS region; defaults to the region of the ProviderConfig.
    pub(crate) region: Option<String>,
    /// All tags of the queue. If omitted, existing tags are kept.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub(crate) tags: Option<Tags>,
    /// Whether the queue is a FIFO queue: messages stay in order and are delivered once.
    pub(crate) fifo_queue: Option<bool>,
    /// For how long a message that was received is hidden from others.
    #[schemars(range(min = 0, max = 43200))]
    pub(crate) visibility_timeout_seconds: Option<i64>,
    /// For how long a message is kept.
    #[schemars(range(min = 60, max = 1_209_600))]
    pub(crate) message_retention_period_seconds: Option<i64>,
    /// For how long a new message is hidden.
    #[schemars(range(min = 0, max = 900))]
    pub(crate) delay_seconds: Option<i64>,
    /// Size of the largest message.
    #[schemars(range(min = 1024, max = 1_048_576))]
    pub(crate) maximum_message_size_bytes: Option<i64>,
    /// For how long a receiver waits for a message.
    #[schemars(range(min = 0, max = 20))]
    pub(crate) receive_message_wait_time_seconds: Option<i64>,
    /// In a FIFO queue, messages of equal content are one.
    pub(crate) content_based_deduplication: Option<bool>,
    /// In a FIFO queue, within what messages are compared.
    #[schemars(extend("enum" = ["queue", "messageGroup"]))]
    pub(crate) deduplication_scope: Option<String>,
    /// In a FIFO queue, what the throughput quota applies to.
    #[schemars(extend("enum" = ["perQueue", "perMessageGroupId"]))]
    pub(crate) fifo_throughput_limit: Option<String>,
    /// Encryption with keys of SQS.
    pub(crate) sqs_managed_sse_enabled: Option<bool>,
    /// Encryption with a key of KMS: its id, ARN or alias. Empty text removes it.
    pub(crate) kms_master_key_id: Option<String>,
    /// For how long SQS uses a data key before it asks KMS again.
    #[schemars(range(min = 60, max = 86400))]
    pub(crate) kms_data_key_reuse_period_seconds: Option<i64>,
    /// The dead-letter queue, for messages that no consumer could process.
    pub(crate) redrive_policy: Option<RedrivePolicy>,
    /// Which queues may use this one as their dead-letter queue. All, if it was never set.
    pub(crate) redrive_allow_policy: Option<RedriveAllowPolicy>,
    /// The access policy, as JSON text. Empty text removes it.
    pub(crate) policy: Option<String>,
}

/// The dead-letter queue, for messages that no consumer could process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RedrivePolicy {
    /// ARN of the dead-letter queue, which is of the same type.
    pub(crate) dead_letter_target_arn: String,
    /// How often a message is received before it goes there.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) max_receive_count: i64,
}

/// Which queues may use this one as their dead-letter queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RedriveAllowPolicy {
    /// All of the account and region, none, or those that are listed.
    #[schemars(extend("enum" = ["allowAll", "denyAll", "byQueue"]))]
    pub(crate) redrive_permission: String,
    /// ARNs of queues, for byQueue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 10), extend("x-kubernetes-list-type" = "set"))]
    pub(crate) source_queue_arns: Option<Vec<String>>,
}

/// The observed state of a queue that is no parameter.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueStatus {
    /// ARN of the queue.
    pub(crate) arn: String,
    /// URL of the queue.
    pub(crate) url: String,
}

impl QueueParameters {
    pub(super) fn is_fifo(&self) -> bool {
        self.fifo_queue == Some(true)
    }

    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// `INVALID_SPEC` that names every invalid field.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let mut violations = Violations::default();
        tags::check(self.tags.as_ref(), &mut violations);
        violations.add_unless_policy("/policy", self.policy.as_deref());
        let named_fifo = self.name.to_ascii_lowercase().ends_with(".fifo");
        violations.add_if(
            self.is_fifo() && !named_fifo,
            "/name",
            "the name of a FIFO queue ends in .fifo",
        );
        violations.add_if(
            named_fifo && !self.is_fifo(),
            "/fifoQueue",
            "a queue whose name ends in .fifo is a FIFO queue: set fifoQueue",
        );
        let only_fifo = [
            (
                "/contentBasedDeduplication",
                self.content_based_deduplication == Some(true),
            ),
            ("/deduplicationScope", self.deduplication_scope.is_some()),
            ("/fifoThroughputLimit", self.fifo_throughput_limit.is_some()),
        ];
        for (path, given) in only_fifo {
            violations.add_if(given && !self.is_fifo(), path, "only a FIFO queue has this");
        }
        violations.add_if(
            self.fifo_throughput_limit.as_deref() == Some("perMessageGroupId")
                && self.deduplication_scope.as_deref() == Some("queue"),
            "/deduplicationScope",
            "with the throughput limit perMessageGroupId this is messageGroup",
        );
        if let Some(allow) = &self.redrive_allow_policy {
            let listed = allow
                .source_queue_arns
                .as_ref()
                .is_some_and(|arns| !arns.is_empty());
            violations.add_if(
                listed != (allow.redrive_permission == "byQueue"),
                "/redriveAllowPolicy/sourceQueueArns",
                "queues are listed with the permission byQueue, and only then",
            );
        }
        violations.add_if(
            self.sqs_managed_sse_enabled == Some(true)
                && self.kms_master_key_id.as_ref().is_some_and(|id| !id.is_empty()),
            "/kmsMasterKeyId",
            "encryption is either with keys of SQS or with a key of KMS",
        );
        violations.into_result()
    }
}
