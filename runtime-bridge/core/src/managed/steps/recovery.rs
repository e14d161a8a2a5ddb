//! Create recovery (design 4.3): what becomes of a create whose answer nobody has.

use std::{collections::BTreeMap, ops::ControlFlow::Break, time::Duration};

use crate::managed::{
    context::ReconcileContext,
    decision::Purpose,
    names,
    report::Report,
    resolve_intent, rules,
    step::{Flow, NEXT},
    unanswered::{ABSENT, Unanswered},
};
use crate::{reasons::StopReason, rule::Rule};

/// How soon a Create that was answered without a name is repeated.
const ASK_AGAIN: Duration = Duration::from_secs(10);

pub fn close_unsent(ctx: &ReconcileContext) -> Flow {
    match Unanswered::of(ctx) {
        Some(create) if rules::is_certainly_unsent(ctx.memory, create.intent) => {
            Break(create.close_as_absent("close the create that was never sent"))
        }
        Some(_) | None => NEXT,
    }
}

pub fn stop_elsewhere(ctx: &ReconcileContext) -> Flow {
    match Unanswered::of(ctx) {
        Some(create) if !rules::same_location(ctx.snapshot, create.record) => Break(ctx.stop_and_return(
            StopReason::ConfigIdentityChanged,
            "a creation is unanswered, and the ProviderConfig now means another account or has other settings than when it was sent; put it back until the creation is settled".to_owned(),
        )),
        Some(_) | None => NEXT,
    }
}

pub fn observe(ctx: &ReconcileContext) -> Flow {
    match Unanswered::of(ctx) {
        Some(create) if create.can_observe() && !create.is_looked_up() => Break(create.observe()),
        Some(_) | None => NEXT,
    }
}

/// While deleting, and under a marker, another's counts as absence of ours.
pub fn stop_at_foreign_owner(ctx: &ReconcileContext) -> Flow {
    if ctx.snapshot.is_named_upstream() || ctx.deleting() {
        return NEXT;
    }
    let owner = Unanswered::of(ctx).and_then(|create| rules::foreign_owner(ctx.snapshot, create.observed()?));
    match owner {
        Some(why) => Break(ctx.stop(StopReason::DoublyOwned, why)),
        None => NEXT,
    }
}

/// The creating request marks: what bears no marker is not its work, or is not yet to be seen as it is.
pub fn wait_for_marker(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let Some((create, observation)) =
        Unanswered::of(ctx).and_then(|create| create.observed().map(|observation| (create, observation)))
    else {
        return NEXT;
    };
    let is_unmarked = rules::foreign_owner(snapshot, observation).is_none()
        && !rules::may_be_its_work(snapshot, create.record, observation);
    if is_unmarked && snapshot.now <= create.resolves_at {
        return Break(create.wait_until_resolvable());
    }
    NEXT
}

/// It exists. A cloud-named one is confirmed by metadata; of another the next status tells. One that was looked for as recorded is confirmed
/// by metadata too, with the state by which the plugin will find it: an observation by today's desired state may miss it.
pub fn confirm_found(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let Some((create, (last_observation, observation))) =
        Unanswered::of(ctx).and_then(|create| create.own_work().map(|found| (create, found)))
    else {
        return NEXT;
    };
    if !snapshot.is_named_upstream() && !last_observation.as_recorded {
        return NEXT;
    }
    let mut record = create.record.clone();
    let mut annotations = BTreeMap::new();
    record.external_name.clone_from(&observation.external_name);
    if !observation.provider_state.is_empty() {
        record.provider_state.clone_from(&observation.provider_state);
    }
    resolve_intent::confirm(&mut record, &snapshot.managed, &mut annotations, snapshot.now);
    if !snapshot.is_named_upstream() {
        // Such kinds have no pending creation that it would end.
        annotations.remove(names::CREATE_SUCCEEDED);
    }
    // Other attempts, if any, had the same effect or none; none may be under way when it is deleted.
    record.deadline = Some(create.intent.deadline);
    Break(ctx.write_record(
        "confirm the create that an observation found",
        &record,
        annotations,
    ))
}

/// The token that is retained tells what became of it.
pub fn repeat(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let Some(create) = Unanswered::unfound(ctx).filter(Unanswered::is_repeatable) else {
        return NEXT;
    };
    if create.intent.token_exhausted {
        return NEXT;
    }
    match rules::created_at(ctx.memory, create.intent) {
        // It was made: it is only not to be seen yet, or gone again.
        Some(_) if create.can_observe() => NEXT,
        // And the answer told no name.
        Some(at) if snapshot.now < at + ASK_AGAIN => Break(ctx.wait(
            Report::of_retry_state(ctx.memory.retry_state.as_ref()).with_default_ready(snapshot),
            Some(at + ASK_AGAIN),
            Purpose::Operation,
        )),
        Some(_) | None => Break(create.repeat(false)),
    }
}

pub fn resolve_absent(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let Some(create) = Unanswered::unfound(ctx) else {
        return NEXT;
    };
    let (intent, resolves_at) = (create.intent, create.resolves_at);
    if !rules::absence_is_conclusive(snapshot, intent, create.by_marker, create.by_name) {
        return NEXT;
    }
    Break(match ctx.memory.observed.last() {
        Some(last_observation)
            if rules::absence_resolves(
                snapshot,
                rules::create_ends(snapshot, ctx.memory, intent),
                last_observation,
            ) =>
        {
            create.close_as_absent(ABSENT)
        }
        // Somebody else's, or an unmarked one after the time: for a kind whose creating request marks it is absence too.
        Some(last_observation) if last_observation.began > resolves_at => create.close_as_absent(ABSENT),
        _ if snapshot.now > resolves_at => create.observe(),
        _ => create.wait_until_resolvable(),
    })
}

/// Only the token is left: the same request, alone, proves that it never had an effect (trace 25).
pub fn repeat_exclusively(ctx: &ReconcileContext) -> Flow {
    let Some(create) = Unanswered::unfound(ctx).filter(Unanswered::is_repeatable) else {
        return NEXT;
    };
    if create.intent.exclusive {
        return NEXT;
    }
    let is_alone = ctx.snapshot.now > create.resolves_at || Rule::ExclusiveAfterAllAttempts.is_off();
    Break(if is_alone {
        create.repeat(true)
    } else {
        create.wait_until_resolvable()
    })
}
