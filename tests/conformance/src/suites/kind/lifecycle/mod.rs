//! The life of one resource, from nothing to nothing.

mod assertions;
mod delete;
mod handles;
mod judge;
mod update;

pub(crate) use judge::{
    completed, exists, handle_accepted, matches_desired, rejected, same_terminal_response,
};

pub(crate) use assertions::{ALL, CREATED, DELETED, EXISTS, TERMINAL_RESPONSE_STABLE, UPDATED};
use assertions::{
    BIG_INTEGERS, COMPARISON_REPORTED, FORMER_FOUND, FOUND_WITHOUT_NAME, MARKER_KEPT,
    MARKER_NOT_IN_PARAMETERS, MATCHES_DESIRED, NAME_REPORTED, NAME_REPORTED_WHEN_KNOWN, PARAMETERS_VALID,
    READ_ONLY, STATUS_VALID,
};
use crossbridge_types::{CreateRecovery, NameSource, Observation, ObserveResult};

use crate::{
    fixtures::fill,
    kind_context::{CallTrace, KindContext, TestResource, new_marker},
    suite::Suite,
    verdict::Stop,
};

/// How often an observation is repeated to see whether it changes something.
const OBSERVATIONS: usize = 3;

pub(crate) const SUITE: Suite<KindContext> = Suite {
    assertions: ALL,
    run: |ctx| Box::pin(run(ctx)),
};

async fn run(ctx: &KindContext) -> Result<(), Stop> {
    if !ctx.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    let mut resource = ctx.resource()?;
    let trace = create(ctx, &mut resource).await?;
    let observation = observe(ctx, &resource).await?;
    handles::garbage(ctx, &resource, &trace).await;
    handles::old(ctx, &resource, &trace).await;
    handles::others(ctx, &resource, &trace).await?;
    update::run(ctx, &mut resource, observation).await?;
    delete::run(ctx, &mut resource).await
}

/// As the upstream has it.
fn filled(resource: &TestResource, seen: &Observation) -> Observation {
    Observation {
        parameters: fill(&seen.parameters, &resource.unique),
        ..seen.clone()
    }
}

/// Creates the resource to completion and judges the call trace.
async fn create(ctx: &KindContext, resource: &mut TestResource) -> Result<CallTrace, Stop> {
    let run_ctx = &ctx.run_ctx;
    let outcome = ctx.create_once(resource, false).await?;
    let followed = ctx.follow(resource, outcome, ctx.kind.timeouts.create).await;
    let trace = match followed {
        Ok(trace) => trace,
        Err(Stop::Blocked(why)) => {
            run_ctx.judge(CREATED, Err(why.clone()));
            return Err(Stop::Blocked(why));
        }
        Err(stop) => return Err(stop),
    };
    if let Err(Stop::Blocked(why)) = trace.completed("Create") {
        run_ctx.judge(CREATED, Err(why.clone()));
        return Err(Stop::Blocked(why));
    }
    run_ctx.judge(CREATED, Ok(()));
    run_ctx.judge(NAME_REPORTED, judge::named(&trace, &resource.given_name));
    run_ctx.judge(
        NAME_REPORTED_WHEN_KNOWN,
        judge::name_reported_when_known(&trace, resource.name()),
    );
    handles::course(ctx, &trace);
    if resource.name().is_empty() {
        return Err(Stop::blocked("no response reported its name"));
    }
    Ok(trace)
}

