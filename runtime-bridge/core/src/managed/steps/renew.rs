//! The record is kept true where only we are behind.

use std::{collections::BTreeMap, ops::ControlFlow::Break};

use crate::managed::{
    approval,
    context::ReconcileContext,
    decision::Event,
    reconcile_memory::PublishState,
    record::{ConfigIdentity, Details, Record},
    rules, running,
    step::{Flow, NEXT},
};
use crate::reasons::{NormalEvent, WarningEvent};

/// Settings that changed without moving the resource, a digest key that was lost.
pub fn renew(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let Some(existing) = ctx.existing() else {
        return NEXT;
    };
    let (record, observation) = (existing.record, existing.observation);
    let mut new = record.clone();
    let mut annotations = BTreeMap::new();
    if ctx.differences(existing).replaced.is_empty() {
        approval::end_replacement(snapshot, &mut new, &mut annotations);
    }
    if !observation.provider_state.is_empty() {
        new.provider_state.clone_from(&observation.provider_state);
    }
    if let Ok(config) = &snapshot.config {
        new.config = record.config.renewed(ConfigIdentity::of(config));
    }
    let key = |digest: &str| digest.split_once(':').map(|(key, _)| key.to_owned());
    let today = &ctx.desired().sensitive_digest;
    let (old_key, new_key) = (key(&record.sensitive_digest), key(today));
    if old_key.is_some() && new_key.is_some() && old_key != new_key {
        new.sensitive_digest.clone_from(today);
    }
    let lost = resolve_details(ctx, &mut new);
    // A finalizer that somebody took away is put back: without it a deletion would leave the resource behind.
    if new == *record && snapshot.managed.has_finalizer() {
        return NEXT;
    }
    let moved = (new.config.settings != record.config.settings).then(|| {
        let found = format!(
            "{:?} was found by other settings of the ProviderConfig than those it was made with, and is taken for the same",
            record.external_name
        );
        Event::normal(NormalEvent::ProviderConfigChanged, &found)
    });
    Break(
        ctx.write_record("renew the record", &new, annotations)
            .telling(lost.or(moved)),
    )
}

/// It exists: so the answer of its create came, with what is given once, or it never will. The answer is an event, if they are lost.
fn resolve_details(ctx: &ReconcileContext, new: &mut Record) -> Option<Event> {
    let keys = ctx.memory.connection.given_once(&ctx.snapshot.kind);
    if new.details == Details::Complete
        || running::creation(ctx).is_some()
        || keys == PublishState::Unpublished
    {
        return None;
    }
    let known = keys == PublishState::Published || !rules::has_one_time_details(ctx.snapshot);
    let was_pending = new.details == Details::Pending;
    new.details = if known { Details::Complete } else { Details::Lost };
    (new.details == Details::Lost && was_pending).then(|| {
        Event::warning(
            WarningEvent::ConnectionDetailsLost,
            &rules::lost_connection_details(&ctx.snapshot.kind),
        )
    })
}
