//! Two configs, each of which leads to a side of its own.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{Document, FailureCode, NameSource, ObserveResult, OutcomeResult};
use futures::future::join_all;
use serde_json::Value;

use super::{
    configs::{ISOLATED, is_own, observe_with},
    observe::is_absent,
};
use crate::{
    comparison::differences,
    kind_context::{CallTrace, KindContext, TestResource},
    verdict::{Judgement, Stop, holds},
};

/// How often two configs alternate, and how many observations of each are under way at once.
const TURNS: usize = 5;

/// Returns the resource, which may have been updated.
pub(super) async fn run(ctx: &KindContext, resource: TestResource) -> Result<TestResource, Stop> {
    let run_ctx = &ctx.run_ctx;
    let Some(other) = &run_ctx.fixtures.other_config else {
        run_ctx.not_applicable(ISOLATED, "give --other-setting: one that leads elsewhere");
        return Ok(resource);
    };
    let other = other.context("conformance-other", "1");
    let mut sides = Sides {
        counterpart: counterpart(ctx, &resource, &other).await?,
        own: resource,
        other,
    };
    sides.in_turn(ctx).await?;
    let updates = UpdateTargets::of(ctx);
    let fingerprint = match &updates {
        // Without a marker, fields must distinguish the sides.
        Some(updates) if !ctx.kind.capabilities.holds_marker => sides.made_distinct(ctx, updates).await?,
        _ => None,
    };
    sides.observe_concurrently(ctx, fingerprint.as_ref()).await?;
    if let Some(updates) = &updates {
        if fingerprint.is_some() {
            ctx.remove(&sides.counterpart).await?;
            sides.counterpart = counterpart(ctx, &sides.own, &sides.other).await?;
        }
        Box::pin(sides.update_concurrently(ctx, updates)).await?;
    }
    ctx.remove(&sides.counterpart).await?;
    let own = sides.observe(ctx, false).await?;
    run_ctx.judge(ISOLATED, is_own(&own, &sides.own));
    let others = observe_with(ctx, &sides.own, sides.other).await?;
    run_ctx.judge(ISOLATED, is_absent(&others));
    Ok(sides.own)
}

/// The like of it on the other side, also by its name where that is given.
async fn counterpart(
    ctx: &KindContext,
    resource: &TestResource,
    other: &wire::ConfigContext,
) -> Result<TestResource, Stop> {
    let mut counterpart = ctx.resource()?.with_config(other.clone());
    if ctx.kind.external_name.source == NameSource::User {
        counterpart = counterpart.with_name(resource.name());
    }
    ctx.create_to_completion(&mut counterpart).await?;
    Ok(counterpart)
}

/// What an Update changes.
struct UpdateTargets {
    changed: Document,
    pointers: Vec<String>,
}

impl UpdateTargets {
    fn of(ctx: &KindContext) -> Option<Self> {
        let changed = ctx.example.update_parameters.clone()?;
        let before = ctx.example.create_parameters.clone().unwrap_or_default();
        let pointers = differences(&before, &changed);
        let is_any = ctx.kind.capabilities.can_update && !pointers.is_empty();
        is_any.then_some(Self { changed, pointers })
    }
}

/// By which fields each side is known, where no marker reports.
struct Fingerprint {
    pointers: Vec<String>,
    own: Vec<Option<Value>>,
    counterpart: Vec<Option<Value>>,
}

struct Sides {
    own: TestResource,
    counterpart: TestResource,
    other: wire::ConfigContext,
}

impl Sides {
    fn side(&self, of_counterpart: bool) -> &TestResource {
        if of_counterpart {
            &self.counterpart
        } else {
            &self.own
        }
    }

    async fn observe(&self, ctx: &KindContext, of_counterpart: bool) -> Result<ObserveResult, Stop> {
        ctx.observe(self.side(of_counterpart)).await
    }

    async fn in_turn(&self, ctx: &KindContext) -> Result<(), Stop> {
        for turn in 0..2 * TURNS {
            let of_counterpart = turn % 2 == 1;
            let observation = self.observe(ctx, of_counterpart).await?;
            ctx.run_ctx
                .judge(ISOLATED, is_own(&observation, self.side(of_counterpart)));
        }
        Ok(())
    }

