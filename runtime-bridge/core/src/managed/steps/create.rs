//! The intent rule: what is written before a Create, and the Create itself.

use std::{collections::BTreeMap, ops::ControlFlow::Break, time::Duration};

use crate::managed::{
    approval,
    context::{Absence, Found, ReconcileContext},
    decision::{Event, Purpose},
    names,
    record::{ConfigIdentity, Details, Intent, IntentVerb, Record, RecordedParameters},
    report::Report,
    resolve_intent, rules,
    status::ConditionValue,
    step::{Flow, NEXT},
};
use crate::{
    external::{Document, Verb},
    kind::NameSource,
    reasons::{ConditionReason, StopReason, WarningEvent},
    rule::Rule,
};

/// The intent was written in this pass: now, and only now, its call may go.
pub fn send_recorded(ctx: &ReconcileContext) -> Flow {
    // Its intent stands: a suspension comes too late.
    if ctx.snapshot.suspension.is_some() && Rule::RecordedIsSentDuringSuspension.is_off() {
        return NEXT;
    }
    let Some((record, intent)) = ctx.record().and_then(|record| Some((record, record.create()?))) else {
        return NEXT; // A Delete is sent by its own step.
    };
    // So is a poll that drives on.
    if intent.operation.is_some() || !rules::is_just_recorded(ctx.memory, intent) {
        return NEXT;
    }
    // What was recorded, or nothing: a Secret or a config may have changed since.
    let same = rules::request_is_the_same(ctx.snapshot, record, intent, ctx.desired());
    let known =
        Rule::SentSecretsAreRecorded.is_off() || rules::secrets_are_recorded(record, intent, ctx.desired());
    if !same || !known {
        return NEXT;
    }
    // The same request each time: a name that an answer told is no part of it.
    let name = if ctx.snapshot.is_named_upstream() && !Rule::RepeatCarriesNoReportedName.is_off() {
        ""
    } else {
        &record.external_name
    };
    Break(ctx.call(name, Verb::Create, intent.deadline, |call| {
        if let RecordedParameters::Whole(parameters) = &intent.parameters
            && !Rule::RecordedParametersAreSent.is_off()
        {
            call.desired.parameters.clone_from(parameters);
        }
        call.token.clone_from(&intent.token);
        call.attempt = intent.attempt;
        call.outcome_unknown = intent.attempt > 0;
    }))
}

/// There is no resource, and the object wants one. The name that the plugin works out; empty where it does not.
fn wanted<'c>(ctx: &'c ReconcileContext) -> Option<&'c str> {
    match ctx.found() {
        _ if ctx.deleting() => None,
        Found::Unidentified => Some(""),
        Found::Absent(Absence { derived, .. }) => Some(derived),
        Found::Unobserved(_) | Found::Exists(..) => None,
    }
}

/// Neither may it be created, by policy or kind, nor does it exist.
pub fn stay_absent(ctx: &ReconcileContext) -> Flow {
    let may_create = ctx.snapshot.managed.policies.create && ctx.snapshot.kind.capabilities.can_create;
    if wanted(ctx).is_none() || may_create {
        return NEXT;
    }
    let missing = "external resource does not exist";
    let report = Report::failed(
        ConditionReason::ReconcileError,
        format!("observe failed: {missing}"),
    )
    .ready(ConditionValue::no(ConditionReason::Unavailable, ""))
    .event(Event::warning(
        WarningEvent::CannotObserveExternalResource,
        missing,
    ));
    Break(ctx.wait(report, None, Purpose::Drift))
}

/// The same desired state was rejected.
pub fn wait_for_change(ctx: &ReconcileContext) -> Flow {
    let rejected = ctx.memory.rejected(ctx.snapshot, Verb::Create);
    let Some(retry_state) = rejected.filter(|_| wanted(ctx).is_some()) else {
        return NEXT;
    };
    let report = Report::of_retry_state(Some(retry_state)).creating();
    Break(ctx.wait(report, ctx.next_try(retry_state), Purpose::Drift))
}

/// Beside another that creates the same, nobody could tell afterwards whose it is (trace 45).
pub fn stop_beside_another(ctx: &ReconcileContext) -> Flow {
    let counts = !ctx.snapshot.is_named_upstream() && !Rule::NothingBesideAnotherCreator.is_off();
    let Some(conflicting_object) = ctx
        .snapshot
        .conflicting_object
        .as_ref()
        .filter(|_| counts && wanted(ctx).is_some())
    else {
        return NEXT;
    };
    Break(ctx.stop(
        StopReason::DoublyOwned,
        format!("{conflicting_object} has the same external name, or is making it; give this object a name of its own with {}, or delete one of the two", names::EXTERNAL_NAME),
    ))
}

