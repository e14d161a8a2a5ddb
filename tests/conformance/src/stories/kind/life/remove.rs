//! Removing it.

use crossbridge_types::{DiffMode, Look, NameSource, OutcomeResult};

use super::{
    assertions::{
        AGAIN, DELETED, ENDED_STAYS, FORMER_DELETED, GONE, NOTHING_DELETED, NOTHING_TO_SEE,
        OTHERS_NOT_DELETED, UPDATE_MAKES_NONE,
    },
    handles, judge,
};
use crate::{
    lab::{Lab, Thing, new_marker, outcome_of},
    stories::kind::observe::absent,
    verdict::Stop,
};

/// How often nothing is deleted.
const DELETIONS: usize = 10;

/// Removes it, more than once, and makes it again.
pub(super) async fn remove(lab: &Lab, thing: &mut Thing) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !lab.kind.capabilities.can_delete {
        return Err(Stop::not_applicable("the kind cannot be deleted"));
    }
    strangers_delete(lab, thing).await?;
    let request = thing.delete();
    let trail = lab.delete(thing, request).await?;
    bench.judge(DELETED, judge::completed(&trail, "Delete"));
    trail.completed("Delete")?;
    handles::course(lab, &trail);
    bench.judge(NOTHING_TO_SEE, judge::nothing_to_see(&trail));
    let is_gone = lab.becomes_absent(thing).await?;
    bench.judge(GONE, judge::gone(is_gone));
    if !is_gone {
        return Err(Stop::blocked("it is still there after Delete"));
    }
    bench.registry.strike(thing);
    for handle in trail.handles() {
        let answer = bench.client.poll_operation(thing.poll(handle), lab.terms()).await;
        bench.judge(ENDED_STAYS, judge::ended_the_same(&trail, answer));
    }
    for _ in 0..DELETIONS {
        let mut request = thing.delete();
        request.desired = None;
        let trail = lab.delete(thing, request).await?;
        bench.judge(NOTHING_DELETED, judge::deleted_nothing(&trail));
    }
    if lab.kind.capabilities.can_update {
        let answer = bench.client.update(thing.update(), lab.terms()).await;
        let outcome = outcome_of("Update", answer)?;
        let look = lab.look(thing).await?;
        bench.judge(UPDATE_MAKES_NONE, judge::update_made_none(&outcome, &look));
    } else {
        bench.not_applicable(UPDATE_MAKES_NONE, "the kind cannot be updated");
    }
    again(lab, thing).await
}

async fn strangers_delete(lab: &Lab, thing: &mut Thing) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !lab.kind.capabilities.holds_marker {
        bench.not_applicable(OTHERS_NOT_DELETED, "the kind holds no marker");
        return Ok(());
    }
    let before = lab.found(thing).await?;
    let stranger = thing.clone().marked(&new_marker());
    let outcome = outcome_of(
        "Delete",
        bench.client.delete(stranger.delete(), lab.terms()).await,
    )?;
    let look = lab.look(thing).await?;
    let judgement = match look {
        Look::Found(after) => judge::hidden(&outcome, &before, &after),
        other => absent(&other).and(Err("another's resource was deleted".to_owned())),
    };
    bench.judge(OTHERS_NOT_DELETED, judgement);
    Ok(())
}

/// The same name, another creation.
async fn again(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    let mut again = lab.thing()?;
    if lab.kind.external_name.source == NameSource::User {
        again = again.named(thing.name());
    }
    let outcome = lab.create_once(&mut again, false).await?;
    let trail = lab.follow(&mut again, outcome, lab.kind.timeouts.create).await?;
    let made = judge::completed(&trail, "Create");
    lab.bench.judge(AGAIN, made.clone());
    if made.is_ok() && lab.kind.capabilities.diff_mode == DiffMode::Bridge {
        lab.found(&again).await?;
    }
    if let Some(OutcomeResult::Failure(failure)) = trail.last().map(|outcome| &outcome.result) {
        return Err(Stop::blocked(failure.message.clone()));
    }
    former_marker(lab, &again).await?;
    lab.remove(&again).await
}

/// After a restore: the marker on it was ours.
async fn former_marker(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    if !lab.kind.capabilities.holds_marker {
        lab.bench
            .not_applicable(FORMER_DELETED, "the kind holds no marker");
        return Ok(());
    }
    let restored = thing.clone().restored(&new_marker());
    let answer = lab.bench.client.delete(restored.delete(), lab.terms()).await;
    let outcome = outcome_of("Delete", answer)?;
    let accepted = match &outcome.result {
        OutcomeResult::Failure(failure) => Err(format!(
            "Delete failed: {:?} {}: {}",
            failure.code, failure.reason, failure.message
        )),
        _ => Ok(()),
    };
    lab.bench.judge(FORMER_DELETED, accepted);
    lab.follow(&mut thing.clone(), outcome, lab.kind.timeouts.delete)
        .await
        .map(drop)
}
