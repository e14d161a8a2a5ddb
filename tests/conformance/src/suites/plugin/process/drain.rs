//! SIGTERM while calls run and a health watch is open.

use std::{collections::BTreeMap, error::Error, time::Duration};

use crossbridge_types::{CreateRecovery, Kind, NameSource, ObserveResult};
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
    client::{CallOptions, Client, describe},
    kind_context::{KindContext, TestResource},
    process_control::Replica,
    run_context::RunContext,
    verdict::{Judgement, Stop},
};

/// Calls under way when the plugin is instructed to end.
const CALLS: usize = 32;

/// One of so many of them is a Create, where there is a kind for it.
const CREATE_EVERY: usize = 4;

/// Calls that are answered before it is reported.
const ANSWERED: usize = 4;

/// No end of an observation comes from this side.
const OBSERVE_LIMIT: Duration = Duration::from_secs(30);

/// It reports that it ends before anything else.
const NOT_SERVING_LIMIT: Duration = Duration::from_secs(10);

/// What became of the calls, by their number.
#[derive(Debug)]
pub(super) struct Drained {
    ctx: KindContext,
    /// Those that are to be created.
    resources: BTreeMap<usize, TestResource>,
    responses: BTreeMap<usize, Result<(), Status>>,
    /// What a health watch receives at the end; `None`: its health cannot be watched.
    pub not_serving_report: Option<Judgement>,
}

impl Drained {
    /// Sends calls to the replica, and sends SIGTERM while they run. Calls in its queue may be rejected, and the kit does not know
    /// which those are: so each must be answered or rejected, and a rejected call must have no effect.
    pub(super) async fn begin(run_ctx: &RunContext, replica: &Replica) -> Result<Self, Stop> {
        let (ctx, creates) = ctx(run_ctx)?;
        let probe = probe(&ctx)?;
        let client = Client::over(&ctx.run_ctx.client, replica.channel.clone());
        let health = watched(replica).await?;
        let mut resources = BTreeMap::new();
        let mut calls = FuturesUnordered::new();
        for number in 0..CALLS {
            if creates && number % CREATE_EVERY == 0 {
                let mut resource = ctx.resource()?;
                drained(&mut resource);
                ctx.run_ctx.registry.add(&resource);
                calls.push(creating(&ctx, &client, number, &resource));
                resources.insert(number, resource);
            } else {
                calls.push(observing(&client, number, &probe));
            }
        }
        let mut responses = BTreeMap::new();
        while responses.len() < ANSWERED
            && let Some((number, response)) = calls.next().await
        {
            responses.insert(number, response);
        }
        replica
            .process
            .terminate()
            .map_err(|error| Stop::blocked(format!("cannot send SIGTERM: {error}")))?;
        let others = async {
            while let Some((number, response)) = calls.next().await {
                responses.insert(number, response);
            }
        };
        let (not_serving_report, ()) =
            futures::join!(OptionFuture::from(health.map(not_serving_report)), others);
        drop(calls);
        Ok(Self {
            ctx,
            resources,
            responses,
            not_serving_report,
        })
    }

    /// Searches for what was created through another process, and deletes it.
    pub(super) async fn judgement(self) -> Result<Judgement, Stop> {
        let mut judgement = self.answered();
        for (number, resource) in &self.resources {
            let was_rejected = self.responses.get(number).is_none_or(Result::is_err);
            if was_rejected && matches!(self.ctx.observe(resource).await?, ObserveResult::Found(_)) {
                judgement = judgement.and(Err("a Create was rejected, and created something".to_owned()));
            }
            self.ctx.remove(resource).await?;
        }
        Ok(judgement)
    }

    fn answered(&self) -> Judgement {
        let rejected = self
            .responses
            .values()
            .filter_map(|response| response.as_ref().err());
        let mut cut = rejected.filter(|status| !is_rejected(status));
        match cut.next() {
            None => Ok(()),
            Some(status) => Err(format!("a call was cut: it ended in {}", describe(status))),
        }
    }
}

