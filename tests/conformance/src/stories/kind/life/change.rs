//! Changing it.

use crossbridge_types::Observation;

use super::{
    assertions::{
        BIG_INTEGERS, EQUAL_AFTERWARDS, FORMER, LOOK_IS_A_LOOK, NO_OP, OTHERS_NOT_UPDATED, STALE_DELETE,
        STALE_ETAG, UPDATED,
    },
    handles, judge,
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
            STALE_DELETE,
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
        for assertion in [UPDATED, EQUAL_AFTERWARDS, STALE_ETAG, STALE_DELETE] {
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
    handles::course(lab, &trail);
    let updated = lab.found(&wanted).await?;
    bench.judge(
        EQUAL_AFTERWARDS,
        judge::wish_came_back(&lab.kind, &wish, &updated),
    );
    let former = lab.example.create_parameters.clone().unwrap_or_default();
    let shows = judge::update_shows(&lab.kind, (&former, &wish), (&after, &updated));
    bench.judge(EQUAL_AFTERWARDS, shows);
    if let Some(judgement) = judge::big_integers(&wish, &updated) {
        bench.judge(BIG_INTEGERS, judgement);
    }
    // With the former wish.
    let elsewhere = lab.found(thing).await?;
    bench.judge(
        LOOK_IS_A_LOOK,
        judge::same_elsewhere(&lab.kind, &wish, &updated, &elsewhere),
    );
    handles::old(lab, &wanted, &trail).await;
    stale_etag(lab, thing, &after.etag, &updated.etag).await?;
    thing.desired = wanted.desired;
    bench.registry.enter(thing);
    Ok(())
}

/// By an etag that an update has changed.
async fn stale_etag(lab: &Lab, thing: &Thing, former: &str, current: &str) -> Result<(), Stop> {
    let bench = &lab.bench;
    if former.is_empty() || former == current {
        for assertion in [STALE_ETAG, STALE_DELETE] {
            bench.not_applicable(assertion, "the kind has no etag that an update changes");
        }
        return Ok(());
    }
    let mut stale = thing.update();
    former.clone_into(&mut stale.etag);
    let outcome = outcome_of("Update", bench.client.update(stale, lab.terms()).await)?;
    bench.judge(STALE_ETAG, judge::conflict(&outcome));
    if lab.kind.capabilities.can_delete {
        let mut stale = thing.delete();
        former.clone_into(&mut stale.etag);
        let outcome = outcome_of("Delete", bench.client.delete(stale, lab.terms()).await)?;
        let look = lab.look(thing).await?;
        let kept = judge::found_as(&look, thing.name());
        bench.judge(STALE_DELETE, judge::conflict(&outcome).and(kept));
    }
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
    let mut restored = thing.clone().restored(&new_marker());
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
