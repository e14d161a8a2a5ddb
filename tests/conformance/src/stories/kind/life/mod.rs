//! The life of one resource, from nothing to nothing.

mod assertions;
mod judge;

pub(crate) use judge::refused;

pub(crate) use assertions::ALL;
use assertions::{
    AGAIN, BIG_INTEGERS, COMPARED, CREATED, DELETED, EQUAL_AFTERWARDS, EXISTS, FOUND_NAMELESS,
    GARBAGE_HANDLE, GONE, HANDLE_KEPT, LOOK_IS_A_LOOK, MARKER_ASIDE, MARKER_KEPT, NAME_KEPT, NAMED,
    NAMED_EARLY, NO_OP, NOTHING_DELETED, NOTHING_TO_SEE, OTHERS_NOT_DELETED, OTHERS_NOT_UPDATED,
    PARAMETERS_VALID, PROGRESS, STALE_ETAG, STATUS_VALID, UPDATE_MAKES_NONE, UPDATED, WISH_CAME_BACK,
};
use crossbridge_proto::checked::{DiffMode, Look, NameSource, Observation, OutcomeResult};

use crate::{
    fixtures::desired,
    lab::{Lab, Thing, Trail, look_of, new_marker, outcome_of},
    stories::kind::observe::absent,
    story::Story,
    verdict::Stop,
};

/// How often a look is repeated to see whether it changes something.
const LOOKS: usize = 3;

/// How often nothing is deleted.
const DELETIONS: usize = 10;

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
    if !lab.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    let mut thing = lab.thing()?;
    create(lab, &mut thing).await?;
    let observation = look(lab, &thing).await?;
    poll_again(lab, &thing).await?;
    change(lab, &mut thing, observation).await?;
    remove(lab, &mut thing).await
}

/// Makes it, and judges the course.
async fn create(lab: &Lab, thing: &mut Thing) -> Result<(), Stop> {
    let bench = &lab.bench;
    let outcome = lab.create_once(thing, false).await?;
    let followed = lab.follow(thing, outcome, lab.kind.timeouts.create).await;
    let trail = match followed {
        Ok(trail) => trail,
        Err(Stop::Blocked(why)) => {
            bench.judge(CREATED, Err(why.clone()));
            return Err(Stop::Blocked(why));
        }
        Err(stop) => return Err(stop),
    };
    if let Err(Stop::Blocked(why)) = trail.completed("Create") {
        bench.judge(CREATED, Err(why.clone()));
        return Err(Stop::Blocked(why));
    }
    bench.judge(CREATED, Ok(()));
    bench.judge(NAMED, judge::named(&trail, &thing.given_name));
    bench.judge(NAMED_EARLY, judge::named_early(&trail, thing.name()));
    bench.judge(NAME_KEPT, judge::one_name(&trail, thing.name()));
    judge_course(lab, &trail);
    if thing.name().is_empty() {
        return Err(Stop::blocked("nobody told its name"));
    }
    Ok(())
}

fn judge_course(lab: &Lab, trail: &Trail) {
    let bench = &lab.bench;
    if trail.handles().is_empty() {
        for assertion in [PROGRESS, HANDLE_KEPT] {
            bench.not_applicable(assertion, "it was done at once");
        }
    } else {
        bench.judge(PROGRESS, judge::progress_never_falls(trail));
        bench.judge(HANDLE_KEPT, judge::handle_kept(trail));
    }
}

