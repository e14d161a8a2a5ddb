//! What is known of an object, as a tree. No secrets are in it: it is built from what everybody may see who may see the object.

use std::{fmt, sync::Arc};

use bridge_core::{
    managed::{Condition, Intent, Record, RecordedParameters, Status, Stored, names},
    queue::Priority,
};
use bridge_engine::object::Object;
use jiff::{SignedDuration, Timestamp, Unit};
use serde::Serialize;

use super::tree::Tree;
use crate::{admin::Seen, plugins::RecentCall};

/// All that is known of one object, from the cluster and from the bridge.
pub(super) struct Facts {
    pub(super) now: Timestamp,
    pub(super) object: Object,
    pub(super) config: Reference,
    pub(super) secrets: Vec<Secret>,
    /// Or why the bridge could not be asked.
    pub(super) seen: Result<Seen, String>,
}

/// The config that it refers to.
#[derive(Serialize)]
pub(super) struct Reference {
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    /// `None`: it does not exist. Or why it could not be read.
    #[serde(skip)]
    pub(super) object: Result<Option<Arc<Object>>, String>,
}

/// A Secret that it refers to.
#[derive(Debug, Serialize)]
pub(super) struct Secret {
    /// The field of the spec, as in `forProvider.passwordSecretRef`.
    pub(super) field: String,
    pub(super) namespace: String,
    pub(super) name: String,
    /// Whether what is asked of it exists, for people.
    pub(super) state: String,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace.as_ref();
        let place = namespace
            .map(|namespace| format!("{namespace}/"))
            .unwrap_or_default();
        write!(f, "{} {place}{}", self.kind, self.name)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            namespace,
            name,
            state,
        } = self;
        write!(f, "Secret {namespace}/{name} ({field}): {state}")
    }
}

impl Facts {
    pub(super) fn tree(&self) -> Tree {
        let object = &self.object;
        let status = Status::read(object.status_value());
        let deletion = object.meta.deletion_timestamp.as_ref();
        let deleting = deletion.map(|time| Tree::new(format!("being deleted since {}", self.ago(time.0))));
        let name = match object.annotation(names::EXTERNAL_NAME) {
            Some(name) => format!("external name: {name}"),
            None => "external name: none yet".to_owned(),
        };
        Tree::new(title(object))
            .with(deleting)
            .with([self.conditions(&status)])
            .with([Tree::new(name), self.record(&status), self.operation(&status)])
            .with([Tree::new("refers to")
                .with([self.reference()])
                .with(self.secrets.iter().map(|secret| Tree::new(secret.to_string())))])
            .with([self.calls(), self.waits_for(&status), self.next()])
    }

    fn conditions(&self, status: &Status) -> Tree {
        if status.conditions.is_empty() {
            return Tree::new("conditions: none yet");
        }
        let generation = self.object.generation();
        Tree::new("conditions").with(
            status
                .conditions
                .iter()
                .map(|one| condition(one, generation, self.now)),
        )
    }

    fn record(&self, status: &Status) -> Tree {
        let record = match Stored::read(self.object.annotation(names::RECORD), self.object.uid()) {
            Stored::None => return Tree::new("record: none, nothing was ever sent"),
            Stored::Unreadable(why) => return Tree::new(format!("record: cannot be read: {why}")),
            Stored::Owned(record) => record,
        };
        let settled = is_settled(&record, status);
        let mut lines = Vec::new();
        if record.external_name.is_empty() {
            lines.push(Tree::new("no name is known"));
        } else {
            let how = how_known(&record, settled);
            lines.push(Tree::new(format!("name: {} ({how})", record.external_name)));
        }
        if record.name_conflict {
            lines.push(Tree::new("name conflict: another resource has this name"));
        }
        lines.extend(record.intent.as_ref().map(|intent| self.intent(intent, settled)));
        let identity = match record.config.identity.as_str() {
            "" => "identity: not reported by the plugin".to_owned(),
            identity => format!("called as {identity}"),
        };
        lines.push(Tree::new(format!(
            "{identity}, plugin version {}",
            record.plugin_version
        )));
        Tree::new("record").with(lines)
    }

