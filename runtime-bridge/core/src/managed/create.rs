//! The intent rule and the repeat rule: what is written before a Create, and the Create itself.

use std::collections::BTreeMap;

use crate::rule::Rule;
use crate::{
    external::Verb,
    kind::NameSource,
    reasons::{ConditionReason, StopReason, WarningEvent},
};

use super::{
    context::ReconcileContext,
    decision::{Decision, Event, Purpose},
    names,
    record::{ConfigIdentity, Details, Intent, IntentVerb, Record, RecordedParameters},
    replacement,
    report::Report,
    resolve_intent, rules,
    status::ConditionValue,
};

/// The intent was written in this pass: now, and only now, its call may go.
pub(super) fn send_recorded_intent(ctx: &ReconcileContext) -> Option<Decision> {
    let record = ctx.record.as_ref()?;
    let intent = record.intent.as_ref()?;
    let create = intent.verb == IntentVerb::Create && intent.operation.is_none();
    if !create || !rules::is_just_recorded(ctx.memory, intent) {
        return None; // A Delete, and a poll that drives on, are sent by their own branches.
    }
    // What was recorded, or nothing: a Secret or a config may have changed since.
    let same = rules::request_is_the_same(ctx.snapshot, record, intent, &ctx.desired);
    let known =
        Rule::SentSecretsAreRecorded.is_off() || rules::secrets_are_recorded(record, intent, &ctx.desired);
    if !same || !known {
        return None;
    }
    // The same request each time: a name that an answer told is no part of it.
    let name = if ctx.snapshot.is_named_upstream() && !Rule::RepeatCarriesNoReportedName.is_off() {
        ""
    } else {
        &record.external_name
    };
    Some(ctx.call(name, Verb::Create, intent.deadline, |call| {
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

/// Records what is about to be made. `derived` is the name that the plugin works out; empty where it does not.
pub(super) fn begin(ctx: &ReconcileContext, derived: &str) -> Decision {
    let snapshot = ctx.snapshot;
    if !snapshot.managed.policies.create || !snapshot.kind.capabilities.can_create {
        return stay_absent(ctx);
    }
    if let Some(retry_state) = ctx.memory.refused(snapshot, Verb::Create) {
        return ctx.wait(
            Report::of_retry_state(Some(retry_state)).creating(),
            None,
            Purpose::Drift,
        );
    }
    // Beside another that makes the same, nobody could tell afterwards whose it is (trace 45).
    if let Some(conflicting_object) = snapshot
        .conflicting_object
        .as_ref()
        .filter(|_| !snapshot.is_named_upstream() && !Rule::NothingBesideAnotherCreator.is_off())
    {
        return ctx.stop(
            StopReason::DoublyOwned,
            format!("{conflicting_object} has the same external name, or is making it; give this object a name of its own with {}, or delete one of the two", names::EXTERNAL_NAME),
        );
    }
    if let Some(over) = ctx
        .record
        .as_ref()
        .and_then(|record| rules::may_still_run_until(snapshot, record, ctx.memory))
    {
        return ctx.wait(Report::synced().creating(), Some(over), Purpose::Operation);
    }
    let Ok(config) = &snapshot.config else {
        return ctx.wait(Report::default(), None, Purpose::Retry);
    };
    if snapshot.kind.external_name.source == NameSource::Derived && derived.is_empty() {
        return ctx.stop(
            StopReason::ExternalNameMissing,
            format!(
                "the plugin works out the names of {}, and does not tell this one's (Absent.external_name): that is a fault of the plugin, nothing is made before it is put right",
                snapshot.kind.plural
            ),
        );
    }
    let name = known_name(ctx, derived);
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
            parameters: RecordedParameters::of(&ctx.desired.parameters, &ctx.desired.digest),
            started_at: snapshot.now,
            deadline: snapshot.now + snapshot.kind.timeouts.call,
            operation: None,
            operation_ended: false,
        }),
        deadline: None,
        provider_state: String::new(),
        sensitive_digest: ctx.desired.sensitive_digest.clone(),
        details: if rules::has_one_time_details(snapshot) {
            Details::Pending
        } else {
            Details::Complete
        },
        config: ConfigIdentity::of(config),
        plugin_version: snapshot.plugin_version.clone(),
        incarnation: rules::next_incarnation(ctx.record.as_ref()),
        replacement: replacement::used_approvals(snapshot, ctx.record.as_ref()),
    };
    let others = snapshot
        .managed
        .annotations
        .iter()
        .filter(|(key, _)| *key != names::RECORD)
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if !record.fits(others) {
        return ctx.stop(
            StopReason::RecordTooLarge,
            "the annotations of this object leave no room for the record of its creation; remove some that are not needed".to_owned(),
        );
    }
    let mut annotations = BTreeMap::new();
    if snapshot.is_named_upstream() {
        annotations.insert(names::CREATE_PENDING.to_owned(), Some(pending(ctx)));
        // A former resource's name: it would be taken for the new one's.
        annotations.insert(names::EXTERNAL_NAME.to_owned(), None);
    } else {
        annotations.insert(names::EXTERNAL_NAME.to_owned(), Some(name));
    }
    ctx.write_intent("record the intent to create", &record, annotations)
}

/// Neither may it be created, by policy or kind, nor is it there.
fn stay_absent(ctx: &ReconcileContext) -> Decision {
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
    ctx.wait(report, None, Purpose::Drift)
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
            let former = ctx.record.as_ref();
            former
                .map(|record| record.external_name.clone())
                .unwrap_or_default()
        }
        NameSource::Provider => String::new(),
    }
}

/// The same request once more: same token and parameters, a new deadline (traces 9, 11).
pub(super) fn repeat(ctx: &ReconcileContext, record: &Record, exclusive: bool) -> Decision {
    let mut record = record.clone();
    if let Some(intent) = record.intent.as_mut() {
        intent.attempt += 1;
        intent.exclusive = exclusive;
        // Alone, its turn begins anew: a mere hindrance ends nothing, and another refusal does.
        intent.token_exhausted &= !exclusive || Rule::ExclusiveRenewsToken.is_off();
        intent.deadline = ctx.snapshot.now + ctx.snapshot.kind.timeouts.call;
        (intent.operation, intent.operation_ended) = (None, false);
        // Which value an attempt brought nobody knows any more: what the resource holds then counts as another one.
        if Rule::RepeatForgetsAppliedSecrets.is_off() {
            record.sensitive_digest.clone_from(&ctx.desired.sensitive_digest);
        } else if record.sensitive_digest != ctx.desired.sensitive_digest {
            record.sensitive_digest.clear();
        }
    }
    ctx.write_intent("record that the create is repeated", &record, BTreeMap::new())
}

/// The pending time must come after the times of earlier ends, or a Go reconciler would take it for settled.
fn pending(ctx: &ReconcileContext) -> String {
    let ended = [names::CREATE_SUCCEEDED, names::CREATE_FAILED]
        .into_iter()
        .filter_map(|key| ctx.snapshot.managed.annotated_time(key))
        .max();
    let now = ctx.snapshot.now;
    let after = ended.map_or(now, |ended| now.max(ended + std::time::Duration::from_secs(1)));
    resolve_intent::seconds(after)
}
