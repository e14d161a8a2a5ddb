//! The life of one resource, from nothing to nothing.

mod assertions;
mod change;
mod handles;
mod judge;
mod remove;

pub(crate) use judge::{completed, ended_the_same, exists, handle_good, refused, wish_came_back};

pub(crate) use assertions::{ALL, CREATED, DELETED, ENDED_STAYS, EXISTS, UPDATED};
use assertions::{
    BIG_INTEGERS, COMPARED, FORMER_FOUND, FOUND_NAMELESS, LOOK_IS_A_LOOK, MARKER_ASIDE, MARKER_KEPT, NAMED,
    NAMED_EARLY, PARAMETERS_VALID, STATUS_VALID, WISH_CAME_BACK,
};
use crossbridge_types::{CreateRecovery, Look, NameSource, Observation};

use crate::{
    lab::{Lab, Thing, Trail, new_marker},
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
    handles::garbage(lab, &thing, &trail).await;
    handles::old(lab, &thing, &trail).await;
    handles::others(lab, &thing, &trail).await?;
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
    handles::course(lab, &trail);
    if thing.name().is_empty() {
        return Err(Stop::blocked("nobody told its name"));
    }
    Ok(trail)
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
    if let Some(elsewhere) = &elsewhere {
        bench.judge(
            LOOK_IS_A_LOOK,
            judge::same_elsewhere(&lab.kind, &wish, &first, elsewhere),
        );
    }
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
        for assertion in [FOUND_NAMELESS, FORMER_FOUND] {
            bench.not_applicable(assertion, "the kind cannot look without a name");
        }
        return Ok(());
    }
    lab.wait_out_window().await;
    let look = lab.look(&thing.clone().unnamed()).await?;
    bench.judge(FOUND_NAMELESS, judge::found_as(&look, thing.name()));
    if lab.recovers_by(CreateRecovery::Marker) && matches!(look, Look::Found(_)) {
        among_others(lab, thing).await?;
    }
    if !lab.recovers_by(CreateRecovery::Marker) {
        bench.not_applicable(FORMER_FOUND, "the kind has no MARKER recovery");
    } else if matches!(look, Look::Found(_)) {
        let restored = thing.clone().restored(&new_marker()).unnamed();
        let look = lab.look(&restored).await?;
        bench.judge(FORMER_FOUND, judge::found_as(&look, thing.name()));
    }
    Ok(())
}

/// Beside a younger one, each is found by its own marker.
async fn among_others(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    if lab.kind.external_name.source == NameSource::Derived {
        // One wish is one name.
        return Ok(());
    }
    let Ok(other) = lab.made().await else {
        // Some upstreams let only one of a wish be.
        return Ok(());
    };
    lab.wait_out_window().await;
    for known in [thing, &other] {
        let look = lab.look(&known.clone().unnamed()).await?;
        let judged = judge::found_as(&look, known.name());
        lab.bench
            .judge(FOUND_NAMELESS, judged.map_err(|seen| format!("of two, {seen}")));
    }
    lab.remove(&other).await
}
