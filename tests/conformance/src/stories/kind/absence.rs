//! Whether anything calls absent what exists, while the plugin cannot see it.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{Effect, FailureCode, Look, Outcome, OutcomeResult};
use tonic::Status;

use crate::{
    lab::{Lab, Thing, outcome_of},
    verdict::{Judgement, Stop, holds},
};

/// What was said of a thing in bad times.
#[derive(Debug)]
pub(super) struct Words {
    /// The look by its name.
    pub look: Look,
    /// Whether one of them calls it absent.
    pub judgement: Judgement,
    /// Delete, or a poll of it, says that it is gone.
    says_removed: bool,
    /// A Delete may have had its effect.
    pub may_be_gone: bool,
}

/// Asks each call that could call it absent. The thing has the config of the bad times.
pub(super) async fn words(lab: &Lab, thing: &Thing) -> Result<Words, Stop> {
    let look = lab.look(thing).await?;
    let mut judgement = not_absent(&look);
    if lab.looks_without_name() {
        let nameless = lab.look(&thing.clone().unnamed()).await?;
        judgement =
            judgement.and(not_absent(&nameless).map_err(|seen| format!("by a look without a name {seen}")));
    }
    let client = &lab.bench.client;
    if lab.kind.capabilities.can_update {
        let answer = client.update(thing.update(), lab.terms()).await;
        judgement = judgement.and(not_called_absent("Update", &outcome_of("Update", answer)?));
    }
    let mut words = Words {
        look,
        judgement,
        says_removed: false,
        may_be_gone: false,
    };
    // Whoever can see it may list it, and remove it.
    if !matches!(words.look, Look::Found(_)) {
        if lab.bench.info()?.lists_external {
            let answer = client.list_external(list(lab, thing), lab.terms()).await;
            words.judgement = words.judgement.and(not_nothing(&answer));
        }
        if lab.kind.capabilities.can_delete {
            removed(lab, thing, &mut words).await?;
        }
    }
    Ok(words)
}

async fn removed(lab: &Lab, thing: &Thing, words: &mut Words) -> Result<(), Stop> {
    let client = &lab.bench.client;
    let mut method = "Delete";
    let mut outcome = outcome_of(method, client.delete(thing.delete(), lab.terms()).await)?;
    words.may_be_gone = !is_without_effect(&outcome);
    if let OutcomeResult::Operation(operation) = &outcome.result {
        // Once: it need not end before the times are better.
        method = "PollOperation";
        let poll = client.poll_operation(thing.poll(&operation.handle), lab.terms());
        outcome = outcome_of(method, poll.await)?;
    }
    words.says_removed = matches!(outcome.result, OutcomeResult::Completed(_));
    let judgement = std::mem::replace(&mut words.judgement, Ok(()));
    words.judgement = judgement.and(not_called_absent(method, &outcome));
    Ok(())
}

impl Words {
    /// The judgement, in good times again, when it can be seen whether what Delete said was true.
    pub(super) async fn settled(self, lab: &Lab, thing: &Thing) -> Result<Judgement, Stop> {
        let is_true = !self.says_removed || lab.becomes_absent(thing).await?;
        Ok(self.judgement.and(holds(is_true, || {
            "Delete says that it is done, and it is still there".to_owned()
        })))
    }
}

/// A poll, with another config, of the Delete that was begun with the good one.
pub(super) async fn polled(
    lab: &Lab,
    thing: &Thing,
    handle: &str,
    config: wire::ConfigContext,
) -> Result<Judgement, Stop> {
    let poll = thing.clone().with_config(config).poll(handle);
    let answer = lab.bench.client.poll_operation(poll, lab.terms()).await;
    let outcome = outcome_of("PollOperation", answer)?;
    let says_gone = matches!(outcome.result, OutcomeResult::Completed(_))
        || not_called_absent("PollOperation", &outcome).is_err();
    // It may have ended by now.
    let is_there = says_gone && matches!(lab.look(thing).await?, Look::Found(_));
    Ok(holds(!is_there, || {
        "PollOperation of a Delete says that it is gone, and it is still there".to_owned()
    }))
}

/// The thing, or another one like it, if it is gone.
pub(super) async fn there(lab: &Lab, thing: Thing) -> Result<Thing, Stop> {
    if lab.presence(&thing).await?.is_some() {
        return Ok(thing);
    }
    lab.remove(&thing).await?;
    lab.made().await
}

fn list(lab: &Lab, thing: &Thing) -> wire::ListExternalRequest {
    wire::ListExternalRequest {
        resource_type: Some(lab.kind.resource_type.clone().into()),
        config: thing.target.config.clone(),
        ..Default::default()
    }
}

fn is_without_effect(outcome: &Outcome) -> bool {
    matches!(&outcome.result, OutcomeResult::Failure(failure) if failure.effect == Effect::None)
}

fn not_absent(look: &Look) -> Judgement {
    holds(!matches!(look, Look::Absent(_)), || {
        "what exists reads as absent".to_owned()
    })
}

fn not_called_absent(method: &str, outcome: &Outcome) -> Judgement {
    match &outcome.result {
        OutcomeResult::Failure(failure) => holds(failure.code != FailureCode::NotFound, || {
            format!("{method} says NOT_FOUND of what exists")
        }),
        _ => Ok(()),
    }
}

/// A list that could not be read is not an empty one.
fn not_nothing(answer: &Result<wire::ListExternalResponse, Status>) -> Judgement {
    match answer {
        Ok(page) => holds(
            page.failure.is_some()
                || !page.unreachable.is_empty()
                || !page.items.is_empty()
                || !page.next_page_token.is_empty(),
            || "ListExternal lists nothing, and names no failure".to_owned(),
        ),
        // Either it does not list this kind, or another assertion judges the status.
        Err(_) => Ok(()),
    }
}
