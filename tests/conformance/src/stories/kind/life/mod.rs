//! The life of one resource, from nothing to nothing.

mod assertions;
mod change;
mod judge;
mod remove;

pub(crate) use judge::{exists, handle_good, refused};

pub(crate) use assertions::ALL;
use assertions::{
    BIG_INTEGERS, COMPARED, CREATED, ENDED_STAYS, EXISTS, FOUND_NAMELESS, GARBAGE_HANDLE, HANDLE_KEPT,
    LOOK_IS_A_LOOK, MARKER_ASIDE, MARKER_KEPT, NAMED, NAMED_EARLY, OLD_HANDLES, PARAMETERS_VALID, PROGRESS,
    STATUS_VALID, WISH_CAME_BACK,
};
use crossbridge_proto::checked::Observation;

use crate::{
    lab::{Lab, Thing, Trail, look_of},
    story::Story,
    verdict::Stop,
};

/// How often a look is repeated to see whether it changes something.
const LOOKS: usize = 3;

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
    if !lab.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    let mut thing = lab.thing()?;
    let trail = create(lab, &mut thing).await?;
    let observation = look(lab, &thing).await?;
    garbage_handles(lab, &thing).await;
    old_handles(lab, &thing, &trail).await;
    change::change(lab, &mut thing, observation).await?;
    remove::remove(lab, &mut thing).await
}

/// Makes it, and judges the course.
async fn create(lab: &Lab, thing: &mut Thing) -> Result<Trail, Stop> {
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
    judge_course(lab, &trail);
    if thing.name().is_empty() {
        return Err(Stop::blocked("nobody told its name"));
    }
    Ok(trail)
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
    let seen = lab.presence(thing).await?;
    bench.judge(EXISTS, judge::exists(seen.as_ref()));
    let first = seen.ok_or_else(|| Stop::blocked("it reads as absent"))?;
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
async fn garbage_handles(lab: &Lab, thing: &Thing) {
    for garbage in ["garbage", "{\"v\":9}", "\u{7}"] {
        let poll = thing.poll(garbage);
        let answer = lab.bench.client.poll_operation(poll, lab.terms()).await;
        lab.bench.judge(GARBAGE_HANDLE, judge::garbage_refused(answer));
    }
}

/// Every handle that was given out, polled again after the end.
async fn old_handles(lab: &Lab, thing: &Thing, trail: &Trail) {
    let handles = trail.handles();
    if handles.is_empty() {
        for assertion in [OLD_HANDLES, ENDED_STAYS] {
            lab.bench.not_applicable(assertion, "it was done at once");
        }
    }
    for handle in handles {
        let poll = thing.poll(handle);
        let answer = lab.bench.client.poll_operation(poll, lab.terms()).await;
        lab.bench.judge(OLD_HANDLES, judge::handle_good(&answer));
        lab.bench.judge(ENDED_STAYS, judge::ended_the_same(trail, answer));
    }
}
