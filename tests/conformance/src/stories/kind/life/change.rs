//! Changing it.

use crossbridge_proto::checked::Observation;

use super::{
    assertions::{EQUAL_AFTERWARDS, FORMER, NO_OP, OTHERS_NOT_UPDATED, STALE_ETAG, UPDATED},
    judge,
};
use crate::{
    fixtures::desired,
    lab::{Lab, Thing, new_marker, outcome_of},
    verdict::Stop,
};

/// Updates it: to what it is, to something else, and as somebody else.
pub(super) async fn change(lab: &Lab, thing: &mut Thing, before: Observation) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !lab.kind.capabilities.can_update {
        for assertion in [
            FORMER,
            NO_OP,
            UPDATED,
            EQUAL_AFTERWARDS,
            STALE_ETAG,
            OTHERS_NOT_UPDATED,
        ] {
            bench.not_applicable(assertion, "the kind cannot be updated");
        }
        return Ok(());
    }
    let request = thing.update();
    let trail = lab.update(thing, request).await?;
    let after = lab.found(thing).await?;
    bench.judge(NO_OP, judge::no_op(&trail, &before, &after));
    strangers_update(lab, thing, &after).await?;
    former_marker(lab, thing, &after).await?;
    let after = lab.found(thing).await?;
    let Some(wish) = lab.example.update_parameters.clone() else {
        for assertion in [UPDATED, EQUAL_AFTERWARDS, STALE_ETAG] {
            bench.not_applicable(assertion, "the example has no update_parameters");
        }
        return Ok(());
    };
    let mut wanted = thing.clone().with_parameters(&wish);
    let mut request = wanted.update();
    request.etag.clone_from(&after.etag);
    let trail = lab.update(&mut wanted, request).await?;
    bench.judge(UPDATED, judge::completed(&trail, "Update"));
    trail.completed("Update")?;
    let updated = lab.found(&wanted).await?;
    bench.judge(
        EQUAL_AFTERWARDS,
        judge::wish_came_back(&lab.kind, &wish, &updated),
    );
    if after.etag.is_empty() || after.etag == updated.etag {
        bench.not_applicable(STALE_ETAG, "the kind has no etag that an update changes");
    } else {
        let mut stale = thing.update();
        stale.etag = after.etag;
        let outcome = outcome_of("Update", bench.client.update(stale, lab.terms()).await)?;
        bench.judge(STALE_ETAG, judge::conflict(&outcome));
    }
    thing.desired = wanted.desired;
    bench.registry.enter(thing);
    Ok(())
}

/// After a restore: another marker is ours, and a person has said that the one on it was.
async fn former_marker(lab: &Lab, thing: &mut Thing, before: &Observation) -> Result<(), Stop> {
    if !lab.kind.capabilities.holds_marker {
        lab.bench.not_applicable(FORMER, "the kind holds no marker");
        return Ok(());
    }
    if before.found_marker != thing.marker() {
        // That has an assertion of its own.
        return Ok(());
    }
    let mut restored = thing.clone().marked(&new_marker());
    thing.marker().clone_into(&mut restored.target.former_marker);
    let request = restored.update();
    let trail = lab.update(&mut restored, request).await?;
    let after = lab.found(&restored).await?;
    let accepted = judge::completed(&trail, "Update");
    let judgement = accepted.and(judge::marker_kept(&after, restored.marker()));
    if after.found_marker == restored.marker() {
        restored.target.former_marker.clear();
        *thing = restored;
        lab.bench.registry.enter(thing);
    }
    lab.bench.judge(FORMER, judgement);
    Ok(())
}

/// Under a marker that is not on it.
async fn strangers_update(lab: &Lab, thing: &Thing, before: &Observation) -> Result<(), Stop> {
    if !lab.kind.capabilities.holds_marker {
        lab.bench
            .not_applicable(OTHERS_NOT_UPDATED, "the kind holds no marker");
        return Ok(());
    }
    let wish = lab
        .example
        .update_parameters
        .clone()
        .or_else(|| lab.example.create_parameters.clone())
        .unwrap_or_default();
    let mut stranger = thing.clone().marked(&new_marker());
    stranger.desired = desired(&wish, &lab.sensitive_values());
    let outcome = outcome_of(
        "Update",
        lab.bench.client.update(stranger.update(), lab.terms()).await,
    )?;
    let after = lab.found(thing).await?;
    lab.bench
        .judge(OTHERS_NOT_UPDATED, judge::hidden(&outcome, before, &after));
    Ok(())
}
