//! Brings a claim and its composite resource together, and to what they are to have of each other.

use std::time::Duration;

use super::super::{
    CompositeBody,
    bind::{body, disputed, is_in_step},
    decision::{Action, ClaimWrite, CompositeChange},
    facts::Facts,
    outcome::{Flow, NEXT, act, rest, write_status},
    rules,
    standing::{Standing, refusal},
    write::claim_write,
};
use crate::{
    composite::{ObjectState, Written},
    rule::Rule,
};

/// A composite resource of which nothing is known is asked for again after this.
const ASK_AGAIN: Duration = Duration::from_secs(5);

pub(in super::super) fn wait_for_unknown(of: &Facts) -> Flow {
    if !matches!(of.snapshot.xr, ObjectState::Unknown(_) | ObjectState::KindGone) {
        return NEXT;
    }
    if let Some(until) = of.patience() {
        return rest(Some(until));
    }
    match write_status(of, Standing::of(of)) {
        NEXT => rest(Some(of.snapshot.now + ASK_AGAIN)),
        written => written,
    }
}

/// It is another's. When that changes, it is this claim's turn.
pub(in super::super) fn refuse(of: &Facts) -> Flow {
    if refusal(of).is_none() {
        return NEXT;
    }
    // What is not named, or not watched, gives no turn.
    let is_told = rules::is_named(of) && !of.snapshot.is_unwatched;
    match write_status(of, Standing::of(of)) {
        NEXT => rest((!is_told).then(|| of.snapshot.now + ASK_AGAIN)),
        written => written,
    }
}

/// The name first: whatever is created later can be found again.
pub(in super::super) fn write_claim(of: &Facts) -> Flow {
    match claim_write(of) {
        // Without the rule the name comes after what it names.
        Some(_) if Rule::ClaimNamesFirst.is_off() && of.snapshot.xr == ObjectState::Absent => NEXT,
        Some(write) if is_refused(of, &write) => NEXT,
        Some(write) => act(Action::Write(Box::new(write))),
        None => NEXT,
    }
}

pub(in super::super) fn create(of: &Facts) -> Flow {
    if of.snapshot.xr != ObjectState::Absent || !rules::is_named(of) {
        return NEXT;
    }
    let name = of.snapshot.name.clone();
    let body = body(of);
    if is_held_back(of, &body) || of.memory.failed_read.is_some_and(|until| of.snapshot.now < until) {
        return NEXT;
    }
    if !rules::is_verified(of) {
        return act(Action::VerifyResourceVersion);
    }
    if of.memory.name_taken || !rules::is_first_create(of) {
        return act(Action::Observe(name));
    }
    act(Action::Create(name, Box::new(body)))
}

pub(in super::super) fn apply(of: &Facts) -> Flow {
    let Some(xr) = of.bindable().filter(|xr| !xr.is_deleting()) else {
        return NEXT;
    };
    let body = body(of);
    if is_in_step(of, &body) || is_held_back(of, &body) {
        return NEXT;
    }
    if !rules::is_verified(of) {
        return act(Action::VerifyResourceVersion);
    }
    act(Action::Apply(Box::new(CompositeChange {
        name: of.snapshot.name.clone(),
        body,
        uid: xr.uid().to_owned(),
        resource_version: xr.resource_version().to_owned(),
        convert: !xr.mark().is_some_and(|mark| mark.written == Written::Applied),
    })))
}

pub(in super::super) fn propagate(of: &Facts) -> Flow {
    let Some(refs) = of.due_secret() else { return NEXT };
    let failed = of.memory.failed_secret.as_ref();
    let same = failed.filter(|(versions, _)| *versions == of.snapshot.secrets);
    if same.is_some_and(|(_, failed)| of.snapshot.now < failed.retry_at) {
        return NEXT;
    }
    if !rules::is_verified(of) {
        return act(Action::VerifyResourceVersion);
    }
    let uid = of.xr.map(|xr| xr.uid().to_owned()).unwrap_or_default();
    act(Action::Propagate(refs, uid))
}

/// The API server refused the very same, and it is not time for another try.
fn is_refused(of: &Facts, write: &ClaimWrite) -> bool {
    let refused = of.memory.refused_write.as_ref();
    refused.is_some_and(|(refused, failed)| refused == write && of.snapshot.now < failed.retry_at)
}

/// Its last write failed, or did not stay, and it is neither time for another one nor is something else wanted.
fn is_held_back(of: &Facts, body: &CompositeBody) -> bool {
    if disputed(of).is_some_and(|one| one.waits(&body.digest(), of.snapshot.now).is_some()) {
        return true;
    }
    of.memory.failed.as_ref().is_some_and(|failed| {
        failed.desired.as_ref() == Some(&body.digest()) && of.snapshot.now < failed.retry_at
    })
}
