//! What stands in objects: tenants write them, and a backup may bring back any of it.

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::{
    composite::{AppliedMark, requires},
    managed::{Annotations, Policies, Status, Stored, parse_go},
    protection,
};
use bridge_engine::object::{ApiType, Object};
use serde_json::Value;

use super::{in_proportion, same};
use crate::{Broken, Target, ensure, target::rejected};

const UID: &str = "0d3f7a52-1c55-4f0e-9b67-2f0a9c1b8e11";

/// The annotation of the record.
pub(super) const RECORD: Target = Target {
    name: "record",
    about: "annotation crossbridge.dev/record: what is read is written again to the letter, and is the object's own",
    words: &[
        UID,
        "Create",
        "Delete",
        "whole",
        "digest",
        "mustUnderstand",
        "format",
        "unknown",
        "intent.operation",
    ],
    judge: |input| {
        let text = String::from_utf8_lossy(input);
        match Stored::read(Some(&text), UID) {
            Stored::None => Ok("of another".to_owned()),
            Stored::Unreadable(why) => {
                ensure(!why.to_string().is_empty(), || "no reason is given".to_owned())?;
                Ok(format!("unreadable: {:.20}", why.to_string()))
            }
            Stored::Owned(record) => {
                ensure(record.uid == UID, || {
                    "another object's record is taken".to_owned()
                })?;
                let written = record.write();
                in_proportion("the record", written.len(), input, 8)?;
                let Stored::Owned(read) = Stored::read(Some(&written), UID) else {
                    return Err(Broken(format!("what was written cannot be read: {written}")));
                };
                same("the record", &written, &read.write())?;
                let intent = record.intent.as_ref();
                Ok(format!(
                    "owned: {:?} {:?} {:?} {}",
                    intent.map(|intent| (intent.verb, intent.operation.is_some())),
                    record.details,
                    record.deadline.is_some(),
                    record.replacement.is_some()
                ))
            }
        }
    },
};

/// Other annotations, each a text.
pub(super) const ANNOTATIONS: Target = Target {
    name: "annotations",
    about: "requirements, usages, digests and intervals: what is read is written again to the letter, within its limit",
    words: &[
        "applied/v1:",
        "created/v1:",
        "1h30m",
        "apiVersion",
        "kind",
        "matchLabels",
        "matchName",
        "step",
        "form",
        "Extra",
        "Schema",
    ],
    judge: |input| {
        let text = String::from_utf8_lossy(input);
        let mut kinds = Vec::new();
        let required = requires::decode(Some(&text));
        if let Some(written) = requires::encode(&required.steps) {
            ensure(
                written.len() <= 8 << 10 || requires::decode(Some(&written)).steps.is_empty(),
                || {
                    format!(
                        "the annotation has {} bytes and names each requirement",
                        written.len()
                    )
                },
            )?;
            in_proportion("the requirements", written.len(), input, 8)?;
            let read = requires::decode(Some(&written));
            if written.len() <= 8 << 10 && !read.steps.is_empty() {
                same("the requirements", &required.steps, &read.steps)?;
            }
            ensure(read.problem.is_none(), || {
                format!("what was written cannot be read: {written}")
            })?;
            kinds.push("requires");
        }
        if let Some(record) = protection::Record::parse(&text) {
            same(
                "the record of a usage",
                &Some(record.clone()),
                &protection::Record::parse(&record.to_string()),
            )?;
            kinds.push("usage");
        }
        if let Some(mark) = AppliedMark::parse(&text) {
            same("the mark", &text.clone().into_owned(), &mark.to_string())?;
            kinds.push("mark");
        }
        if let Some(interval) = parse_go(&text) {
            let millis = format!("{}ms", interval.as_millis());
            let again = parse_go(&millis).map(|again| again.as_millis());
            ensure(again == Some(interval.as_millis()), || {
                format!("{text:?} is {millis}, which is {again:?}")
            })?;
            kinds.push("interval");
        }
        if let Some(problem) = required.problem {
            ensure(!problem.why.is_empty(), || "no reason is given".to_owned())?;
        }
        Ok(format!("{kinds:?} {}", required.kinds.resources.len().min(3)))
    },
};

/// An object as the API server sends it.
pub(super) const OBJECT: Target = Target {
    name: "object",
    about: "objects: what is decoded is encoded again to the letter; a spec that cannot be read is never read as the default; a status is stable",
    words: &[
        "managementPolicies",
        "deletionPolicy",
        "Orphan",
        "Observe",
        "forProvider",
        "conditions",
        "crossbridge",
        "atProvider",
        "resourceVersion",
    ],
    judge: |input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return Ok("no text".to_owned());
        };
        let object = match Object::decode(&api(), text) {
            Ok(object) => object,
            Err(error) => return rejected(&error.to_string()),
        };
        let value = object.to_value();
        in_proportion("the object", value.to_string().len(), input, 8)?;
        // What is nested too deeply is not written.
        if !value.is_null() {
            let again = Object::decode(&api(), &value.to_string())
                .map_err(|error| Broken(format!("what was encoded cannot be decoded: {error}: {value}")))?;
            same("the object", &value, &again.to_value())?;
        }
        let written = object.spec().is_some_and(|spec| spec.get().trim() != "null");
        ensure(
            !written || !object.spec_value().is_null() || !object.has_readable_spec(),
            || "a spec that cannot be read counts as none".to_owned(),
        )?;
        let policies = Policies::of(&object.spec_value());
        let status = Status::read(object.status_value());
        same("the status", &status, &Status::read(status.write()))?;
        // Whatever annotations hold, they are shown by their names alone or read by those who know them.
        let annotations = object.meta.annotations.iter().flatten();
        let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let count = Annotations::from(annotations.collect::<BTreeMap<_, _>>()).len();
        Ok(format!(
            "{policies:?} {} {} {}",
            object.has_readable_spec(),
            status.conditions.len().min(3),
            count.min(3)
        ))
    },
};

fn api() -> Arc<ApiType> {
    thread_local! {
        static API: Arc<ApiType> = Arc::new(ApiType::new(
            &bridge_core::kind::ResourceType {
                group: "example.org".to_owned(),
                version: "v1".to_owned(),
                kind: "Bucket".to_owned(),
            },
            "buckets",
            true,
        ));
    }
    API.with(Arc::clone)
}

/// A value of JSON in an object, for targets that read a part of one.
pub(super) fn json(input: &[u8]) -> Option<Value> {
    serde_json::from_slice(input).ok()
}

/// An object of a config kind, in a namespace or not.
pub(super) fn config(namespace: Option<&str>, spec: &str) -> Option<Object> {
    // Else it could close its object, and write another namespace.
    let spec: Box<serde_json::value::RawValue> = serde_json::from_str(spec).ok()?;
    let namespace = namespace
        .map(|namespace| format!(r#","namespace":"{namespace}""#))
        .unwrap_or_default();
    let text =
        format!(r#"{{"metadata":{{"name":"c","uid":"u","resourceVersion":"1"{namespace}}},"spec":{spec}}}"#);
    Object::decode(&api(), &text).ok()
}
