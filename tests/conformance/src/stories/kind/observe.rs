//! Looking at what is not there.

use crossbridge_types::{Look, NameSource};
use tonic::Code;

use crate::{
    assertion::assertions,
    lab::{Lab, Thing},
    stories::plugin::kinds::refused_as,
    story::Story,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    UNKNOWN = "observe/unknown-name-is-absent", Core, "ObserveResponse.absent",
        "A valid name that nobody has reads as absent.",
        "Answer Absent when, and only when, the upstream says that there is no such resource.";
    DERIVED = "observe/absent-says-derived-name", Core, "Absent.external_name",
        "Where names are derived, Absent says which one it would be.",
        "Work the name out from the wish before you look, and put it into Absent.";
    NAMELESS = "observe/no-name-refused", Core, "Target.external_name",
        "A look without a name is INVALID_ARGUMENT where the kind cannot look without one.",
        "Only DERIVED names and MARKER recovery can look without a name.";
    STRANGER = "observe/unknown-marker-is-absent", Core, "CreateRecovery.CREATE_RECOVERY_MARKER",
        "A look without a name, by a marker that nobody bears, reads as absent.",
        "Search by ownership_marker, and by nothing else.";
}

/// So many letters may be taken off a name that the kit drew, and leave it one that nobody has.
const CUTS: usize = 3;

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
    empty_handed(lab).await?;
    // Where there is something, a look can find the wrong thing.
    let derived = lab.kind.external_name.source == NameSource::Derived;
    if !lab.kind.capabilities.can_create || derived {
        return Ok(());
    }
    let made = lab.made().await?;
    lab.found(&made).await?;
    beside(lab, &made).await?;
    lab.remove(&made).await
}

/// The kit has made nothing yet.
async fn empty_handed(lab: &Lab) -> Result<(), Stop> {
    let bench = &lab.bench;
    let source = lab.kind.external_name.source;
    let mut thing = lab.thing()?;
    if source != NameSource::Derived {
        if thing.name().is_empty() {
            thing = thing.named(&lab.fresh_name("")?);
        }
        bench.judge(UNKNOWN, absent(&lab.look(&thing).await?));
        bench.not_applicable(DERIVED, "names are not derived");
    }
    let nameless = thing.named("");
    if source == NameSource::Derived {
        let look = lab.look(&nameless).await?;
        bench.judge(UNKNOWN, absent(&look));
        bench.judge(DERIVED, says_name(&look));
    }
    if lab.looks_without_name() {
        bench.not_applicable(NAMELESS, "the kind can look without a name");
        if source == NameSource::Derived {
            bench.not_applicable(STRANGER, "names are derived");
        } else {
            bench.judge(STRANGER, absent(&lab.look(&nameless).await?));
        }
    } else {
        bench.not_applicable(STRANGER, "the kind has no MARKER recovery");
        let answer = bench.client.observe(nameless.observe(), lab.terms()).await;
        bench.judge(NAMELESS, refused_as(Code::InvalidArgument, answer.map(drop)));
    }
    Ok(())
}

/// By names like that of what was made, and by a marker that is not on it.
async fn beside(lab: &Lab, made: &Thing) -> Result<(), Stop> {
    let longer = lab.fresh_name(made.name()).ok();
    for name in longer.into_iter().chain(shorter(lab, made)) {
        let look = lab.look(&lab.thing()?.named(&name)).await?;
        let judged = absent(&look).map_err(|seen| format!("beside {:?}, {name:?}: {seen}", made.name()));
        lab.bench.judge(UNKNOWN, judged);
    }
    if lab.looks_without_name() {
        let look = lab.look(&lab.thing()?.unnamed()).await?;
        let judged = absent(&look).map_err(|seen| format!("beside {:?}, {seen}", made.name()));
        lab.bench.judge(STRANGER, judged);
    }
    Ok(())
}

/// The beginning of a name that was drawn by the kit, so that nobody has it. Of the upstream's names nobody can say that.
fn shorter(lab: &Lab, made: &Thing) -> Option<String> {
    if lab.kind.external_name.source != NameSource::User {
        return None;
    }
    let name = made.name();
    let ends = name.char_indices().rev().map(|(end, _)| end).take(CUTS);
    ends.filter_map(|end| name.get(..end))
        .find(|start| lab.names.allows(start))
        .map(str::to_owned)
}

pub(crate) fn absent(look: &Look) -> Judgement {
    match look {
        Look::Absent(_) => Ok(()),
        Look::Found(found) => Err(format!("it reads as found, under {:?}", found.external_name)),
        Look::Failed(failure) => Err(format!(
            "it reads as a failure: {:?} {}: {}",
            failure.code, failure.reason, failure.message
        )),
    }
}

fn says_name(look: &Look) -> Judgement {
    match look {
        Look::Absent(absent) => holds(!absent.external_name.is_empty(), || {
            "Absent has no external_name".to_owned()
        }),
        _ => Ok(()),
    }
}
