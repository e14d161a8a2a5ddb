//! What an operation on a table is about: names come again, tables do not.

use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::TableDescription;
use aws_smithy_types::DateTime;
use serde::{Deserialize, Serialize};

use crate::handle::Handle;

/// AWS tells late of what has just been done, and of tags later than of tables. For so long after a change, a look that does not show it
/// says nothing.
pub(super) const SETTLES: Duration = Duration::from_secs(30);

/// The handle of an operation on a table.
pub(super) type TableHandle = Handle<About>;

/// Which table, and what is being done to it. Handles of former versions hold less.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct About {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) region: Option<String>,
    /// The id that AWS gives to every table anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// When AWS made the table, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<i64>,
    /// When the change was sent, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<i64>,
    /// Which step of an update this is: see `plan::Change`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) step: Option<String>,
    /// Polls do what only a finished table takes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) driven: bool,
}

impl About {
    /// The table that AWS describes, as it is.
    pub(super) fn of(table: &TableDescription, region: &str) -> Self {
        Self {
            region: Some(region.to_owned()),
            id: table.table_id().map(ToOwned::to_owned),
            created: created(table),
            ..Self::default()
        }
    }

    /// A change of it that is sent now.
    pub(super) fn changed(self, now: SystemTime) -> Self {
        Self {
            since: seconds(now),
            ..self
        }
    }

    /// This step of an update.
    pub(super) fn step(self, step: String) -> Self {
        Self {
            step: Some(step),
            ..self
        }
    }

    /// With or without work for the polls.
    pub(super) fn driven(self, driven: bool) -> Self {
        Self { driven, ..self }
    }

    /// Whether what AWS describes is this table, and not another that has its name now.
    pub(super) fn is(&self, table: &TableDescription) -> bool {
        match (&self.id, table.table_id()) {
            (Some(ours), Some(found)) => ours == found,
            _ => match (self.created, created(table)) {
                (Some(ours), Some(found)) => ours == found,
                _ => true,
            },
        }
    }

    /// Whether a look may not show yet what was done.
    pub(super) fn is_fresh(&self, now: SystemTime) -> bool {
        let begun = self.since.or(self.created);
        let age = begun.zip(seconds(now)).map(|(begun, now)| now - begun);
        age.is_some_and(|age| age < SETTLES.as_secs().cast_signed())
    }
}

/// When AWS made a table, in seconds since 1970.
fn created(table: &TableDescription) -> Option<i64> {
    table.creation_date_time().map(DateTime::secs)
}

fn seconds(time: SystemTime) -> Option<i64> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use crossbridge_sdk::OperationVerb;

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
    fn a_table_is_known_by_its_id_and_else_by_its_time() {
        let about = About::of(&table(Some("one"), 7), "eu-west-1");
        assert!(about.is(&table(Some("one"), 7)));
        assert!(!about.is(&table(Some("two"), 7)));
        let without = About::of(&table(None, 7), "eu-west-1");
        assert!(without.is(&table(Some("one"), 7)));
        assert!(!without.is(&table(Some("one"), 8)));
        assert!(About::default().is(&table(Some("one"), 8)), "a former version's");
    }

    #[test]
    fn what_was_just_done_may_not_be_seen_yet() {
        let about = About::of(&table(None, 100), "eu-west-1");
        assert!(about.is_fresh(at(129)) && !about.is_fresh(at(130)));
        let changed = about.changed(at(1000));
        assert!(changed.is_fresh(at(1029)) && !changed.is_fresh(at(1030)));
        assert!(!About::default().is_fresh(at(0)));
    }

    #[test]
    fn handles_keep_their_form_and_former_ones_are_read() {
        let former = r#"{"version":1,"verb":"create","name":"t","region":"eu-west-1"}"#;
        let read = TableHandle::read(former, "t").expect("it is read");
        assert_eq!(read.text(), former);
        let about = About::of(&table(Some("one"), 7), "eu-west-1").driven(true);
        assert_eq!(
            TableHandle::new(OperationVerb::Create, "t", about).text(),
            r#"{"version":1,"verb":"create","name":"t","region":"eu-west-1","id":"one","created":7,"driven":true}"#
        );
    }
}
