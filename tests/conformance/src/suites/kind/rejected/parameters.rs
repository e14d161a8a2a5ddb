//! Names and desired states that the kind does not take.

use crossbridge_types::{Document, Failure, FailureCode, Mutability, NameSource, Outcome, OutcomeResult};
use serde_json::Value;
use tonic::Code;

use super::{IMMUTABLE, INVALID, INVALID_NAME, INVALID_NAMED, NAME_RULES, nothing_made, rejected_with};
use crate::{
    client::describe,
    comparison::{differences, is_about},
    fixtures::invalid_names,
    kind_context::{KindContext, TestResource, outcome_of},
    suites::plugin::kinds::rejected_as,
    verdict::{Judgement, Stop, holds},
};

/// A name where none may be, none where one must be, one that breaks the rules.
pub(super) async fn names(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    let wrong = match ctx.kind.external_name.source {
        NameSource::User => Some(resource.clone().with_name("")),
        NameSource::Provider => Some(resource.clone().with_name(&ctx.unused_name("")?)),
        NameSource::Derived => None,
    };
    match wrong {
        None => run_ctx.not_applicable(NAME_RULES, "names are derived"),
        Some(mut wrong) => {
            wrong.rejected = true;
            let response = ctx.create_under(&mut wrong, false, ctx.options()).await;
            run_ctx.judge(NAME_RULES, rejected_as(Code::InvalidArgument, response.map(drop)));
            ctx.remove(&wrong).await?;
        }
    }
    let broken = match ctx.kind.external_name.source {
        NameSource::User => invalid_names(&ctx.kind.external_name, &ctx.names),
        NameSource::Provider | NameSource::Derived => Vec::new(),
    };
    if broken.is_empty() {
        run_ctx.not_applicable(INVALID_NAME, "users give no names, or any name will do");
    }
    for name in broken {
        let mut wrong = ctx.resource()?.with_name(&name);
        let judgement = match ctx.create_under(&mut wrong, false, ctx.options()).await {
            Ok(outcome) => invalid_name(&outcome?),
            Err(status) => Err(format!(
                "expected Failure INVALID_SPEC, got {}",
                describe(&status)
            )),
        };
        run_ctx.registry.remove(&wrong);
        if judgement.is_err() && !wrong.rejected {
            // Perhaps it was created; such a name may be rejected in a Delete too.
            let _ = ctx.remove(&wrong).await;
        }
        let judgement = judgement.map_err(|seen| format!("{name:?} of {} bytes: {seen}", name.len()));
        run_ctx.judge(INVALID_NAME, judgement);
    }
    Ok(())
}

fn invalid_name(outcome: &Outcome) -> Judgement {
    rejected_with(outcome, &[FailureCode::InvalidSpec])?;
    match &outcome.result {
        OutcomeResult::Failure(failure) => holds(
            failure
                .violations
                .iter()
                .any(|violation| violation.path.is_empty()),
            || "no violation with an empty path reports that the name is at fault".to_owned(),
        ),
        _ => Ok(()),
    }
}

/// The example's invalid parameters.
pub(super) async fn invalid(ctx: &KindContext) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    let Some(parameters) = &ctx.example.invalid_parameters else {
        let why = "the example has no invalid_parameters";
        run_ctx.not_applicable(INVALID, why);
        run_ctx.not_applicable(INVALID_NAMED, why);
        return Ok(());
    };
    let mut resource = ctx.resource()?.with_parameters(parameters);
    let outcome = ctx.create_once(&mut resource, false).await?;
    let created = nothing_made(ctx, &resource).await?;
    run_ctx.judge(
        INVALID,
        rejected_with(&outcome, &[FailureCode::InvalidSpec]).and(created),
    );
    if let OutcomeResult::Failure(failure) = &outcome.result {
        let good = ctx.example.create_parameters.clone().unwrap_or_default();
        run_ctx.judge(
            INVALID_NAMED,
            names_field(failure, &differences(&good, parameters)),
        );
    }
    ctx.remove(&resource).await
}

