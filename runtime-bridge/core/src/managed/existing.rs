//! The ordinary course: look, then make, adopt, change, or be content.

use crate::{
    external::{FieldDiff, Observation, Verb},
    kind::DiffMode,
    reasons::{ConditionReason, NormalEvent, StopReason, WarningEvent},
    rule::Rule,
};

use super::{
    context::ReconcileContext,
    create,
    decide::{nothing_else, readiness},
    decision::{Action, Decision, Event, MetadataChange, Purpose},
    diff, failure,
    last_observation::{LastObservation, ObservedState},
    names, operation,
    reconcile_memory::PublishState,
    record::{ConfigIdentity, Details, Record},
    replacement,
    report::Report,
    rules::{self, Ownership},
    snapshot::Snapshot,
    status::ConditionValue,
};

/// Looks, and goes on from what is found.
pub(super) fn reconcile_existing(ctx: &ReconcileContext) -> Decision {
    let Some(name) = ctx.snapshot.name_to_observe_by(ctx.record.as_ref()) else {
        return create::begin(ctx, "");
    };
    match ctx.memory.fresh_observation(ctx.snapshot, &name) {
        None => ctx.observe(&name),
        Some(last_observation) => match &last_observation.found {
            ObservedState::Exists(observation) => exists(ctx, last_observation, observation),
            ObservedState::Absent(state) => absent(ctx, last_observation, &name, &state.external_name),
        },
    }
}

fn absent(ctx: &ReconcileContext, last_observation: &LastObservation, name: &str, derived: &str) -> Decision {
    let snapshot = ctx.snapshot;
    // Made, and not to be seen yet: beside what runs nothing is begun.
    if operation::followed(ctx).is_some() {
        return operation::wait(ctx, ctx.memory.next_poll);
    }
    let known = ctx
        .record
        .as_ref()
        .filter(|record| rules::confirmed(snapshot, record));
    // A name that the user gave, to import what the upstream had named.
    let imported = snapshot.is_named_upstream() && !name.is_empty();
    if known.is_none() && !imported {
        return create::begin(ctx, derived);
    }
    if known.is_some_and(|record| !rules::same_location(snapshot, record)) {
        return ctx.stop(
            StopReason::ConfigIdentityChanged,
            format!("nothing is found under {name:?}, but the ProviderConfig now means another account or has other settings than when it was made; put it back, or delete this object and make another"),
        );
    }
    if !rules::absence_confirmed(snapshot, ctx.memory, last_observation) {
        let record = ctx.record.as_ref();
        let visible = record.and_then(|record| rules::visible_at(snapshot, record));
        let believed = match ctx.memory.absent_since {
            Some(since) => rules::absence_believed_after(snapshot, since),
            None => visible.unwrap_or(last_observation.began),
        };
        if snapshot.now > believed {
            return ctx.observe(name);
        }
        let report = Report::synced().ready(ConditionValue::no(
            ConditionReason::Unavailable,
            "the external resource cannot be found; looking again before it is made anew",
        ));
        let event = Event::normal(
            NormalEvent::PendingExternalResource,
            "Waiting for external resource existence to be confirmed",
        );
        return ctx.wait(
            report.event(event),
            Some(believed + std::time::Duration::from_millis(1)),
            Purpose::Operation,
        );
    }
    create::begin(ctx, derived)
}

fn exists(ctx: &ReconcileContext, last_observation: &LastObservation, observation: &Observation) -> Decision {
    let snapshot = ctx.snapshot;
    if let Some(stop) = in_another_account(ctx, observation) {
        return stop;
    }
    if let Some(why) = foreign_owner(snapshot, observation) {
        return ctx.stop(StopReason::DoublyOwned, why);
    }
    let Some(record) = &ctx.record else {
        return adopt(ctx, observation);
    };
    if !rules::confirmed(snapshot, record) && record.intent.is_none() {
        return adopt(ctx, observation);
    }
    let diffs = diff::differences(&snapshot.kind, &ctx.desired.parameters, observation);
    if let Some(decision) = renew(ctx, record, observation, &diffs) {
        return decision;
    }
    if observation.deleting {
        return in_sync(ctx, observation, None);
    }
    let found = Differences {
        secrets: record.sensitive_digest != ctx.desired.sensitive_digest,
        unmarked: snapshot.kind.capabilities.holds_marker && observation.found_marker != snapshot.marker,
        replaced: diffs
            .iter()
            .filter(|diff| is_replaced(snapshot, diff))
            .map(|diff| diff.path.as_str())
            .collect(),
        fields: &diffs,
    };
    // An empty marker may only not be seen yet.
    let waits = rules::visible_at(snapshot, record).filter(|visible| {
        found.unmarked && observation.found_marker.is_empty() && last_observation.began <= *visible
    });
    let is_in_sync = found.fields.is_empty() && !found.secrets && (!found.unmarked || waits.is_some());
    // Nothing is replaced before it bears the marker.
    let unseen = !found.replaced.is_empty() && waits.is_some();
    if is_in_sync || unseen {
        return match waits {
            Some(visible) if snapshot.now > visible => ctx.observe(&last_observation.name),
            waits => in_sync(ctx, observation, waits),
        };
    }
    differs(ctx, record, last_observation, observation, &found)
}

