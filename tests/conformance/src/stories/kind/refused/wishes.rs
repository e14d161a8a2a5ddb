//! Names and wishes that the kind does not take.

use crossbridge_types::{Document, Failure, FailureCode, Mutability, NameSource, Outcome, OutcomeResult};
use serde_json::Value;
use tonic::Code;

use super::{BAD_NAME, IMMUTABLE, INVALID, INVALID_NAMED, NAME_RULES, nothing_made, refused_with};
use crate::{
    client::told,
    fixtures::broken_names,
    lab::{Lab, Thing, outcome_of},
    stories::plugin::kinds::refused_as,
    verdict::{Judgement, Stop, holds},
    wish::{differences, is_about},
};

/// A name where none may be, none where one must be, one that breaks the rules.
pub(super) async fn names(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    let bench = &lab.bench;
    let wrong = match lab.kind.external_name.source {
        NameSource::User => Some(thing.clone().named("")),
        NameSource::Provider => Some(thing.clone().named(&lab.fresh_name("")?)),
        NameSource::Derived => None,
    };
    match wrong {
        None => bench.not_applicable(NAME_RULES, "names are derived"),
        Some(mut wrong) => {
            wrong.refused = true;
            let answer = lab.create_under(&mut wrong, false, lab.terms()).await;
            bench.judge(NAME_RULES, refused_as(Code::InvalidArgument, answer.map(drop)));
            lab.remove(&wrong).await?;
        }
    }
    let broken = match lab.kind.external_name.source {
        NameSource::User => broken_names(&lab.kind.external_name, &lab.names),
        NameSource::Provider | NameSource::Derived => Vec::new(),
    };
    if broken.is_empty() {
        bench.not_applicable(BAD_NAME, "users give no names, or any name will do");
    }
    for name in broken {
        let mut wrong = lab.thing()?.named(&name);
        let judgement = match lab.create_under(&mut wrong, false, lab.terms()).await {
            Ok(outcome) => bad_name(&outcome?),
            Err(status) => Err(format!(
                "Failure INVALID_SPEC is due; it ended in {}",
                told(&status)
            )),
        };
        bench.registry.strike(&wrong);
        if judgement.is_err() && !wrong.refused {
            // Perhaps it was made; such a name may be refused in a Delete too.
            let _ = lab.remove(&wrong).await;
        }
        let judgement = judgement.map_err(|seen| format!("{name:?} of {} bytes: {seen}", name.len()));
        bench.judge(BAD_NAME, judgement);
    }
    Ok(())
}

fn bad_name(outcome: &Outcome) -> Judgement {
    refused_with(outcome, &[FailureCode::InvalidSpec])?;
    match &outcome.result {
        OutcomeResult::Failure(failure) => holds(
            failure
                .violations
                .iter()
                .any(|violation| violation.path.is_empty()),
            || "no violation with an empty path says that the name is at fault".to_owned(),
        ),
        _ => Ok(()),
    }
}

/// The example's invalid parameters.
pub(super) async fn invalid(lab: &Lab) -> Result<(), Stop> {
    let bench = &lab.bench;
    let Some(parameters) = &lab.example.invalid_parameters else {
        let why = "the example has no invalid_parameters";
        bench.not_applicable(INVALID, why);
        bench.not_applicable(INVALID_NAMED, why);
        return Ok(());
    };
    let mut thing = lab.thing()?.with_parameters(parameters);
    let outcome = lab.create_once(&mut thing, false).await?;
    let made = nothing_made(lab, &thing).await?;
    bench.judge(
        INVALID,
        refused_with(&outcome, &[FailureCode::InvalidSpec]).and(made),
    );
    if let OutcomeResult::Failure(failure) = &outcome.result {
        let good = lab.example.create_parameters.clone().unwrap_or_default();
        bench.judge(
            INVALID_NAMED,
            names_fault(failure, &differences(&good, parameters)),
        );
    }
    lab.remove(&thing).await
}

