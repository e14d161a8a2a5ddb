//! Looking at what is not there.

use crossbridge_proto::checked::{Look, NameSource};
use tonic::Code;

use crate::{
    assertion::assertions,
    lab::Lab,
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

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
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