/// In what the resource differs from the desired state.
struct Differences<'a> {
    fields: &'a [FieldDiff],
    /// Those that only a replacement changes.
    replaced: Vec<&'a str>,
    secrets: bool,
    /// It does not bear our marker, though resources of its kind can.
    unmarked: bool,
}

impl Differences<'_> {
    /// For people: what an Update is to change.
    fn to_update(&self) -> String {
        let fields = self.fields.iter().map(|diff| diff.path.as_str());
        let mut all: Vec<&str> = fields.filter(|path| !self.replaced.contains(path)).collect();
        all.extend(self.secrets.then_some("sensitive values"));
        all.extend(self.unmarked.then_some("the ownership marker"));
        all.join(", ")
    }
}

fn is_replaced(snapshot: &Snapshot, diff: &FieldDiff) -> bool {
    diff.needs_replacement || !snapshot.kind.capabilities.can_update
}

/// What was found is in another account than ours: it is left alone, and ours is not forgotten.
pub(super) fn in_another_account(ctx: &ReconcileContext, observation: &Observation) -> Option<Decision> {
    let record = ctx.record.as_ref()?;
    rules::found_in_another_account(ctx.snapshot, record, observation).then(|| {
        let now = ctx.snapshot.config.as_ref().map_or("", |config| &config.identity);
        ctx.stop(
            StopReason::ConfigIdentityChanged,
            format!(
                "the ProviderConfig now acts as {now:?}, and {:?} was made as {:?}: what has this name there is another one; put the ProviderConfig back",
                observation.external_name, record.config.identity
            ),
        )
    })
}

/// Not in the record yet: it existed before us. Visibly made ours, unless somebody took the name from under our create.
fn adopt(ctx: &ReconcileContext, observation: &Observation) -> Decision {
    let snapshot = ctx.snapshot;
    let marked = rules::ownership(snapshot, observation) == Ownership::Owned;
    if rules::needs_confirmation(snapshot, ctx.record.as_ref(), observation) {
        return ctx.stop(
            StopReason::AlreadyExists,
            format!(
                "{:?} existed already when it was to be made; annotate {}={} if it shall be managed by this object, or choose another name with {}",
                observation.external_name,
                names::ADOPT,
                observation.external_name,
                names::EXTERNAL_NAME
            ),
        );
    }
    let Ok(config) = &snapshot.config else {
        return ctx.wait(Report::default(), None, Purpose::Retry);
    };
    let record = Record {
        uid: snapshot.managed.uid.clone(),
        external_name: observation.external_name.clone(),
        confirmed: true,
        adopted: !marked,
        name_conflict: false,
        intent: None,
        deadline: ctx.record.as_ref().and_then(|record| record.deadline),
        provider_state: observation.provider_state.clone(),
        sensitive_digest: String::new(),
        details: Details::Complete,
        config: ConfigIdentity::of(config),
        plugin_version: snapshot.plugin_version.clone(),
        incarnation: ctx.record.as_ref().map_or(0, |record| record.incarnation),
        replacement: replacement::used_approvals(snapshot, ctx.record.as_ref()),
    };
    let name = Some(observation.external_name.clone());
    let message = format!("took over {:?}, which existed already", observation.external_name);
    Decision::Act(Action::WriteMetadata(MetadataChange {
        why: "adopt what exists",
        add_finalizer: true,
        annotations: [
            (names::EXTERNAL_NAME.to_owned(), name),
            (names::RECORD.to_owned(), Some(record.write())),
        ]
        .into(),
        allows: None,
        event: (!marked).then(|| Event::normal(NormalEvent::AdoptedExternalResource, &message)),
    }))
}