/// Its health, over a connection that stays open. `None`: no one can watch it, or it does not serve to begin with.
async fn watched(replica: &Replica) -> Result<Option<Streaming<HealthCheckResponse>>, Stop> {
    let channel = replica.endpoint.channel(None);
    let channel = channel.map_err(|error| Stop::blocked(error.to_string()))?;
    let asked = async {
        let mut health = HealthClient::new(channel);
        let mut said = health.watch(HealthCheckRequest::default()).await?.into_inner();
        let first = said.message().await?;
        Ok::<_, Status>((said, first.map(|first| first.status())))
    };
    match timeout(NOT_SERVING_LIMIT, asked).await {
        Ok(Ok((said, Some(ServingStatus::Serving)))) => Ok(Some(said)),
        _ => Ok(None),
    }
}

/// What is watched no longer keeps the process from ending.
async fn not_serving_report(mut said: Streaming<HealthCheckResponse>) -> Judgement {
    let describe = async {
        loop {
            match said.message().await {
                Ok(Some(now)) if now.status() == ServingStatus::NotServing => return Ok(()),
                Ok(Some(_)) => {}
                Ok(None) => return Err("its health watch ended without NOT_SERVING".to_owned()),
                Err(status) => {
                    return Err(format!(
                        "its health watch ended with {} alone",
                        crate::client::describe(&status)
                    ));
                }
            }
        }
    };
    timeout(NOT_SERVING_LIMIT, describe).await.unwrap_or_else(|_| {
        Err(format!(
            "its health is not NOT_SERVING within {} s",
            NOT_SERVING_LIMIT.as_secs()
        ))
    })
}

/// The call was certainly not begun: rejected by the plugin, its gRPC library, or the client's, where the connection was closed before the
/// call was sent. A connection that breaks is another status.
fn is_rejected(status: &Status) -> bool {
    let codes = [Code::Unavailable, Code::Cancelled, Code::FailedPrecondition];
    codes.contains(&status.code()) || is_left_out(status)
}

/// The other side's GOAWAY on the connection reports which calls it takes, and this is none of them.
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

fn creating<'a>(ctx: &KindContext, client: &'a Client, number: usize, resource: &TestResource) -> Call<'a> {
    let (request, options) = (resource.create(false), ctx.options().tolerant());
    Box::pin(async move { (number, client.create(request, options).await.map(drop)) })
}

fn observing<'a>(client: &'a Client, number: usize, probe: &TestResource) -> Call<'a> {
    let (request, options) = (probe.observe(), CallOptions::within(OBSERVE_LIMIT).tolerant());
    Box::pin(async move { (number, client.observe(request, options).await.map(drop)) })
}

/// Whom the calls are for.
fn drained(resource: &mut TestResource) {
    if let Some(owner) = &mut resource.target.owner {
        "drained".clone_into(&mut owner.name);
    }
}

/// A kind, and whether resources of it can be created: of which it can be reported afterwards whether they are there.
fn ctx(run_ctx: &RunContext) -> Result<(KindContext, bool), Stop> {
    let contexts = || {
        run_ctx.chosen.iter().filter_map(|kind| {
            let example = run_ctx.fixtures.examples_of(kind).into_iter().next()?;
            Some(KindContext::new(run_ctx, kind, &example))
        })
    };
    if let Some(ctx) = contexts().find(|ctx| ctx.example.requires.is_empty() && is_seen(&ctx.kind)) {
        return Ok((ctx, true));
    }
    let first = contexts().next();
    first
        .map(|ctx| (ctx, false))
        .ok_or_else(|| Stop::not_applicable("no kind has an example"))
}

fn is_seen(kind: &Kind) -> bool {
    let capabilities = &kind.capabilities;
    let by_marker = capabilities.create_recovery.contains(&CreateRecovery::Marker);
    let seen = match kind.external_name.source {
        NameSource::User => true,
        NameSource::Provider => by_marker,
        // One desired state is one name.
        NameSource::Derived => false,
    };
    capabilities.can_create && capabilities.can_delete && seen
}

/// A resource with an unused name.
fn probe(ctx: &KindContext) -> Result<TestResource, Stop> {
    let mut resource = ctx.resource()?;
    drained(&mut resource);
    if resource.name().is_empty() {
        resource = resource.with_name(&ctx.unused_name("")?);
    }
    Ok(resource)
}
