//! The facts of an object as fields, for programs: what `trace -o json` prints.

use bridge_core::{
    managed::{Condition, Intent, OperationReport, Record, Status, Stored, names},
    queue::Priority,
};
use bridge_engine::object::Object;
use jiff::Timestamp;
use serde::Serialize;

use super::facts::{Facts, Reference, Secret, how_known, is_settled};
use crate::{admin::Seen, plugins::RecentCall};

/// An object, without what it desires.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header<'a> {
    kind: &'a str,
    api_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    name: &'a str,
    generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    deletion_timestamp: Option<Timestamp>,
}

/// One that stands for an external resource.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct View<'a> {
    object: Header<'a>,
    conditions: Vec<Condition>,
    external_name: Option<&'a str>,
    record: Option<RecordView>,
    operation: Option<OperationReport>,
    references: References<'a>,
    /// `None`: the bridge could not be asked.
    calls: Option<&'a [RecentCall]>,
    /// `None`: nothing.
    waits_for: Option<String>,
    next: Next<'a>,
}

/// What was sent in its name, and what is known of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase", untagged)]
enum RecordView {
    Unreadable {
        unreadable: String,
    },
    #[serde(rename_all = "camelCase")]
    Readable {
        name: String,
        /// `sent`, `confirmed` or `adopted`; `None`: no name is known.
        how: Option<&'static str>,
        name_conflict: bool,
        intent: Option<Box<IntentView>>,
        identity: String,
        plugin_version: String,
    },
}

#[derive(Serialize)]
struct IntentView {
    completed: bool,
    #[serde(flatten)]
    intent: Intent,
}

#[derive(Serialize)]
struct References<'a> {
    config: ConfigView<'a>,
    secrets: &'a [Secret],
}

#[derive(Serialize)]
struct ConfigView<'a> {
    #[serde(flatten)]
    reference: &'a Reference,
    /// `None`: it could not be read, and why stands beside it.
    exists: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    conditions: Vec<Condition>,
}

/// The next reconcile; without a purpose nothing is planned.
#[derive(Serialize, Default)]
pub(super) struct Next<'a> {
    running: bool,
    purpose: Option<Priority>,
    time: Option<Timestamp>,
    /// Why the bridge could not be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable: Option<&'a str>,
}

impl<'a> Header<'a> {
    pub(super) fn of(object: &'a Object) -> Self {
        Self {
            kind: object.api.kind.kind(),
            api_version: object.api.api_version(),
            namespace: object.namespace(),
            name: object.name(),
            generation: object.generation(),
            deletion_timestamp: object.meta.deletion_timestamp.as_ref().map(|time| time.0),
        }
    }
}

impl<'a> View<'a> {
    pub(super) fn of(facts: &'a Facts) -> Self {
        let status = Status::read(facts.object.status_value());
        Self {
            object: Header::of(&facts.object),
            external_name: facts.object.annotation(names::EXTERNAL_NAME),
            record: RecordView::of(&facts.object, &status),
            references: References {
                config: ConfigView::of(&facts.config),
                secrets: &facts.secrets,
            },
            calls: facts.seen.as_ref().ok().map(|seen| seen.calls.as_slice()),
            waits_for: facts.waiting_for(&status),
            next: Next::of(&facts.seen),
            conditions: status.conditions,
            operation: status.progress.operation,
        }
    }
}

impl RecordView {
    fn of(object: &Object, status: &Status) -> Option<Self> {
        match Stored::read(object.annotation(names::RECORD), object.uid()) {
            Stored::None => None,
            Stored::Unreadable(why) => Some(Self::Unreadable {
                unreadable: why.to_string(),
            }),
            Stored::Owned(record) => Some(Self::readable(*record, status)),
        }
    }

    fn readable(record: Record, status: &Status) -> Self {
        let completed = is_settled(&record, status);
        let how = how_known(&record, completed);
        Self::Readable {
            how: (!record.external_name.is_empty()).then_some(how),
            name: record.external_name,
            name_conflict: record.name_conflict,
            intent: record
                .intent
                .map(|intent| Box::new(IntentView { completed, intent })),
            identity: record.config.identity,
            plugin_version: record.plugin_version,
        }
    }
}

impl<'a> ConfigView<'a> {
    fn of(reference: &'a Reference) -> Self {
        let found = reference.object.as_ref();
        let object = found.ok().and_then(Option::as_ref);
        Self {
            reference,
            exists: found.ok().map(Option::is_some),
            error: found.err().map(String::as_str),
            conditions: object.map_or_else(Vec::new, |config| Status::read(config.status_value()).conditions),
        }
    }
}

impl<'a> Next<'a> {
    pub(super) fn of(seen: &'a Result<Seen, String>) -> Self {
        match seen {
            Err(why) => Self {
                unavailable: Some(why),
                ..Self::default()
            },
            Ok(seen) => seen.planned.as_ref().map_or_else(Self::default, |planned| Self {
                running: planned.running,
                purpose: planned.purpose,
                time: planned.next,
                unavailable: None,
            }),
        }
    }
}