/// Looks several times, with its wish and with another one.
async fn look(lab: &Lab, thing: &Thing) -> Result<Observation, Stop> {
    let bench = &lab.bench;
    let first = match lab.found(thing).await {
        Ok(first) => first,
        Err(Stop::Blocked(why)) => {
            bench.judge(EXISTS, Err(why.clone()));
            return Err(Stop::Blocked(why));
        }
        Err(stop) => return Err(stop),
    };
    bench.judge(EXISTS, Ok(()));
    let wish = lab.example.create_parameters.clone().unwrap_or_default();
    bench.judge(WISH_CAME_BACK, judge::wish_came_back(&lab.kind, &wish, &first));
    bench.judge(PARAMETERS_VALID, judge::parameters_valid(&lab.kind, &first));
    bench.judge(STATUS_VALID, judge::status_valid(&lab.kind, &first));
    match judge::big_integers(&wish, &first) {
        Some(judgement) => bench.judge(BIG_INTEGERS, judgement),
        None => bench.not_applicable(
            BIG_INTEGERS,
            "no example holds an integer beyond 2^53; 9007199254740993 is a good one",
        ),
    }
    if lab.kind.capabilities.holds_marker {
        bench.judge(MARKER_KEPT, judge::marker_kept(&first, thing.marker()));
    } else {
        bench.not_applicable(MARKER_KEPT, "the kind holds no marker");
    }
    bench.judge(MARKER_ASIDE, judge::marker_aside(&first, thing.marker()));
    let other_wish = lab.example.update_parameters.clone();
    let elsewhere = match &other_wish {
        Some(other) => Some(lab.found(&thing.clone().with_parameters(other)).await?),
        None => None,
    };
    bench.judge(
        COMPARED,
        judge::compared(lab.kind.capabilities.diff_mode, &first, elsewhere.as_ref()),
    );
    let mut last = first.clone();
    for _ in 0..LOOKS {
        last = lab.found(thing).await?;
    }
    bench.judge(LOOK_IS_A_LOOK, judge::unchanged(&first, &last));
    nameless(lab, thing).await?;
    Ok(last)
}

/// Finds it without its name, where the kind can.
async fn nameless(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !lab.looks_without_name() {
        bench.not_applicable(FOUND_NAMELESS, "the kind cannot look without a name");
        return Ok(());
    }
    lab.wait_out_window().await;
    let mut asked = thing.observe();
    if let Some(target) = &mut asked.target {
        target.external_name.clear();
    }
    let look = look_of(bench.client.observe(asked, lab.terms()).await)?;
    bench.judge(FOUND_NAMELESS, judge::found_as(&look, thing.name()));
    Ok(())
}

/// Handles that the plugin never gave.
async fn poll_again(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    for garbage in ["garbage", "{\"v\":9}", "\u{7}"] {
        let answer = lab
            .bench
            .client
            .poll_operation(thing.poll(garbage), lab.terms())
            .await;
        lab.bench.judge(GARBAGE_HANDLE, judge::garbage_refused(answer));
    }
    Ok(())
}

/// Updates it: to what it is, to something else, and as somebody else.
async fn change(lab: &Lab, thing: &mut Thing, before: Observation) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !lab.kind.capabilities.can_update {
        for assertion in [NO_OP, UPDATED, EQUAL_AFTERWARDS, STALE_ETAG, OTHERS_NOT_UPDATED] {
            bench.not_applicable(assertion, "the kind cannot be updated");
        }
        return Ok(());
    }
    let request = thing.update();
    let trail = lab.update(thing, request).await?;
    let after = lab.found(thing).await?;
    bench.judge(NO_OP, judge::no_op(&trail, &before, &after));
    strangers_update(lab, thing, &after).await?;
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

/// Removes it, more than once, and makes it again.
async fn remove(lab: &Lab, thing: &mut Thing) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !lab.kind.capabilities.can_delete {
        return Err(Stop::not_applicable("the kind cannot be deleted"));
    }
    strangers_delete(lab, thing).await?;
    let request = thing.delete();
    let trail = lab.delete(thing, request).await?;
    bench.judge(DELETED, judge::completed(&trail, "Delete"));
    trail.completed("Delete")?;
    bench.judge(NOTHING_TO_SEE, judge::nothing_to_see(&trail));
    let is_gone = lab.becomes_absent(thing).await?;
    bench.judge(GONE, judge::gone(is_gone));
    if !is_gone {
        return Err(Stop::blocked("it is still there after Delete"));
    }
    bench.registry.strike(thing);
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
    lab.remove(&again).await
}