pub fn wait_for_call(ctx: &ReconcileContext) -> Flow {
    let running = ctx
        .record()
        .filter(|_| wanted(ctx).is_some())
        .and_then(|record| rules::may_still_run_until(ctx.snapshot, record, ctx.memory));
    match running {
        Some(over) => Break(ctx.wait(Report::synced().creating(), Some(over), Purpose::Operation)),
        None => NEXT,
    }
}

pub fn stop_without_name(ctx: &ReconcileContext) -> Flow {
    let kind = &ctx.snapshot.kind;
    if kind.external_name.source != NameSource::Derived || wanted(ctx) != Some("") {
        return NEXT;
    }
    Break(ctx.stop(
        StopReason::ExternalNameMissing,
        format!(
            "the plugin works out the names of {}, and does not tell this one's (Absent.external_name): that is a fault of the plugin, nothing is made before it is put right",
            kind.plural
        ),
    ))
}

/// Records what is about to be created.
pub fn record_intent(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let (Some(derived), Ok(config)) = (wanted(ctx), &snapshot.config) else {
        return NEXT;
    };
    let name = known_name(ctx, derived);
    let desired = ctx.desired();
    let record = Record {
        uid: snapshot.managed.uid.clone(),
        external_name: name.clone(),
        confirmed: false,
        adopted: false,
        name_conflict: false,
        intent: Some(Intent {
            verb: IntentVerb::Create,
            token: snapshot.fresh.token.clone(),
            attempt: 0,
            exclusive: false,
            token_exhausted: false,
            generation: snapshot.managed.generation,
            parameters: RecordedParameters::of(&desired.parameters, &desired.digest),
            started_at: snapshot.now,
            deadline: snapshot.now + snapshot.kind.timeouts.call,
            operation: None,
            operation_ended: false,
            unknown: Document::new(),
        }),
        deadline: None,
        provider_state: String::new(),
        sensitive_digest: desired.sensitive_digest.clone(),
        details: if rules::has_one_time_details(snapshot) {
            Details::Pending
        } else {
            Details::Complete
        },
        config: ConfigIdentity::replacing(ctx.record(), config),
        plugin_version: snapshot.plugin_version.clone(),
        incarnation: rules::next_incarnation(ctx.record()),
        replacement: approval::used_approvals(snapshot, ctx.record()),
        format: Record::kept_format(ctx.record()),
    };
    let others = snapshot
        .managed
        .annotations
        .iter()
        .filter(|(key, _)| *key != names::RECORD)
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if !record.fits(others) {
        return Break(ctx.stop(
            StopReason::RecordTooLarge,
            "the annotations of this object leave no room for the record of its creation; remove some that are not needed".to_owned(),
        ));
    }
    let mut annotations = BTreeMap::new();
    if snapshot.is_named_upstream() {
        annotations.insert(names::CREATE_PENDING.to_owned(), Some(pending(ctx)));
        // A former resource's name: it would be taken for the new one's.
        annotations.insert(names::EXTERNAL_NAME.to_owned(), None);
    } else {
        annotations.insert(names::EXTERNAL_NAME.to_owned(), Some(name));
    }
    Break(
        ctx.write_intent("record the intent to create", &record, annotations)
            .telling(recreated(ctx)),
    )
}

/// What was there, and what nobody here deleted, is created anew: somebody may want to know who did.
fn recreated(ctx: &ReconcileContext) -> Option<Event> {
    let former = ctx
        .record()
        .filter(|former| rules::confirmed(ctx.snapshot, former))?;
    let replaced = former.replacement.as_ref().and_then(|one| one.replaces.as_ref());
    if replaced.is_some() {
        return None;
    }
    let message = format!(
        "{:?} does not exist any more, though nothing here deleted it: it is created anew",
        former.external_name
    );
    Some(Event::warning(WarningEvent::RecreatingExternalResource, &message))
}

/// The name that the resource will have; empty where the cloud gives it.
fn known_name(ctx: &ReconcileContext, derived: &str) -> String {
    let snapshot = ctx.snapshot;
    let annotated = snapshot.managed.annotation(names::EXTERNAL_NAME);
    match snapshot.kind.external_name.source {
        NameSource::User if annotated.is_empty() => snapshot.managed.name.clone(),
        NameSource::User => annotated.to_owned(),
        NameSource::Derived => derived.to_owned(),
        NameSource::Provider if Rule::NewIntentForgetsName.is_off() => {
            let former = ctx.record();
            former
                .map(|record| record.external_name.clone())
                .unwrap_or_default()
        }
        NameSource::Provider => String::new(),
    }
}

/// The pending time must come after the times of earlier ends, or a Go reconciler would take it for settled.
fn pending(ctx: &ReconcileContext) -> String {
    let ended = [names::CREATE_SUCCEEDED, names::CREATE_FAILED]
        .into_iter()
        .filter_map(|key| ctx.snapshot.managed.annotated_time(key))
        .max();
    let now = ctx.snapshot.now;
    let after = ended.map_or(now, |ended| now.max(ended + Duration::from_secs(1)));
    resolve_intent::seconds(after)
}
