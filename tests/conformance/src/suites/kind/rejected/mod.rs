//! Calls that must be rejected, and that change nothing.

mod deadlines;
mod malformed;
mod parameters;

use crossbridge_types::{FailureCode, ObserveResult, Outcome, OutcomeResult};

use crate::{
    assertion::assertions,
    kind_context::{KindContext, TestResource},
    spelling::{any_of, spell},
    suite::Suite,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    REQUIRED = "calls/required-fields-checked", Core, "plugin_service.proto",
        "A call without a REQUIRED field is INVALID_ARGUMENT.",
        "Check every REQUIRED field before anything else.";
    REQUIRED_NAMED = "calls/required-field-named", Core, "plugin_service.proto",
        "The rejection names the field that is missing by its dotted path.",
        "Put the path into the status message: target.owner.uid.";
    MALFORMED = "calls/malformed-rejected", Core, "plugin_service.proto",
        "A malformed token, marker, document or state is INVALID_ARGUMENT.",
        "The token is a UUID, a marker is of [a-z0-9-], a document is the text of one JSON object, a state has at most 4 KiB.";
    UNKNOWN_TYPE = "calls/unknown-type-not-found", Core, "plugin_service.proto",
        "A call about a type that is not served is gRPC NOT_FOUND.",
        "Return the status NOT_FOUND, not a Failure.";
    UNSUPPORTED = "calls/unsupported-unimplemented", Core, "KindCapabilities.can_update",
        "A call that the kind's capabilities rule out is gRPC UNIMPLEMENTED.",
        "Return the status UNIMPLEMENTED to each of Create, Update and Delete that the capabilities rule out.";
    DEADLINE_REQUIRED = "calls/deadline-required", Core, "plugin_service.proto",
        "A mutating call without a deadline is FAILED_PRECONDITION.",
        "Reject it before you begin anything.";
    LONG_DEADLINE = "calls/deadline-at-most-60s", Core, "plugin_service.proto",
        "A mutating call with a deadline beyond 60 s is FAILED_PRECONDITION.",
        "Reject it: what takes longer is an Operation.";
    EXPIRED_DEADLINE = "calls/expired-deadline-rejected", Core, "plugin_service.proto",
        "A call whose crossbridge-deadline-ms has passed is FAILED_PRECONDITION, and has no effect.",
        "Compare the metadata with the clock before you begin anything: gRPC's own deadline is relative.";
    NAME_RULES = "create/name-presence-checked", Core, "CreateRequest.target",
        "Create has a name where the user sets it, and none where the upstream assigns it; otherwise it is INVALID_ARGUMENT.",
        "Check target.external_name by the kind's source of names.";
    INVALID_NAME = "create/invalid-name-rejected", Core, "ExternalNameRules.pattern",
        "A name that breaks the kind's rules is Failure INVALID_SPEC, whose violation has an empty path.",
        "Check pattern and max_length, and name no field: the empty path means the external name.";
    INVALID = "create/invalid-example-rejected", Core, "KindExample.invalid_parameters",
        "The example's invalid parameters are rejected with INVALID_SPEC and EFFECT_NONE, and nothing is created.",
        "Check the desired state before you begin, or translate the upstream's rejection.";
    INVALID_NAMED = "create/invalid-field-named", Core, "Failure.violations",
        "The rejection names the field at fault.",
        "Add a violation with the field's JSON Pointer.";
    IMMUTABLE = "update/immutable-rejected", Core, "FailureCode.FAILURE_CODE_IMMUTABLE_FIELD",
        "An Update that changes an immutable field is IMMUTABLE_FIELD with EFFECT_NONE, and changes nothing.",
        "Compare immutable fields with what exists before you write.";
}

pub(crate) const SUITE: Suite<KindContext> = Suite {
    assertions: ALL,
    run: |ctx| Box::pin(run(ctx)),
};

async fn run(ctx: &KindContext) -> Result<(), Stop> {
    let resource = ctx.resource()?;
    malformed::run(ctx, &resource).await?;
    if !ctx.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    deadlines::run(ctx).await?;
    parameters::names(ctx, &resource).await?;
    parameters::invalid(ctx).await?;
    let resource = ctx.create_new().await?;
    parameters::immutable(ctx, &resource).await?;
    malformed::check_polls(ctx, &resource).await
}

/// Rejected with `EFFECT_NONE` and one of these codes.
fn rejected_with(outcome: &Outcome, codes: &[FailureCode]) -> Judgement {
    match &outcome.result {
        OutcomeResult::Failure(failure) => holds(
            codes.contains(&failure.code) && failure.effect == crossbridge_types::Effect::None,
            || {
                format!(
                    "expected {} with EFFECT_NONE, got {} with EFFECT_{}",
                    any_of(codes),
                    spell(failure.code),
                    spell(failure.effect)
                )
            },
        ),
        OutcomeResult::Completed(_) => Err(format!("expected {}, got completion", any_of(codes))),
        OutcomeResult::Operation(_) => Err(format!("expected {}, got an operation", any_of(codes))),
    }
}

/// Whether nothing exists under its name, where it has one.
async fn nothing_made(ctx: &KindContext, resource: &TestResource) -> Result<Judgement, Stop> {
    if resource.name().is_empty() && !ctx.observes_without_name() {
        return Ok(Ok(()));
    }
    ctx.wait_for_consistency().await;
    let observation = ctx.observe(resource).await?;
    Ok(holds(!matches!(observation, ObserveResult::Found(_)), || {
        "something was created".to_owned()
    }))
}