    fn intent(&self, intent: &Intent, settled: bool) -> Tree {
        if settled {
            return Tree::new(format!(
                "last Create: completed, begun {}",
                self.ago(intent.started_at)
            ));
        }
        let parameters = match &intent.parameters {
            RecordedParameters::Whole(parameters) => serde_json::to_string(parameters).unwrap_or_default(),
            RecordedParameters::Digest(digest) => format!("too long to keep; digest {digest}"),
        };
        let operation = intent.operation.as_ref().map(|operation| {
            let driven = if operation.poll_driven {
                ", moves only when polled"
            } else {
                ""
            };
            Tree::new(format!("answered by the operation {}{driven}", operation.handle))
        });
        let line = format!(
            "unresolved {:?}, attempt {}, begun {}, deadline {}",
            intent.verb,
            intent.attempt,
            self.ago(intent.started_at),
            self.at(intent.deadline),
        );
        Tree::new(line)
            .with([
                Tree::new(format!("token: {}", intent.token)),
                Tree::new(format!("sent: {parameters}")),
            ])
            .with(operation)
    }

    fn operation(&self, status: &Status) -> Tree {
        let Some(operation) = &status.progress.operation else {
            return Tree::new("operation: none");
        };
        let progress = operation
            .progress
            .map(|percent| format!(", {percent} %"))
            .unwrap_or_default();
        let phase = if operation.phase.is_empty() {
            "under way"
        } else {
            &operation.phase
        };
        Tree::new(format!(
            "operation: {:?}, {phase}{progress}, since {}",
            operation.verb,
            self.ago(operation.since)
        ))
    }

    fn reference(&self) -> Tree {
        let name = self.config.to_string();
        match &self.config.object {
            Err(why) => Tree::new(format!("{name}: {why}")),
            Ok(None) => Tree::new(format!("{name}: does not exist")),
            Ok(Some(config)) => {
                let conditions = Status::read(config.status_value()).conditions;
                Tree::new(name).with(conditions.iter().map(|one| {
                    let message = if one.message.is_empty() {
                        String::new()
                    } else {
                        format!(": {}", one.message)
                    };
                    Tree::new(format!("{}={} ({}){message}", one.kind, one.status, one.reason))
                }))
            }
        }
    }

    fn calls(&self) -> Tree {
        match &self.seen {
            Err(why) => Tree::new(format!("last calls: unavailable: {why}")),
            Ok(seen) if seen.calls.is_empty() => Tree::new("last calls: none recorded"),
            Ok(seen) => Tree::new("last calls").with(seen.calls.iter().map(|call| self.call(call))),
        }
    }

    fn call(&self, call: &RecentCall) -> Tree {
        let RecentCall {
            method,
            code,
            described,
            milliseconds,
            ..
        } = call;
        let code = if code == "OK" {
            String::new()
        } else {
            format!(" [{code}]")
        };
        Tree::new(format!(
            "{method}, {}, {milliseconds} ms: {described}{code}",
            self.ago(call.ended)
        ))
    }

    fn waits_for(&self, status: &Status) -> Tree {
        let what = self.waiting_for(status);
        Tree::new(format!("waits for: {}", what.as_deref().unwrap_or("nothing")))
    }

    /// The most specific reason only.
    pub(super) fn waiting_for(&self, status: &Status) -> Option<String> {
        let unmet = |kind: &str| {
            status
                .conditions
                .iter()
                .find(|one| one.kind == kind && one.status != "True")
        };
        let sentence = |condition: &Condition| {
            let text = [&condition.message, &condition.reason]
                .into_iter()
                .find(|text| !text.is_empty());
            text.cloned().unwrap_or_default()
        };
        let what = if self.object.annotation(names::PAUSED) == Some("true") {
            format!("the annotation {} to be removed", names::PAUSED)
        } else if let Some(question) = &status.progress.question {
            format!(
                "an answer by the annotation {} to the question {}",
                names::CREATE_OUTCOME,
                question.id
            )
        } else if matches!(self.config.object, Ok(None)) {
            format!("{} to exist", self.config)
        } else if let Some(operation) = &status.progress.operation {
            format!("the operation that it began: {:?}", operation.verb)
        } else if !self.is_observed_generation_current(status) {
            match &self.seen {
                Ok(_) => "the bridge to reconcile it".to_owned(),
                Err(_) => "a bridge that reconciles it".to_owned(),
            }
        } else if let Some(condition) = unmet("Synced").or_else(|| unmet("Ready")) {
            sentence(condition)
        } else {
            return None;
        };
        Some(what)
    }

