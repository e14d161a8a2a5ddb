//! Told to end while calls run.

use std::{collections::BTreeMap, error::Error, time::Duration};

use crossbridge_proto::checked::{CreateRecovery, Kind, Look, NameSource};
use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tonic::{Code, Status};

use crate::{
    bench::Bench,
    client::{Client, Terms, told},
    hands::Replica,
    lab::{Lab, Thing},
    verdict::{Judgement, Stop},
};

/// Calls under way when the plugin is told to end.
const CALLS: usize = 32;

/// One of so many of them is a Create, where there is a kind for it.
const CREATE_EVERY: usize = 4;

/// Calls that are answered before it is told.
const ANSWERED: usize = 4;

/// No end of a look comes from this side.
const LOOK_LIMIT: Duration = Duration::from_secs(30);

/// What became of the calls, by their number.
#[derive(Debug)]
pub(super) struct Drained {
    lab: Lab,
    /// Those that are to be made.
    things: BTreeMap<usize, Thing>,
    answers: BTreeMap<usize, Result<(), Status>>,
}

impl Drained {
    /// Sends calls to the replica, and tells it to end while they run. Those that wait in its queue may rightly be refused, and nobody
    /// here knows which they are: so each must be answered or refused, and what is refused has no effect.
    pub(super) async fn begin(bench: &Bench, replica: &Replica) -> Result<Self, Stop> {
        let (lab, creates) = lab(bench)?;
        let look = looked_for(&lab)?;
        let client = Client::over(&lab.bench.client, replica.channel.clone());
        let mut things = BTreeMap::new();
        let mut calls = FuturesUnordered::new();
        for number in 0..CALLS {
            if creates && number % CREATE_EVERY == 0 {
                let mut thing = lab.thing()?;
                drained(&mut thing);
                lab.bench.registry.enter(&thing);
                calls.push(creating(&lab, &client, number, &thing));
                things.insert(number, thing);
            } else {
                calls.push(looking(&client, number, &look));
            }
        }
        let mut answers = BTreeMap::new();
        while answers.len() < ANSWERED
            && let Some((number, answer)) = calls.next().await
        {
            answers.insert(number, answer);
        }
        replica
            .process
            .terminate()
            .map_err(|error| Stop::blocked(format!("cannot send SIGTERM: {error}")))?;
        while let Some((number, answer)) = calls.next().await {
            answers.insert(number, answer);
        }
        drop(calls);
        Ok(Self { lab, things, answers })
    }

    /// Looks, through another process, for what was made, and removes it.
    pub(super) async fn judgement(self) -> Result<Judgement, Stop> {
        let mut judgement = self.answered();
        for (number, thing) in &self.things {
            let was_refused = self.answers.get(number).is_none_or(Result::is_err);
            if was_refused && matches!(self.lab.look(thing).await?, Look::Found(_)) {
                judgement = judgement.and(Err("a Create was refused, and made something".to_owned()));
            }
            self.lab.remove(thing).await?;
        }
        Ok(judgement)
    }

    fn answered(&self) -> Judgement {
        let refused = self.answers.values().filter_map(|answer| answer.as_ref().err());
        let mut cut = refused.filter(|status| !is_refused(status));
        match cut.next() {
            None => Ok(()),
            Some(status) => Err(format!("a call was cut: it ended in {}", told(status))),
        }
    }
}

/// Somebody said that it is not begun: the plugin, its gRPC library, or the one of this side, where the connection was closed before the
/// call was sent. A connection that breaks is another status.
fn is_refused(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::Cancelled) || is_left_out(status)
}

/// The other side's last word on the connection says which calls it takes, and this is none of them.
fn is_left_out(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<h2::Error>() {
            return error.is_go_away() && error.is_remote() && error.reason() == Some(h2::Reason::NO_ERROR);
        }
        cause = error.source();
    }
    false
}

type Call<'a> = BoxFuture<'a, (usize, Result<(), Status>)>;

fn creating<'a>(lab: &Lab, client: &'a Client, number: usize, thing: &Thing) -> Call<'a> {
    let (request, terms) = (thing.create(false), lab.terms().rough());
    Box::pin(async move { (number, client.create(request, terms).await.map(drop)) })
}

fn looking<'a>(client: &'a Client, number: usize, look: &Thing) -> Call<'a> {
    let (request, terms) = (look.observe(), Terms::within(LOOK_LIMIT).rough());
    Box::pin(async move { (number, client.observe(request, terms).await.map(drop)) })
}

/// Whom the calls are for.
fn drained(thing: &mut Thing) {
    if let Some(owner) = &mut thing.target.owner {
        "drained".clone_into(&mut owner.name);
    }
}

/// A kind, and whether things of it can be made: of which it can be told afterwards whether they are there.
fn lab(bench: &Bench) -> Result<(Lab, bool), Stop> {
    let labs = || {
        bench.chosen.iter().filter_map(|kind| {
            let example = bench.fixtures.examples_of(kind).into_iter().next()?;
            Some(Lab::new(bench, kind, &example))
        })
    };
    if let Some(lab) = labs().find(|lab| lab.example.requires.is_empty() && is_seen(&lab.kind)) {
        return Ok((lab, true));
    }
    let first = labs().next();
    first
        .map(|lab| (lab, false))
        .ok_or_else(|| Stop::not_applicable("no kind has an example"))
}

fn is_seen(kind: &Kind) -> bool {
    let capabilities = &kind.capabilities;
    let by_marker = capabilities.create_recovery.contains(&CreateRecovery::Marker);
    let seen = match kind.external_name.source {
        NameSource::User => true,
        NameSource::Provider => by_marker,
        // One wish is one name.
        NameSource::Derived => false,
    };
    capabilities.can_create && capabilities.can_delete && seen
}

/// Something that nobody has.
fn looked_for(lab: &Lab) -> Result<Thing, Stop> {
    let mut thing = lab.thing()?;
    drained(&mut thing);
    if thing.name().is_empty() {
        thing = thing.named(&lab.fresh_name("")?);
    }
    Ok(thing)
}
