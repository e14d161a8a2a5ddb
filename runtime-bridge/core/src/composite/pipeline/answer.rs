//! Is a response within bounds?

use std::io;

use serde_json::Value;

use crate::function::{Condition, DesiredState, RunResponse, Severity};

use super::limits::{DesiredName, Limits, Violation, beginning};

/// Whether the run ends with it.
pub(super) fn is_fatal(response: &RunResponse) -> bool {
    let mut results = response.results.iter();
    results.any(|result| result.severity == Severity::Fatal)
}

/// The first of the limits that a response exceeds, the same one each time. Of a fatal one nothing is desired, but its conditions are set.
pub(super) fn check(response: &RunResponse, limits: &Limits) -> Result<(), Violation> {
    let (count, limit) = (response.results.len(), limits.results);
    if count > limit {
        return Err(Violation::Results { count, limit });
    }
    check_conditions(&response.conditions, limits)?;
    let required = &response.requirements;
    let count = required.extra_resources.len() + required.resources.len() + required.schemas.len();
    let limit = limits.requirements;
    if count > limit {
        return Err(Violation::Requirements { count, limit });
    }
    if is_fatal(response) {
        return Ok(());
    }
    check_desired(&response.desired, limits)
}

/// All of them stand in the status, which no API server stores once it is too large.
fn check_conditions(conditions: &[Condition], limits: &Limits) -> Result<(), Violation> {
    let (count, limit) = (conditions.len(), limits.conditions);
    if count > limit {
        return Err(Violation::Conditions { count, limit });
    }
    let limit = limits.condition_type_bytes;
    for Condition { type_, .. } in conditions {
        if type_.is_empty() {
            return Err(Violation::EmptyConditionType);
        }
        if type_.len() > limit {
            let beginning = beginning(type_);
            return Err(Violation::ConditionType { beginning, limit });
        }
    }
    Ok(())
}

/// The name stands in an annotation of the object, and in conditions.
fn check_resource_name(name: &str, limits: &Limits) -> Result<(), Violation> {
    if name.is_empty() {
        return Err(Violation::EmptyResourceName);
    }
    let limit = limits.resource_name_bytes;
    if name.len() > limit {
        let beginning = beginning(name);
        return Err(Violation::ResourceName { beginning, limit });
    }
    Ok(())
}

fn check_desired(desired: &DesiredState, limits: &Limits) -> Result<(), Violation> {
    let (count, limit) = (desired.resources.len(), limits.composed);
    if count > limit {
        return Err(Violation::Composed { count, limit });
    }
    if let Some(composite) = &desired.composite {
        check_object(&composite.object, || DesiredName::Composite, limits)?;
    }
    for (name, resource) in &desired.resources {
        // First: the other messages hold the whole name.
        check_resource_name(name, limits)?;
        let composed = || DesiredName::Composed(name.clone());
        check_object(&resource.object, composed, limits)?;
        let is_missing = |field: &&str| resource.object[*field].as_str().unwrap_or_default().is_empty();
        let missing = ["apiVersion", "kind"].into_iter().find(is_missing);
        if let Some(missing) = missing {
            let object = composed();
            return Err(Violation::Incomplete { object, missing });
        }
    }
    Ok(())
}

fn check_object(object: &Value, name: impl Fn() -> DesiredName, limits: &Limits) -> Result<(), Violation> {
    let limit = limits.nesting;
    if is_deeper(object, limit) {
        let object = name();
        return Err(Violation::Nesting { object, limit });
    }
    let limit = limits.object_bytes;
    let mut room = Room(limit);
    if serde_json::to_writer(&mut room, object).is_err() {
        let object = name();
        return Err(Violation::Size { object, limit });
    }
    Ok(())
}

/// Whether more maps and lists than that are within each other.
fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Object(object) => levels == 0 || object.values().any(|value| is_deeper(value, levels - 1)),
        Value::Array(elements) => levels == 0 || elements.iter().any(|value| is_deeper(value, levels - 1)),
        _ => false,
    }
}

/// Counts what is written to it, and fails when that is too much.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or_else(|| io::Error::from(io::ErrorKind::StorageFull))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
