//! Creations that are cut: by their deadline, or by a caller that goes away.

use std::{collections::BTreeSet, time::Duration};

use crossbridge_types::{Look, NameSource, Outcome, OutcomeResult};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{CUT_SHORT, NOTHING_CANCELLED, NOTHING_LATE, judge, promises, recover};
use crate::{
    assertion::Assertion,
    client::Terms,
    clock::pass,
    lab::{Lab, Thing},
    stories::kind::life::EXISTS,
    verdict::{Judgement, Stop, Verdict},
};

/// How long a creation may run, in microseconds, the longest first: what is not cut by one is tried with the next.
const CUTS: [u64; 9] = [50_000, 20_000, 10_000, 5_000, 2_000, 1_000, 500, 200, 100];

/// A step that was under way at the deadline may still end on a busy machine: the bridge grants much more, for clocks that differ.
const GRACE: Duration = Duration::from_millis(500);

/// How long nothing may come about after that, at least and at most.
const QUIET: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// Work that goes on without its call takes as long as a creation does, and longer where it is tried again: so many creations are waited for.
const CREATIONS: u32 = 3;

const UNSEEN: &str = "the kind cannot look without a name, and does not list what bears its marker";

const TOO_FAST: &str = "a creation is done before it can be cut";

/// In both ways, and at the same time where two things have two names: most of it is waiting.
pub(super) async fn cut(lab: &Lab) -> Result<(), Stop> {
    let quiet = quiet(lab).await?;
    if lab.kind.external_name.source == NameSource::Derived {
        by_deadline(lab, quiet).await?;
        return by_cancelling(lab, quiet).await;
    }
    let (by_deadline, by_cancelling) = tokio::join!(by_deadline(lab, quiet), by_cancelling(lab, quiet));
    by_deadline.and(by_cancelling)
}

/// By a creation that nobody cuts.
async fn quiet(lab: &Lab) -> Result<Duration, Stop> {
    let begun = Instant::now();
    let mut thing = lab.thing()?;
    let outcome = lab.create_once(&mut thing, false).await?;
    let takes = begun.elapsed();
    finish(lab, &mut thing, outcome).await?;
    Ok((takes * CREATIONS).clamp(QUIET.0, QUIET.1))
}

/// Cut by its deadline, watched, then repeated.
async fn by_deadline(lab: &Lab, quiet: Duration) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !can_look(lab) {
        bench.not_applicable(NOTHING_LATE, UNSEEN);
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
        let cut = thing.clone();
        if can_look(lab) {
            bench.note(NOTHING_LATE, nothing_comes(lab, &thing, quiet).await);
        }
        let verdict = recover(lab, &mut thing).await?;
        bench.note(CUT_SHORT, verdict);
        watch(lab, cut, NOTHING_LATE);
        return Ok(());
    }
    for assertion in [NOTHING_LATE, CUT_SHORT] {
        bench.not_applicable(assertion, TOO_FAST);
    }
    Ok(())
}

/// The caller goes away, and watches from afar.
async fn by_cancelling(lab: &Lab, quiet: Duration) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !can_look(lab) {
        bench.not_applicable(NOTHING_CANCELLED, UNSEEN);
        return Ok(());
    }
    for limit in CUTS.map(Duration::from_micros) {
        let mut thing = lab.thing()?;
        let terms = lab.terms().rough();
        if let Some(outcome) = created_within(lab, &mut thing, terms, limit).await {
            finish(lab, &mut thing, outcome).await?;
            continue;
        }
        bench.note(NOTHING_CANCELLED, nothing_comes(lab, &thing, quiet).await);
        lab.remove(&thing).await?;
        watch(lab, thing, NOTHING_CANCELLED);
        return Ok(());
    }
    bench.not_applicable(NOTHING_CANCELLED, TOO_FAST);
    Ok(())
}

fn can_look(lab: &Lab) -> bool {
    let lists = lab.bench.info().is_ok_and(|info| info.lists_external);
    is_looked_for(lab) || lists && lab.kind.capabilities.holds_marker
}

/// Whether a look finds it, though nobody was told its name.
fn is_looked_for(lab: &Lab) -> bool {
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

async fn nothing_comes(lab: &Lab, thing: &Thing, quiet: Duration) -> Verdict {
    if lab.bench.has_failed(EXISTS) {
        let why = "what was made is found late even where nobody cuts it";
        return Verdict::Blocked(why.to_owned());
    }
    sleep(GRACE).await;
    lab.wait_out_window().await;
    match watched(lab, thing, quiet).await {
        Ok(judged) => judged.map_or_else(Verdict::Failed, |()| Verdict::Passed),
        Err(stop) => stop.into(),
    }
}

async fn watched(lab: &Lab, thing: &Thing, quiet: Duration) -> Result<Judgement, Stop> {
    if !there(lab, thing).await?.is_empty() {
        // In time: nothing is left to come.
        return Ok(Ok(()));
    }
    sleep(quiet).await;
    Ok(judge::nothing_came(&there(lab, thing).await?))
}

/// The names of what came of it.
async fn there(lab: &Lab, thing: &Thing) -> Result<BTreeSet<String>, Stop> {
    if !is_looked_for(lab) {
        let found = lab.bearers(thing).await?;
        return found.ok_or_else(|| Stop::not_applicable(UNSEEN));
    }
    match lab.look(thing).await? {
        Look::Found(found) => Ok(BTreeSet::from([found.external_name])),
        Look::Absent(_) => Ok(BTreeSet::new()),
        Look::Failed(failure) => Err(Stop::blocked(format!("Observe failed: {}", failure.message))),
    }
}

/// Has it looked for once more in the end. One wish is one derived name: that would find another's.
fn watch(lab: &Lab, thing: Thing, assertion: &'static Assertion) {
    let can_tell = can_look(lab) && lab.kind.external_name.source != NameSource::Derived;
    if can_tell && !lab.bench.has_failed(EXISTS) {
        lab.bench.registry.watch(thing, assertion);
    }
}

/// Looks once more for what was cut and is removed: some work goes on for long without its call.
pub(crate) async fn came_late(lab: &Lab) {
    for (thing, assertion) in lab.bench.registry.watched(&lab.kind.resource_type.kind) {
        // A look that does not work tells nothing.
        let names = there(lab, &thing).await.unwrap_or_default();
        if !names.is_empty() {
            lab.bench.judge(assertion, judge::nothing_came(&names));
        }
        for name in names {
            let mut late = thing.clone().named(&name);
            late.token = Uuid::new_v4().to_string();
            lab.bench.registry.enter(&late);
            // What resists is told at the end.
            let _ = lab.remove(&late).await;
        }
    }
}
