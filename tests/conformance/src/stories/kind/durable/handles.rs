//! Operations that are begun here and followed elsewhere.

use std::time::Duration;

use crossbridge_types::{NameSource, Outcome, OutcomeResult};
use futures::future::join_all;

use crate::{
    assertion::Assertion,
    lab::{Lab, Thing, Trail, outcome_of},
    stories::kind::life::{DELETED, ENDED_STAYS, UPDATED, completed, ended_the_same, handle_good},
    verdict::Stop,
};

/// What begins an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Create,
    Update,
    Delete,
}

impl Verb {
    fn method(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Update => "Update",
            Self::Delete => "Delete",
        }
    }

    fn limit(self, lab: &Lab) -> Option<Duration> {
        let timeouts = &lab.kind.timeouts;
        match self {
            Self::Create => timeouts.create,
            Self::Update => timeouts.update,
            Self::Delete => timeouts.delete,
        }
    }
}

/// A call that was answered, by an operation or at once.
#[derive(Debug)]
pub(super) struct Begun {
    verb: Verb,
    pub thing: Thing,
    outcome: Outcome,
}

impl Begun {
    pub(super) fn handle(&self) -> Option<&str> {
        match &self.outcome.result {
            OutcomeResult::Operation(operation) => Some(&operation.handle),
            OutcomeResult::Completed(_) | OutcomeResult::Failure(_) => None,
        }
    }
}

/// The end of an operation, and the handle that was followed to it.
#[derive(Debug)]
pub(super) struct Ended {
    thing: Thing,
    handle: String,
    trail: Trail,
}

/// Begins all that the kind can, each with a thing of its own, the creation last: its thing is the last one.
pub(super) async fn begin(lab: &Lab) -> Result<Vec<Begun>, Stop> {
    let verbs = verbs(lab);
    let made = join_all(verbs.iter().map(|_| lab.made())).await;
    // Some upstreams let only one of a wish be: then the creation alone is followed.
    let made: Vec<Thing> = made.into_iter().collect::<Result<_, _>>().unwrap_or_default();
    let mut all = Vec::new();
    for (verb, mut thing) in verbs.into_iter().zip(made) {
        let client = &lab.bench.client;
        let outcome = if verb == Verb::Delete {
            outcome_of("Delete", client.delete(thing.delete(), lab.terms()).await)?
        } else {
            let wish = lab.example.update_parameters.clone().unwrap_or_default();
            thing = thing.with_parameters(&wish);
            outcome_of("Update", client.update(thing.update(), lab.terms()).await)?
        };
        all.push(Begun { verb, thing, outcome });
    }
    let mut thing = lab.thing()?;
    let outcome = lab.create_once(&mut thing, false).await?;
    let verb = Verb::Create;
    all.push(Begun { verb, thing, outcome });
    for begun in &all {
        if let OutcomeResult::Failure(failure) = &begun.outcome.result {
            let why = format!("{} failed: {}", begun.verb.method(), failure.message);
            return Err(Stop::blocked(why));
        }
    }
    Ok(all)
}

/// What is tried beside the creation. One wish is one derived name: there are no two things of it.
fn verbs(lab: &Lab) -> Vec<Verb> {
    let can = &lab.kind.capabilities;
    let mut verbs = Vec::new();
    if lab.kind.external_name.source == NameSource::Derived {
        return verbs;
    }
    if can.can_update && lab.example.update_parameters.is_some() && !lab.bench.has_failed(UPDATED) {
        verbs.push(Verb::Update);
    }
    if can.can_delete && !lab.bench.has_failed(DELETED) {
        verbs.push(Verb::Delete);
    }
    verbs
}

/// Polls each handle through these hands, follows it, and judges that it ends as it would have.
pub(super) async fn follow_elsewhere(
    lab: &Lab,
    assertion: &'static Assertion,
    all: &mut [Begun],
) -> Result<Vec<Ended>, Stop> {
    let mut ends = Vec::new();
    for begun in all {
        ends.extend(follow(lab, assertion, begun).await?);
    }
    if ends.is_empty() {
        lab.bench.not_applicable(assertion, "its calls are done at once");
    }
    Ok(ends)
}

async fn follow(lab: &Lab, assertion: &'static Assertion, begun: &mut Begun) -> Result<Option<Ended>, Stop> {
    let Some(handle) = begun.handle().map(str::to_owned) else {
        return Ok(None);
    };
    let method = begun.verb.method();
    let poll = begun.thing.poll(&handle);
    let answer = lab.bench.client.poll_operation(poll, lab.terms()).await;
    let good = handle_good(&answer).map_err(|seen| format!("{method}: {seen}"));
    lab.bench.judge(assertion, good.clone());
    good.map_err(Stop::Blocked)?;
    let limit = begun.verb.limit(lab);
    let followed = lab.follow(&mut begun.thing, begun.outcome.clone(), limit).await;
    let ended = match &followed {
        Ok(trail) => completed(trail, method),
        Err(stop) => Err(format!("{method}: {stop}")),
    };
    lab.bench.judge(assertion, ended.clone());
    ended.map_err(Stop::Blocked)?;
    let thing = begun.thing.clone();
    followed.map(|trail| Some(Ended { thing, handle, trail }))
}

/// Polls what has ended once more.
pub(super) async fn ask_again(lab: &Lab, ends: &[Ended]) {
    for ended in ends {
        let poll = ended.thing.poll(&ended.handle);
        let answer = lab.bench.client.poll_operation(poll, lab.terms()).await;
        lab.bench.judge(ENDED_STAYS, ended_the_same(&ended.trail, answer));
    }
}
