//! Observe of resources that do not exist.

use crossbridge_types::{NameSource, ObserveResult};
use tonic::Code;

use crate::{
    assertion::assertions,
    kind_context::{KindContext, TestResource},
    suite::Suite,
    suites::plugin::kinds::rejected_as,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    UNKNOWN = "observe/unknown-name-is-absent", Core, "ObserveResponse.absent",
        "A valid name that is unused reads as absent.",
        "Return Absent when, and only when, the upstream reports that there is no such resource.";
    DERIVED = "observe/absent-reports-derived-name", Core, "Absent.external_name",
        "Where names are derived, Absent reports the derived name.",
        "Work the name out from the desired state before you search, and put it into Absent.";
    NAMELESS = "observe/no-name-rejected", Core, "Target.external_name",
        "Observe without a name is INVALID_ARGUMENT where the kind cannot be observed without one.",
        "Only DERIVED names and MARKER recovery can be observed without a name.";
    UNKNOWN_MARKER = "observe/unknown-marker-is-absent", Core, "CreateRecovery.CREATE_RECOVERY_MARKER",
        "Observe without a name, by a marker that no resource has, reads as absent.",
        "Search by ownership_marker, and by nothing else.";
}

/// How many characters may be cut from a name that the kit generated: what is left is still random enough to be unused.
const CUTS: usize = 3;

pub(crate) const SUITE: Suite<KindContext> = Suite {
    assertions: ALL,
    run: |ctx| Box::pin(run(ctx)),
};

async fn run(ctx: &KindContext) -> Result<(), Stop> {
    before_creation(ctx).await?;
    // Where there is something, an observation can find the wrong resource.
    let derived = ctx.kind.external_name.source == NameSource::Derived;
    if !ctx.kind.capabilities.can_create || derived {
        return Ok(());
    }
    let created = ctx.create_new().await?;
    ctx.expect_exists(&created).await?;
    beside_created(ctx, &created).await?;
    ctx.remove(&created).await
}

/// The kit has created nothing yet.
async fn before_creation(ctx: &KindContext) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    let source = ctx.kind.external_name.source;
    let mut resource = ctx.resource()?;
    if source != NameSource::Derived {
        if resource.name().is_empty() {
            resource = resource.with_name(&ctx.unused_name("")?);
        }
        run_ctx.judge(UNKNOWN, is_absent(&ctx.observe(&resource).await?));
        run_ctx.not_applicable(DERIVED, "names are not derived");
    }
    let without_name = resource.with_name("");
    if source == NameSource::Derived {
        let observation = ctx.observe(&without_name).await?;
        run_ctx.judge(UNKNOWN, is_absent(&observation));
        run_ctx.judge(DERIVED, reports_name(&observation));
    }
    if ctx.observes_without_name() {
        run_ctx.not_applicable(NAMELESS, "the kind can be observed without a name");
        if source == NameSource::Derived {
            run_ctx.not_applicable(UNKNOWN_MARKER, "names are derived");
        } else {
            run_ctx.judge(UNKNOWN_MARKER, is_absent(&ctx.observe(&without_name).await?));
        }
    } else {
        run_ctx.not_applicable(UNKNOWN_MARKER, "the kind has no MARKER recovery");
        let response = ctx.read(&without_name).await;
        run_ctx.judge(NAMELESS, rejected_as(Code::InvalidArgument, response.map(drop)));
    }
    Ok(())
}

/// By names like that of what was created, and by a marker that is not on it.
async fn beside_created(ctx: &KindContext, created: &TestResource) -> Result<(), Stop> {
    let longer = ctx.unused_name(created.name()).ok();
    for name in longer.into_iter().chain(shortened_name(ctx, created)) {
        let observation = ctx.observe(&ctx.resource()?.with_name(&name)).await?;
        let judged =
            is_absent(&observation).map_err(|seen| format!("beside {:?}, {name:?}: {seen}", created.name()));
        ctx.run_ctx.judge(UNKNOWN, judged);
    }
    if ctx.observes_without_name() {
        let observation = ctx.observe(&ctx.resource()?.without_name()).await?;
        let judged = is_absent(&observation).map_err(|seen| format!("beside {:?}, {seen}", created.name()));
        ctx.run_ctx.judge(UNKNOWN_MARKER, judged);
    }
    Ok(())
}

/// The beginning of a name that the kit generated, which is therefore unused. Of names that the upstream assigns this is not certain.
fn shortened_name(ctx: &KindContext, created: &TestResource) -> Option<String> {
    if ctx.kind.external_name.source != NameSource::User {
        return None;
    }
    let name = created.name();
    let ends = name.char_indices().rev().map(|(end, _)| end).take(CUTS);
    ends.filter_map(|end| name.get(..end))
        .find(|start| ctx.names.allows(start))
        .map(str::to_owned)
}

pub(crate) fn is_absent(observation: &ObserveResult) -> Judgement {
    match observation {
        ObserveResult::Absent(_) => Ok(()),
        ObserveResult::Found(found) => Err(format!("it reads as found, under {:?}", found.external_name)),
        ObserveResult::Failed(failure) => Err(format!(
            "it reads as a failure: {:?} {}: {}",
            failure.code, failure.reason, failure.message
        )),
    }
}

fn reports_name(observation: &ObserveResult) -> Judgement {
    match observation {
        ObserveResult::Absent(absent) => holds(!absent.external_name.is_empty(), || {
            "Absent has no external_name".to_owned()
        }),
        _ => Ok(()),
    }
}