/// Keeps the record true where only we are behind: settings that changed without moving the resource, a digest key that was lost.
fn renew(
    ctx: &ReconcileContext,
    record: &Record,
    observation: &Observation,
    diffs: &[FieldDiff],
) -> Option<Decision> {
    let snapshot = ctx.snapshot;
    let mut new = record.clone();
    let mut annotations = nothing_else();
    if !diffs.iter().any(|diff| is_replaced(snapshot, diff)) {
        replacement::resolve_intent(snapshot, &mut new, &mut annotations);
    }
    if !observation.provider_state.is_empty() {
        new.provider_state.clone_from(&observation.provider_state);
    }
    if let Ok(config) = &snapshot.config {
        new.config = record.config.renewed(ConfigIdentity::of(config));
    }
    let key = |digest: &str| digest.split_once(':').map(|(key, _)| key.to_owned());
    let (old_key, new_key) = (key(&record.sensitive_digest), key(&ctx.desired.sensitive_digest));
    if old_key.is_some() && new_key.is_some() && old_key != new_key {
        new.sensitive_digest.clone_from(&ctx.desired.sensitive_digest);
    }
    let lost = resolve_details(ctx, &mut new);
    let moved = (new.config.settings != record.config.settings).then(|| {
        let found = format!(
            "{:?} was found by other settings of the ProviderConfig than those it was made with, and is taken for the same",
            record.external_name
        );
        Event::normal(NormalEvent::ProviderConfigChanged, &found)
    });
    // A finalizer that somebody took away is put back: without it a deletion would leave the resource behind.
    (new != *record || !snapshot.managed.has_finalizer()).then(|| {
        ctx.write_record("renew the record", &new, annotations)
            .telling(lost.or(moved))
    })
}

/// It is there: so the answer of its create came, with what is given once, or it never will. The answer is an event, if they are lost.
fn resolve_details(ctx: &ReconcileContext, new: &mut Record) -> Option<Event> {
    let keys = ctx.memory.details_given_once(&ctx.snapshot.kind);
    if new.details == Details::Complete
        || operation::creation(ctx).is_some()
        || keys == PublishState::Unpublished
    {
        return None;
    }
    let known = keys == PublishState::Published || !rules::has_one_time_details(ctx.snapshot);
    new.details = if known { Details::Complete } else { Details::Lost };
    let lost = new.details == Details::Lost
        && ctx
            .record
            .as_ref()
            .is_some_and(|old| old.details == Details::Pending);
    lost.then(|| {
        Event::warning(
            WarningEvent::ConnectionDetailsLost,
            &rules::lost_connection_details(&ctx.snapshot.kind),
        )
    })
}

fn differs(
    ctx: &ReconcileContext,
    record: &Record,
    last_observation: &LastObservation,
    observation: &Observation,
    found: &Differences,
) -> Decision {
    let snapshot = ctx.snapshot;
    if !snapshot.managed.policies.update {
        return in_sync(ctx, observation, None);
    }
    // What lost its marker gets it back before it is replaced: nothing else distinguishes it from its successor (trace 52).
    if !found.replaced.is_empty() && (!found.unmarked || Rule::MarkedBeforeReplaced.is_off()) {
        return replacement::replace(
            ctx,
            record,
            last_observation,
            observation,
            &found.replaced.join(", "),
        );
    }
    if !snapshot.kind.capabilities.can_update {
        return match found.replaced.as_slice() {
            [] => in_sync(ctx, observation, None),
            fields => replacement::forbidden(
                ctx,
                observation,
                &format!(
                    "{} cannot be changed in place, and the resource does not bear the marker {} of this object, without which it is not replaced; set the marker, or change the fields back",
                    fields.join(", "),
                    snapshot.marker
                ),
            ),
        };
    }
    update(ctx, record, observation, found)
}

