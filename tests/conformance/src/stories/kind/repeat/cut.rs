//! Creations that are cut: by their deadline, or by a caller that goes away.

use std::time::Duration;

use crossbridge_proto::checked::{NameSource, Outcome, OutcomeResult};
use tokio::time::sleep;

use super::{CUT_SHORT, NOTHING_CANCELLED, NOTHING_LATE, judge, promises, recover};
use crate::{
    client::Terms,
    clock::pass,
    lab::{Lab, Thing},
    stories::kind::life::EXISTS,
    verdict::{Stop, Verdict},
};

/// How long a creation may run, in microseconds, the longest first: what is not cut by one is tried with the next.
const CUTS: [u64; 9] = [50_000, 20_000, 10_000, 5_000, 2_000, 1_000, 500, 200, 100];

/// A step that was under way at the deadline may still end on a busy machine: the bridge grants much more, for clocks that differ.
const GRACE: Duration = Duration::from_millis(500);

/// How long nothing may come about after that.
const QUIET: Duration = Duration::from_secs(1);

const TOO_FAST: &str = "a creation is done before it can be cut";

/// In both ways, and at the same time where two things have two names: most of it is waiting.
pub(super) async fn cut(lab: &Lab) -> Result<(), Stop> {
    if lab.kind.external_name.source == NameSource::Derived {
        by_deadline(lab).await?;
        return by_cancelling(lab).await;
    }
    let (by_deadline, by_cancelling) = tokio::join!(by_deadline(lab), by_cancelling(lab));
    by_deadline.and(by_cancelling)
}

/// Cut by its deadline, watched, then repeated.
async fn by_deadline(lab: &Lab) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !can_look(lab) {
        bench.not_applicable(NOTHING_LATE, "the kind cannot look without a name");
        if !promises(lab) {
            bench.not_applicable(CUT_SHORT, "the kind declares no recovery: a person is asked");
            return Ok(());
        }
    }
    for limit in CUTS.map(Duration::from_micros) {
        let mut thing = lab.thing()?;
        // However it ends, nobody relies on it.
        let terms = Terms::within(limit).rough();
        if let Some(outcome) = created_within(lab, &mut thing, terms, limit).await {
            finish(lab, &mut thing, outcome).await?;
            continue;
        }
        if can_look(lab) {
            bench.note(NOTHING_LATE, nothing_comes(lab, &thing).await?);
        }
        let verdict = recover(lab, &mut thing).await?;
        bench.note(CUT_SHORT, verdict);
        return Ok(());
    }
    for assertion in [NOTHING_LATE, CUT_SHORT] {
        bench.not_applicable(assertion, TOO_FAST);
    }
    Ok(())
}

/// The caller goes away, and watches from afar.
async fn by_cancelling(lab: &Lab) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !can_look(lab) {
        bench.not_applicable(NOTHING_CANCELLED, "the kind cannot look without a name");
        return Ok(());
    }
    for limit in CUTS.map(Duration::from_micros) {
        let mut thing = lab.thing()?;
        let terms = lab.terms().rough();
        if let Some(outcome) = created_within(lab, &mut thing, terms, limit).await {
            finish(lab, &mut thing, outcome).await?;
            continue;
        }
        bench.note(NOTHING_CANCELLED, nothing_comes(lab, &thing).await?);
        return lab.remove(&thing).await;
    }
    bench.not_applicable(NOTHING_CANCELLED, TOO_FAST);
    Ok(())
}

fn can_look(lab: &Lab) -> bool {
    lab.kind.external_name.source == NameSource::User || lab.looks_without_name()
}

/// Creates it, and waits no longer than this; what was made in time, where a failure is nothing.
async fn created_within(lab: &Lab, thing: &mut Thing, terms: Terms, limit: Duration) -> Option<Outcome> {
    let answer = tokio::select! {
        answer = lab.create_under(thing, false, terms) => answer,
        () = pass(limit) => return None,
    };
    let outcome = answer.ok()?.ok()?;
    (!matches!(outcome.result, OutcomeResult::Failure(_))).then_some(outcome)
}

/// Removes what was not cut.
async fn finish(lab: &Lab, thing: &mut Thing, outcome: Outcome) -> Result<(), Stop> {
    if !lab.kind.capabilities.delete_during_create {
        lab.follow(thing, outcome, lab.kind.timeouts.create).await?;
    }
    lab.remove(thing).await
}

async fn nothing_comes(lab: &Lab, thing: &Thing) -> Result<Verdict, Stop> {
    if lab.bench.has_failed(EXISTS) {
        let why = "what was made is found late even where nobody cuts it";
        return Ok(Verdict::Blocked(why.to_owned()));
    }
    sleep(GRACE).await;
    lab.wait_out_window().await;
    let early = lab.look(thing).await?;
    sleep(QUIET).await;
    let late = lab.look(thing).await?;
    let judged = judge::nothing_came(&early, &late);
    Ok(judged.map_or_else(Verdict::Failed, |()| Verdict::Passed))
}