/// What makes a good wish an invalid one is where they differ. Without any difference, a field must be named all the same.
fn names_fault(failure: &Failure, differences: &[String]) -> Judgement {
    let named: Vec<&str> = failure
        .violations
        .iter()
        .map(|violation| violation.path.as_str())
        .filter(|path| !path.is_empty())
        .collect();
    let is_at_fault = |path: &&str| differences.iter().any(|at| is_about(path, at));
    holds(!named.is_empty(), || {
        format!("no field is named; it says {:?}", failure.message)
    })?;
    holds(differences.is_empty() || named.iter().any(is_at_fault), || {
        format!("it names {named:?}; what is invalid lies in {differences:?}")
    })
}

/// Another value in each immutable field.
pub(super) async fn immutable(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    let bench = &lab.bench;
    let wish = lab.example.create_parameters.clone().unwrap_or_default();
    let others: Vec<_> = lab
        .kind
        .field_rules
        .iter()
        .filter(|rule| rule.mutability == Mutability::Immutable)
        .filter_map(|rule| changed(&lab.kind.parameters_schema, &wish, &rule.path))
        .collect();
    if others.is_empty() || !lab.kind.capabilities.can_update {
        bench.not_applicable(
            IMMUTABLE,
            "the example sets no immutable field of a kind that can be updated",
        );
        return Ok(());
    }
    let before = lab.found(thing).await?;
    for other in others {
        let request = thing.clone().with_parameters(&other.wish).update();
        let outcome = outcome_of("Update", bench.client.update(request, lab.terms()).await)?;
        let after = lab.found(thing).await?;
        let same = holds(before.parameters == after.parameters, || {
            "it was changed".to_owned()
        });
        let judgement = refused_as_immutable(&outcome, &other).and(same);
        bench.judge(
            IMMUTABLE,
            judgement.map_err(|seen| format!("{}: {seen}", other.pointer)),
        );
        if bench.has_failed(IMMUTABLE) {
            break;
        }
    }
    Ok(())
}

/// A made-up value may be invalid besides, and one that the schema names may be where it meets another field.
fn refused_as_immutable(outcome: &Outcome, other: &Changed) -> Judgement {
    let is_invalid_elsewhere = match &outcome.result {
        OutcomeResult::Failure(failure) => failure
            .violations
            .iter()
            .any(|violation| !violation.path.is_empty() && !is_about(&violation.path, &other.pointer)),
        _ => false,
    };
    if other.is_made_up || is_invalid_elsewhere {
        return refused_with(outcome, &[FailureCode::ImmutableField, FailureCode::InvalidSpec]);
    }
    refused_with(outcome, &[FailureCode::ImmutableField])
}

/// A wish with another value in one field.
struct Changed {
    wish: Document,
    pointer: String,
    /// The schema says of no other value that it is a good one.
    is_made_up: bool,
}

/// The wish with another value at a pointer that it holds.
fn changed(schema: &Value, wish: &Document, pointer: &str) -> Option<Changed> {
    let mut whole = Value::Object(wish.clone());
    let place = whole.pointer_mut(pointer)?;
    let known = allowed_values(schema, pointer)
        .into_iter()
        .find(|known| known != place && !known.is_null());
    let is_made_up = known.is_none() && !place.is_boolean();
    let other = match (known, &*place) {
        (Some(known), _) => known,
        (None, Value::String(text)) => Value::from(format!("{text}x")),
        (None, Value::Number(number)) => Value::from(number.as_i64()?.checked_add(1)?),
        (None, Value::Bool(on)) => Value::from(!*on),
        _ => return None,
    };
    *place = other;
    match whole {
        Value::Object(wish) => Some(Changed {
            wish,
            pointer: pointer.to_owned(),
            is_made_up,
        }),
        _ => None,
    }
}

/// The `enum` of a field's schema.
fn allowed_values(schema: &Value, pointer: &str) -> Vec<Value> {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        path.push_str("/properties/");
        path.push_str(part);
    }
    schema
        .pointer(&format!("{path}/enum"))
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default()
}