/// What creates a good desired state an invalid one is where they differ. Without any difference, a field must be named all the same.
fn names_field(failure: &Failure, differences: &[String]) -> Judgement {
    let named: Vec<&str> = failure
        .violations
        .iter()
        .map(|violation| violation.path.as_str())
        .filter(|path| !path.is_empty())
        .collect();
    let is_at_fault = |path: &&str| differences.iter().any(|at| is_about(path, at));
    holds(!named.is_empty(), || {
        format!("no field is named; it reports {:?}", failure.message)
    })?;
    holds(differences.is_empty() || named.iter().any(is_at_fault), || {
        format!("it names {named:?}; what is invalid lies in {differences:?}")
    })
}

/// Another value in each immutable field.
pub(super) async fn immutable(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    let desired = ctx.example.create_parameters.clone().unwrap_or_default();
    let others: Vec<_> = ctx
        .kind
        .field_rules
        .iter()
        .filter(|rule| rule.mutability == Mutability::Immutable)
        .filter_map(|rule| changed(&ctx.kind.parameters_schema, &desired, &rule.path))
        .collect();
    if others.is_empty() || !ctx.kind.capabilities.can_update {
        run_ctx.not_applicable(
            IMMUTABLE,
            "the example sets no immutable field of a kind that can be updated",
        );
        return Ok(());
    }
    let before = ctx.expect_exists(resource).await?;
    for other in others {
        let request = resource.clone().with_parameters(&other.desired).update();
        let outcome = outcome_of("Update", run_ctx.client.update(request, ctx.options()).await)?;
        let after = ctx.expect_exists(resource).await?;
        let same = holds(before.parameters == after.parameters, || {
            "it was changed".to_owned()
        });
        let judgement = rejected_as_immutable(&outcome, &other).and(same);
        run_ctx.judge(
            IMMUTABLE,
            judgement.map_err(|seen| format!("{}: {seen}", other.pointer)),
        );
        if run_ctx.has_failed(IMMUTABLE) {
            break;
        }
    }
    Ok(())
}

/// An invented value may be invalid besides, and one that the schema names may be where it meets another field.
fn rejected_as_immutable(outcome: &Outcome, other: &Changed) -> Judgement {
    let is_invalid_elsewhere = match &outcome.result {
        OutcomeResult::Failure(failure) => failure
            .violations
            .iter()
            .any(|violation| !violation.path.is_empty() && !is_about(&violation.path, &other.pointer)),
        _ => false,
    };
    if other.has_invalid_credentials || is_invalid_elsewhere {
        return rejected_with(outcome, &[FailureCode::ImmutableField, FailureCode::InvalidSpec]);
    }
    rejected_with(outcome, &[FailureCode::ImmutableField])
}

/// A desired state with another value in one field.
struct Changed {
    desired: Document,
    pointer: String,
    /// The schema names no other value as a valid one.
    has_invalid_credentials: bool,
}

/// The desired state with another value at a pointer that it holds.
fn changed(schema: &Value, desired: &Document, pointer: &str) -> Option<Changed> {
    let mut whole = Value::Object(desired.clone());
    let place = whole.pointer_mut(pointer)?;
    let known = allowed_values(schema, pointer)
        .into_iter()
        .find(|known| known != place && !known.is_null());
    let has_invalid_credentials = known.is_none() && !place.is_boolean();
    let other = match (known, &*place) {
        (Some(known), _) => known,
        (None, Value::String(text)) => Value::from(format!("{text}x")),
        (None, Value::Number(number)) => Value::from(number.as_i64()?.checked_add(1)?),
        (None, Value::Bool(on)) => Value::from(!*on),
        _ => return None,
    };
    *place = other;
    match whole {
        Value::Object(desired) => Some(Changed {
            desired,
            pointer: pointer.to_owned(),
            has_invalid_credentials,
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