    /// Changes the twin. `None`: that cannot be seen.
    async fn made_distinct(
        &mut self,
        ctx: &KindContext,
        updates: &UpdateTargets,
    ) -> Result<Option<Fingerprint>, Stop> {
        let before = ctx.expect_exists(&self.own).await?;
        let trace = update(ctx, &mut self.counterpart, updates).await?;
        if trace.completed("Update").is_err() {
            return Ok(None);
        }
        ctx.wait_for_consistency().await;
        let after = ctx.expect_exists(&self.counterpart).await?;
        let is_unlike = |pointer: &&String| {
            let (own, counterpart) = (at(&before.parameters, pointer), at(&after.parameters, pointer));
            own != counterpart
        };
        let pointers: Vec<String> = updates.pointers.iter().filter(is_unlike).cloned().collect();
        Ok((!pointers.is_empty()).then(|| Fingerprint {
            own: values(&before.parameters, &pointers),
            counterpart: values(&after.parameters, &pointers),
            pointers,
        }))
    }

    async fn observe_concurrently(
        &self,
        ctx: &KindContext,
        fingerprint: Option<&Fingerprint>,
    ) -> Result<(), Stop> {
        let observations = (0..2 * TURNS).map(|turn| self.observe(ctx, turn % 2 == 1));
        for (turn, observation) in join_all(observations).await.into_iter().enumerate() {
            let (of_counterpart, observation) = (turn % 2 == 1, observation?);
            let judgement = is_own(&observation, self.side(of_counterpart)).and(fingerprint.map_or(
                Ok(()),
                |fingerprint| {
                    let due = if of_counterpart {
                        &fingerprint.counterpart
                    } else {
                        &fingerprint.own
                    };
                    shows(&observation, &fingerprint.pointers, due)
                },
            ));
            let judgement = judgement.map_err(|seen| format!("observed at once: {seen}"));
            ctx.run_ctx.judge(ISOLATED, judgement);
        }
        Ok(())
    }

    /// Both sides are as they were created.
    async fn update_concurrently(&mut self, ctx: &KindContext, updates: &UpdateTargets) -> Result<(), Stop> {
        let mut before = Vec::new();
        for of_counterpart in [false, true] {
            let found = ctx.expect_exists(self.side(of_counterpart)).await?;
            before.push(values(&found.parameters, &updates.pointers));
        }
        let (own, counterpart) = futures::join!(
            update(ctx, &mut self.own, updates),
            update(ctx, &mut self.counterpart, updates)
        );
        if ![own?, counterpart?].iter().all(is_conclusive) {
            return Ok(());
        }
        ctx.wait_for_consistency().await;
        let mut are_changed = Vec::new();
        for (of_counterpart, before) in [false, true].into_iter().zip(&before) {
            let found = ctx.expect_exists(self.side(of_counterpart)).await?;
            are_changed.push(values(&found.parameters, &updates.pointers) != *before);
        }
        // Where neither is, it is not for the other's sake.
        let judgement = holds(are_changed[0] == are_changed[1], || {
            "of two Updates at once, one for each side, one side shows nothing".to_owned()
        });
        ctx.run_ctx.judge(ISOLATED, judgement);
        Ok(())
    }
}

async fn update(
    ctx: &KindContext,
    resource: &mut TestResource,
    updates: &UpdateTargets,
) -> Result<CallTrace, Stop> {
    *resource = resource.clone().with_parameters(&updates.changed);
    let request = resource.update();
    ctx.update(resource, request).await
}

/// It was done, or went to where there is nothing; other failures have reasons of their own.
fn is_conclusive(trace: &CallTrace) -> bool {
    match trace.last().map(|outcome| &outcome.result) {
        Some(OutcomeResult::Completed(_)) => true,
        Some(OutcomeResult::Failure(failure)) => failure.code == FailureCode::NotFound,
        _ => false,
    }
}

fn at(document: &Document, pointer: &str) -> Option<Value> {
    Value::Object(document.clone()).pointer(pointer).cloned()
}

fn values(document: &Document, pointers: &[String]) -> Vec<Option<Value>> {
    pointers.iter().map(|pointer| at(document, pointer)).collect()
}

fn shows(observation: &ObserveResult, pointers: &[String], due: &[Option<Value>]) -> Judgement {
    match observation {
        ObserveResult::Found(found) => holds(values(&found.parameters, pointers) == due, || {
            "the fields of the other config's resource are found".to_owned()
        }),
        // Judged already.
        ObserveResult::Absent(_) | ObserveResult::Failed(_) => Ok(()),
    }
}
