//! Told to end while calls run and somebody watches its health.

use std::{collections::BTreeMap, error::Error, time::Duration};

use crossbridge_types::{CreateRecovery, Kind, Look, NameSource};
use futures::{
    StreamExt,
    future::{BoxFuture, OptionFuture},
    stream::FuturesUnordered,
};
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
    health_client::HealthClient,
};

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

/// It says that it ends before anything else.
const FAREWELL_LIMIT: Duration = Duration::from_secs(10);

/// What became of the calls, by their number.
#[derive(Debug)]
pub(super) struct Drained {
    lab: Lab,
    /// Those that are to be made.
    things: BTreeMap<usize, Thing>,
    answers: BTreeMap<usize, Result<(), Status>>,
    /// What whoever watches its health hears at the end; `None`: its health cannot be watched.
    pub farewell: Option<Judgement>,
}

impl Drained {
    /// Sends calls to the replica, and tells it to end while they run. Those that wait in its queue may rightly be refused, and nobody
    /// here knows which they are: so each must be answered or refused, and what is refused has no effect.
    pub(super) async fn begin(bench: &Bench, replica: &Replica) -> Result<Self, Stop> {
        let (lab, creates) = lab(bench)?;
        let look = looked_for(&lab)?;
        let client = Client::over(&lab.bench.client, replica.channel.clone());
        let health = watched(replica).await?;
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
        let others = async {
            while let Some((number, answer)) = calls.next().await {
                answers.insert(number, answer);
            }
        };
        let (farewell, ()) = futures::join!(OptionFuture::from(health.map(farewell)), others);
        drop(calls);
        Ok(Self {
            lab,
            things,
            answers,
            farewell,
        })
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

/// Its health, over a connection that stays open. `None`: nobody can watch it, or it does not serve to begin with.
async fn watched(replica: &Replica) -> Result<Option<Streaming<HealthCheckResponse>>, Stop> {
    let channel = replica.endpoint.channel(None);
    let channel = channel.map_err(|error| Stop::blocked(error.to_string()))?;
    let asked = async {
        let mut health = HealthClient::new(channel);
        let mut said = health.watch(HealthCheckRequest::default()).await?.into_inner();
        let first = said.message().await?;
        Ok::<_, Status>((said, first.map(|first| first.status())))
    };
    match timeout(FAREWELL_LIMIT, asked).await {
        Ok(Ok((said, Some(ServingStatus::Serving)))) => Ok(Some(said)),
        _ => Ok(None),
    }
}

/// What is watched no longer keeps the process from ending.
async fn farewell(mut said: Streaming<HealthCheckResponse>) -> Judgement {
    let told = async {
        loop {
            match said.message().await {
                Ok(Some(now)) if now.status() == ServingStatus::NotServing => return Ok(()),
                Ok(Some(_)) => {}
                Ok(None) => return Err("whoever watches its health hears the end without it".to_owned()),
                Err(status) => {
                    return Err(format!(
                        "whoever watches its health hears only {}",
                        crate::client::told(&status)
                    ));
                }
            }
        }
    };
    timeout(FAREWELL_LIMIT, told).await.unwrap_or_else(|_| {
        Err(format!(
            "it does not say so within {} s",
            FAREWELL_LIMIT.as_secs()
        ))
    })
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
