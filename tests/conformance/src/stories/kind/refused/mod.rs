//! Calls that must be refused, and that change nothing.

mod broken;
mod deadlines;
mod wishes;

use crossbridge_types::{FailureCode, Look, Outcome, OutcomeResult};

use crate::{
    assertion::assertions,
    lab::{Lab, Thing},
    story::Story,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    REQUIRED = "calls/required-fields-checked", Core, "plugin_service.proto",
        "A call without a REQUIRED field is INVALID_ARGUMENT.",
        "Check every REQUIRED field before anything else.";
    REQUIRED_NAMED = "calls/required-field-named", Core, "plugin_service.proto",
        "The refusal names the field that is missing by its dotted path.",
        "Put the path into the status message: target.owner.uid.";
    MALFORMED = "calls/malformed-refused", Core, "plugin_service.proto",
        "A malformed token, marker, document or state is INVALID_ARGUMENT.",
        "The token is a UUID, a marker is of [a-z0-9-], a document is the text of one JSON object, a state has at most 4 KiB.";
    UNKNOWN_TYPE = "calls/unknown-type-not-found", Core, "plugin_service.proto",
        "A call about a type that is not served is gRPC NOT_FOUND.",
        "Answer the status NOT_FOUND, not a Failure.";
    IMPOSSIBLE = "calls/impossible-unimplemented", Core, "KindCapabilities.can_update",
        "A call that the kind says that it cannot do is gRPC UNIMPLEMENTED.",
        "Answer the status UNIMPLEMENTED to each of Create, Update and Delete that the capabilities rule out.";
    NO_DEADLINE = "calls/deadline-demanded", Core, "plugin_service.proto",
        "A call that changes something without a deadline is FAILED_PRECONDITION.",
        "Refuse it before you begin anything.";
    LONG_DEADLINE = "calls/deadline-at-most-60s", Core, "plugin_service.proto",
        "A call that changes something with a deadline beyond 60 s is FAILED_PRECONDITION.",
        "Refuse it: what takes longer is an Operation.";
    LATE = "calls/late-refused", Core, "plugin_service.proto",
        "A call whose crossbridge-deadline-ms has passed is FAILED_PRECONDITION, and does nothing.",
        "Compare the metadata with the clock before you begin anything: gRPC's own deadline is relative.";
    NAME_RULES = "create/name-where-it-belongs", Core, "CreateRequest.target",
        "Create has a name where the user gives it, and none where the upstream does; else it is INVALID_ARGUMENT.",
        "Check target.external_name by the kind's source of names.";
    BAD_NAME = "create/bad-name-refused", Core, "ExternalNameRules.pattern",
        "A name that breaks the kind's rules is Failure INVALID_SPEC, whose violation has an empty path.",
        "Check pattern and max_length, and name no field: the empty path means the external name.";
    INVALID = "create/invalid-example-refused", Core, "KindExample.invalid_parameters",
        "The example's invalid parameters are refused with INVALID_SPEC and EFFECT_NONE, and nothing is made.",
        "Check the wish before you begin, or translate the upstream's refusal.";
    INVALID_NAMED = "create/invalid-field-named", Core, "Failure.violations",
        "The refusal names the field at fault.",
        "Add a violation with the field's JSON Pointer.";
    IMMUTABLE = "update/immutable-refused", Core, "FailureCode.FAILURE_CODE_IMMUTABLE_FIELD",
        "An Update that changes an immutable field is IMMUTABLE_FIELD with EFFECT_NONE, and changes nothing.",
        "Compare immutable fields with what is there before you write.";
}

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
    let thing = lab.thing()?;
    broken::run(lab, &thing).await?;
    if !lab.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    deadlines::run(lab).await?;
    wishes::names(lab, &thing).await?;
    wishes::invalid(lab).await?;
    let thing = lab.made().await?;
    wishes::immutable(lab, &thing).await?;
    broken::polls(lab, &thing).await
}

/// Refused without effect with one of these codes.
fn refused_with(outcome: &Outcome, codes: &[FailureCode]) -> Judgement {
    match &outcome.result {
        OutcomeResult::Failure(failure) => holds(
            codes.contains(&failure.code) && failure.effect == crossbridge_types::Effect::None,
            || {
                format!(
                    "{codes:?} with effect None is due; it says {:?} with {:?}",
                    failure.code, failure.effect
                )
            },
        ),
        OutcomeResult::Completed(_) => Err(format!("{codes:?} is due; it was completed")),
        OutcomeResult::Operation(_) => Err(format!("{codes:?} is due; an operation began")),
    }
}

/// Nothing is there under its name, where it has one.
async fn nothing_made(lab: &Lab, thing: &Thing) -> Result<Judgement, Stop> {
    if thing.name().is_empty() && !lab.looks_without_name() {
        return Ok(Ok(()));
    }
    lab.wait_out_window().await;
    let look = lab.look(thing).await?;
    Ok(holds(!matches!(look, Look::Found(_)), || {
        "something was made".to_owned()
    }))
}
