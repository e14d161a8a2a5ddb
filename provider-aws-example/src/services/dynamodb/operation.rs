//! Operations on tables. A name may be reused, a table is not: an operation is bound to one table.

pub(super) mod poll;

use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::TableDescription;
use aws_smithy_types::DateTime;
use crossbridge_sdk::{Operation, OperationVerb, Outcome};
use serde::{Deserialize, Serialize};

use super::kind::Table;
use super::model::state::encode_state;
use crate::context::CallContext;
use crate::operation_handle::OperationHandle;

/// For so long after a change, a read that does not show it proves nothing: AWS reports changes late, and tags later than tables.
const CONSISTENCY_WINDOW: Duration = Duration::from_secs(30);

/// The handle of an operation on a table.
pub(super) type TableHandle = OperationHandle<TableOperation>;

/// The table that an operation changes, and how. Handles of former versions hold less.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TableOperation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<String>,
    /// The id of the table, which AWS never reuses.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// When AWS created the table, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none", rename = "created")]
    created_at: Option<i64>,
    /// When the change was sent, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none", rename = "since")]
    started_at: Option<i64>,
    /// The step of an update, as `TableChange` displays it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) step: Option<String>,
    /// Whether polls do what only a finished table allows.
    #[serde(skip_serializing_if = "std::ops::Not::not", rename = "driven")]
    pub(super) poll_driven: bool,
}

impl TableOperation {
    /// An operation on the described table of which nothing more is known.
    pub(super) fn on(description: &TableDescription, region: &str) -> Self {
        Self {
            region: Some(region.to_owned()),
            id: description.table_id().map(ToOwned::to_owned),
            created_at: created_at(description),
            ..Self::default()
        }
    }

    pub(super) fn with_started_at(self, now: SystemTime) -> Self {
        Self {
            started_at: seconds(now),
            ..self
        }
    }

    pub(super) fn with_step(self, step: String) -> Self {
        Self {
            step: Some(step),
            ..self
        }
    }

    pub(super) fn with_poll_driven(self, poll_driven: bool) -> Self {
        Self { poll_driven, ..self }
    }

    /// Whether the described table is the one of this operation, and not another that has its name now.
    fn is_on(&self, description: &TableDescription) -> bool {
        match (&self.id, description.table_id()) {
            (Some(expected), Some(id)) => expected == id,
            _ => match (self.created_at, created_at(description)) {
                (Some(expected), Some(created_at)) => expected == created_at,
                _ => true,
            },
        }
    }

    /// Whether a read may not show the change yet.
    pub(super) fn is_recent(&self, now: SystemTime) -> bool {
        let begun = self.started_at.or(self.created_at);
        let age = begun.zip(seconds(now)).map(|(begun, now)| now - begun);
        age.is_some_and(|age| age < CONSISTENCY_WINDOW.as_secs().cast_signed())
    }
}

/// The outcome of a call whose operation goes on.
pub(super) fn in_progress(context: &CallContext<'_>, handle: &TableHandle) -> Outcome<Table> {
    let (phase, message) = match handle.verb() {
        OperationVerb::Create => ("Creating", "AWS is creating the table"),
        OperationVerb::Update => ("Updating", "AWS is updating the table"),
        OperationVerb::Delete => ("Deleting", "AWS is deleting the table"),
    };
    let mut operation = Operation::new(handle.verb(), handle.encode())
        .poll_after(context.poll_interval)
        .phase(phase)
        .message(message);
    if handle.details.poll_driven {
        operation = operation.poll_driven();
    }
    Outcome::operation(operation)
        .external_name(&handle.name)
        .provider_state(encode_state(&context.session.region))
}

fn created_at(description: &TableDescription) -> Option<i64> {
    description.creation_date_time().map(DateTime::secs)
}

fn seconds(time: SystemTime) -> Option<i64> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(id: Option<&str>, created: i64) -> TableDescription {
        TableDescription::builder()
            .set_table_id(id.map(ToOwned::to_owned))
            .creation_date_time(DateTime::from_secs(created))
            .build()
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_table_is_identified_by_id_or_creation_time() {
        let operation = TableOperation::on(&table(Some("one"), 7), "eu-west-1");
        assert!(operation.is_on(&table(Some("one"), 7)));
        assert!(!operation.is_on(&table(Some("two"), 7)));
        let without_id = TableOperation::on(&table(None, 7), "eu-west-1");
        assert!(without_id.is_on(&table(Some("one"), 7)));
        assert!(!without_id.is_on(&table(Some("one"), 8)));
        let former_version = TableOperation::default();
        assert!(former_version.is_on(&table(Some("one"), 8)));
    }

    #[test]
    fn a_change_is_recent_for_half_a_minute() {
        let operation = TableOperation::on(&table(None, 100), "eu-west-1");
        assert!(operation.is_recent(at(129)) && !operation.is_recent(at(130)));
        let changed = operation.with_started_at(at(1000));
        assert!(changed.is_recent(at(1029)) && !changed.is_recent(at(1030)));
        assert!(!TableOperation::default().is_recent(at(0)));
    }

    #[test]
    fn handles_keep_their_encoding_and_former_ones_are_decoded() {
        let former = r#"{"version":1,"verb":"create","name":"t","region":"eu-west-1"}"#;
        let decoded = TableHandle::decode(former, "t").expect("a handle");
        assert_eq!(decoded.encode(), former);
        let operation = TableOperation::on(&table(Some("one"), 7), "eu-west-1").with_poll_driven(true);
        assert_eq!(
            TableHandle::new(OperationVerb::Create, "t", operation).encode(),
            r#"{"version":1,"verb":"create","name":"t","region":"eu-west-1","id":"one","created":7,"driven":true}"#
        );
        let operation = TableOperation::default()
            .with_started_at(at(9))
            .with_step("Capacity".to_owned());
        assert_eq!(
            TableHandle::new(OperationVerb::Update, "t", operation).encode(),
            r#"{"version":1,"verb":"update","name":"t","since":9,"step":"Capacity"}"#
        );
    }
}