    /// Whether its conditions refer to its current generation.
    fn is_observed_generation_current(&self, status: &Status) -> bool {
        let synced = status.conditions.iter().find(|one| one.kind == "Synced");
        synced.is_some_and(|synced| synced.observed_generation == self.object.generation())
    }

    fn next(&self) -> Tree {
        Tree::new(next_reconcile(&self.seen, self.now, "it is checked for drift"))
    }

    fn ago(&self, then: Timestamp) -> String {
        ago(self.now, then)
    }

    fn at(&self, then: Timestamp) -> String {
        at(self.now, then)
    }
}

/// The status that names the token of a create confirms it.
pub(super) fn is_settled(record: &Record, status: &Status) -> bool {
    record
        .create()
        .is_some_and(|intent| status.progress.create_token == intent.token)
}

/// How the bridge came to the external name of a record.
pub(super) fn how_known(record: &Record, settled: bool) -> &'static str {
    match (record.confirmed || settled, record.adopted) {
        (_, true) => "adopted",
        (true, false) => "confirmed",
        (false, false) => "sent",
    }
}

/// Kind, name, version and generation.
pub(super) fn title(object: &Object) -> String {
    let namespace = object
        .namespace()
        .map(|namespace| format!("{namespace}/"))
        .unwrap_or_default();
    format!(
        "{} {namespace}{} ({}, generation {})",
        object.api.kind.kind(),
        object.name(),
        object.api.api_version(),
        object.generation()
    )
}

/// One condition, of an object that has this generation now.
pub(super) fn condition(condition: &Condition, generation: i64, now: Timestamp) -> Tree {
    let Condition {
        kind,
        status,
        reason,
        message,
        ..
    } = condition;
    let since = ago(now, condition.last_transition_time);
    let message = if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    };
    let stale = match condition.observed_generation {
        0 => String::new(),
        seen if seen == generation => String::new(),
        seen => format!(" [of generation {seen}]"),
    };
    Tree::new(format!(
        "{kind}={status} ({reason}), since {since}{message}{stale}"
    ))
}

/// When and why an object is reconciled next. `by_clock`: what that is for that no change caused.
pub(super) fn next_reconcile(seen: &Result<Seen, String>, now: Timestamp, by_clock: &str) -> String {
    let planned = match seen {
        Err(why) => return format!("next: unavailable: {why}"),
        Ok(seen) => seen.planned.as_ref(),
    };
    let Some(planned) = planned else {
        return "next: nothing is planned; the next change triggers a reconcile".to_owned();
    };
    let purpose = match planned.purpose {
        Some(Priority::UserChange) => "a change is reconciled",
        Some(Priority::Dependency) => "something that it depends on changed",
        Some(Priority::OperationPoll) => "the operation is polled",
        Some(Priority::DriftPoll) => by_clock,
        Some(Priority::InitialList) => "it is reconciled for the first time",
        None => "nothing is planned",
    };
    let when = planned
        .next
        .map(|next| format!(" {}", at(now, next)))
        .unwrap_or_default();
    let running = if planned.running {
        "a reconcile runs now; then "
    } else {
        ""
    };
    format!("next: {running}{purpose}{when}")
}

pub(super) fn ago(now: Timestamp, then: Timestamp) -> String {
    format!("{} ago", duration(now.duration_since(then)))
}

/// Past or to come.
pub(super) fn at(now: Timestamp, then: Timestamp) -> String {
    if then >= now {
        format!("in {}", duration(then.duration_since(now)))
    } else {
        ago(now, then)
    }
}

pub(super) fn millis(millis: u64) -> String {
    let whole = i64::try_from(millis).unwrap_or(i64::MAX);
    duration(SignedDuration::from_millis(whole))
}

/// Short, as people read it.
fn duration(time: SignedDuration) -> String {
    let unit = if time < SignedDuration::from_secs(10) {
        Unit::Millisecond
    } else {
        Unit::Second
    };
    format!("{:#}", time.max(SignedDuration::ZERO).round(unit).unwrap_or(time))
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