/// Observes several times, with its desired state and with another one.
async fn observe(ctx: &KindContext, resource: &TestResource) -> Result<Observation, Stop> {
    let run_ctx = &ctx.run_ctx;
    let seen = ctx.find(resource).await?;
    run_ctx.judge(EXISTS, judge::exists(seen.as_ref()));
    let first = seen.ok_or_else(|| Stop::blocked("it reads as absent"))?;
    let desired = ctx.example.create_parameters.clone().unwrap_or_default();
    run_ctx.judge(
        MATCHES_DESIRED,
        judge::matches_desired(&ctx.kind, &desired, &first),
    );
    run_ctx.judge(
        PARAMETERS_VALID,
        judge::parameters_valid(&ctx.kind, &filled(resource, &first)),
    );
    run_ctx.judge(STATUS_VALID, judge::status_valid(&ctx.kind, &first));
    match judge::big_integers(&desired, &first) {
        Some(judgement) => run_ctx.judge(BIG_INTEGERS, judgement),
        None => run_ctx.not_applicable(
            BIG_INTEGERS,
            "no example holds an integer beyond 2^53; 9007199254740993 is a good one",
        ),
    }
    if ctx.kind.capabilities.holds_marker {
        run_ctx.judge(MARKER_KEPT, judge::marker_kept(&first, resource.marker()));
    } else {
        run_ctx.not_applicable(MARKER_KEPT, "the kind holds no marker");
    }
    run_ctx.judge(
        MARKER_NOT_IN_PARAMETERS,
        judge::marker_not_in_parameters(&first, resource.marker()),
    );
    let other_desired = ctx.example.update_parameters.clone();
    let elsewhere = match &other_desired {
        Some(other) => Some(
            ctx.expect_exists(&resource.clone().with_parameters(other))
                .await?,
        ),
        None => None,
    };
    run_ctx.judge(
        COMPARISON_REPORTED,
        judge::comparison_reported(ctx.kind.capabilities.diff_mode, &first, elsewhere.as_ref()),
    );
    if let Some(elsewhere) = &elsewhere {
        run_ctx.judge(
            READ_ONLY,
            judge::same_with_other_desired(&ctx.kind, &desired, &first, elsewhere),
        );
    }
    let mut last = first.clone();
    for _ in 0..OBSERVATIONS {
        last = ctx.expect_exists(resource).await?;
    }
    run_ctx.judge(READ_ONLY, judge::unchanged(&first, &last));
    without_name(ctx, resource).await?;
    Ok(last)
}

/// Finds it without its name, where the kind can.
async fn without_name(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    if !ctx.observes_without_name() {
        for assertion in [FOUND_WITHOUT_NAME, FORMER_FOUND] {
            run_ctx.not_applicable(assertion, "the kind cannot be observed without a name");
        }
        return Ok(());
    }
    ctx.wait_for_consistency().await;
    let observation = ctx.observe(&resource.clone().without_name()).await?;
    run_ctx.judge(FOUND_WITHOUT_NAME, judge::found_as(&observation, resource.name()));
    if ctx.recovers_by(CreateRecovery::Marker) && matches!(observation, ObserveResult::Found(_)) {
        among_several(ctx, resource).await?;
    }
    if !ctx.recovers_by(CreateRecovery::Marker) {
        run_ctx.not_applicable(FORMER_FOUND, "the kind has no MARKER recovery");
    } else if matches!(observation, ObserveResult::Found(_)) {
        let with_restored_marker = resource
            .clone()
            .with_restored_marker(&new_marker())
            .without_name();
        let observation = ctx.observe(&with_restored_marker).await?;
        run_ctx.judge(FORMER_FOUND, judge::found_as(&observation, resource.name()));
    }
    Ok(())
}

/// Beside a younger one, each is found by its own marker.
async fn among_several(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    if ctx.kind.external_name.source == NameSource::Derived {
        // One desired state is one name.
        return Ok(());
    }
    let Ok(other) = ctx.create_new().await else {
        // Some upstreams allow only one resource per desired state.
        return Ok(());
    };
    ctx.wait_for_consistency().await;
    for known in [resource, &other] {
        let observation = ctx.observe(&known.clone().without_name()).await?;
        let judged = judge::found_as(&observation, known.name());
        ctx.run_ctx.judge(
            FOUND_WITHOUT_NAME,
            judged.map_err(|seen| format!("of two, {seen}")),
        );
    }
    ctx.remove(&other).await
}