fn update(
    ctx: &ReconcileContext,
    record: &Record,
    observation: &Observation,
    found: &Differences,
) -> Decision {
    let snapshot = ctx.snapshot;
    if let Some(retry_state) = ctx.memory.refused(snapshot, Verb::Update) {
        let report = Report {
            ready: readiness(ctx),
            at_provider: observation.status.clone(),
            create_token: token(ctx),
            ..Report::of_retry_state(Some(retry_state))
        };
        return ctx.wait(report, None, Purpose::Drift);
    }
    if let Some(over) = rules::may_still_run_until(snapshot, record, ctx.memory) {
        return ctx.wait(in_sync_report(ctx, observation), Some(over), Purpose::Operation);
    }
    // What a look sees running need not be ours to be waited for.
    let runs = operation::running(ctx).is_some() || observation.operation.is_some();
    if runs && !snapshot.kind.capabilities.concurrent_update {
        return operation::wait(ctx, ctx.memory.next_poll);
    }
    // An update after which wish and fact still differ is not repeated at once for ever.
    if let Some((count, last)) = ctx.memory.updates_for(snapshot) {
        let next = last + failure::delay(None, count, snapshot.fresh.jitter);
        if count > 1 && next > snapshot.now {
            // Without their count: each new one would be written.
            let message = format!(
                "update failed: repeated updates have not brought about the desired state: {}",
                found.to_update()
            );
            let report = Report {
                synced: Some(ConditionValue::no(ConditionReason::ReconcileError, message)),
                ..in_sync_report(ctx, observation)
            };
            return ctx.wait(report, Some(next), Purpose::Retry);
        }
    }
    let (kept, changed): (Vec<&FieldDiff>, Vec<&FieldDiff>) =
        found.fields.iter().partition(|diff| is_replaced(snapshot, diff));
    // A plugin that compares knows by itself what differs.
    let changed = match snapshot.kind.capabilities.diff_mode {
        DiffMode::Bridge => changed.into_iter().map(|diff| diff.path.clone()).collect(),
        DiffMode::Plugin => Vec::new(),
    };
    ctx.after_verification(&record.external_name, Verb::Update, |call| {
        call.changed_paths = changed;
        call.etag.clone_from(&observation.etag);
        diff::keep_observed(
            &mut call.desired.parameters,
            kept.into_iter(),
            &observation.parameters,
        );
    })
}

/// Nothing to do: say how it is. Troubles of the past are over, save those of an operation that runs.
fn in_sync(
    ctx: &ReconcileContext,
    observation: &Observation,
    look_after: Option<jiff::Timestamp>,
) -> Decision {
    let next_observation = ctx
        .memory
        .last_observation
        .as_ref()
        .map(|last_observation| last_observation.next);
    let soon = look_after.map(|time| time + std::time::Duration::from_millis(1));
    let running = operation::running(ctx).is_some();
    let retry_state = ctx.memory.retry_state.as_ref();
    let retry_state = retry_state.filter(|retry_state| running && retry_state.verb == Verb::Poll);
    let report = Report {
        synced: Report::of_retry_state(retry_state).synced,
        ..in_sync_report(ctx, observation)
    };
    ctx.wait(report, soon.or(next_observation), Purpose::Drift)
}

pub(super) fn in_sync_report(ctx: &ReconcileContext, observation: &Observation) -> Report {
    let report = Report {
        ready: readiness(ctx),
        at_provider: observation.status.clone(),
        create_token: token(ctx),
        ..Report::of_retry_state(
            ctx.memory
                .retry_state
                .as_ref()
                .filter(|retry_state| !matches!(retry_state.verb, Verb::Observe)),
        )
    };
    operation::with_operation(ctx, report)
}

/// The first status after the create was seen names its token: that confirms it, unless its operation still runs.
fn token(ctx: &ReconcileContext) -> Option<String> {
    if operation::creation(ctx).is_some() {
        return None;
    }
    ctx.record
        .as_ref()
        .and_then(|record| record.create())
        .map(|intent| intent.token.clone())
}

/// Why what was found is another's, and what to do; `None`: it is not, as far as one can tell.
pub(super) fn foreign_owner(snapshot: &Snapshot, observation: &Observation) -> Option<String> {
    let name = &observation.external_name;
    if let Ownership::Foreign(marker) = rules::ownership(snapshot, observation) {
        return Some(format!(
            "{name:?} bears the marker {marker} of another object; if that object is gone for good, annotate {}={marker}",
            names::ADOPT
        ));
    }
    let conflicting_object = rules::conflicting_object(snapshot, observation)?;
    Some(format!(
        "{name:?} is already managed by {conflicting_object}; delete this object, which leaves the resource to the other, or give it a name of its own"
    ))
}
