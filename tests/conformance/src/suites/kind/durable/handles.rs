//! Operations that are begun here and followed elsewhere.

use std::time::Duration;

use crossbridge_types::{NameSource, Outcome, OutcomeResult};
use futures::future::join_all;

use crate::{
    assertion::Assertion,
    kind_context::{CallTrace, KindContext, TestResource, outcome_of},
    suites::kind::lifecycle::{
        DELETED, TERMINAL_RESPONSE_STABLE, UPDATED, completed, handle_accepted, same_terminal_response,
    },
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

    fn limit(self, ctx: &KindContext) -> Option<Duration> {
        let timeouts = &ctx.kind.timeouts;
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
    pub resource: TestResource,
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
    resource: TestResource,
    handle: String,
    trace: CallTrace,
}

/// Begins all that the kind can, each with a resource of its own, the creation last: its resource is the last one.
pub(super) async fn begin(ctx: &KindContext) -> Result<Vec<Begun>, Stop> {
    let verbs = verbs(ctx);
    let created = join_all(verbs.iter().map(|_| ctx.create_new())).await;
    // Some upstreams allow only one resource per desired state: then the creation alone is followed.
    let created: Vec<TestResource> = created.into_iter().collect::<Result<_, _>>().unwrap_or_default();
    let mut all = Vec::new();
    for (verb, mut resource) in verbs.into_iter().zip(created) {
        let client = &ctx.run_ctx.client;
        let outcome = if verb == Verb::Delete {
            outcome_of("Delete", client.delete(resource.delete(), ctx.options()).await)?
        } else {
            let desired = ctx.example.update_parameters.clone().unwrap_or_default();
            resource = resource.with_parameters(&desired);
            outcome_of("Update", client.update(resource.update(), ctx.options()).await)?
        };
        all.push(Begun {
            verb,
            resource,
            outcome,
        });
    }
    let mut resource = ctx.resource()?;
    let outcome = ctx.create_once(&mut resource, false).await?;
    let verb = Verb::Create;
    all.push(Begun {
        verb,
        resource,
        outcome,
    });
    for begun in &all {
        if let OutcomeResult::Failure(failure) = &begun.outcome.result {
            let why = format!("{} failed: {}", begun.verb.method(), failure.message);
            return Err(Stop::blocked(why + &ctx.advice(failure)));
        }
    }
    Ok(all)
}

/// What is tried beside the creation. One desired state is one derived name: there are no two resources of it.
fn verbs(ctx: &KindContext) -> Vec<Verb> {
    let can = &ctx.kind.capabilities;
    let mut verbs = Vec::new();
    if ctx.kind.external_name.source == NameSource::Derived {
        return verbs;
    }
    if can.can_update && ctx.example.update_parameters.is_some() && !ctx.run_ctx.has_failed(UPDATED) {
        verbs.push(Verb::Update);
    }
    if can.can_delete && !ctx.run_ctx.has_failed(DELETED) {
        verbs.push(Verb::Delete);
    }
    verbs
}

/// Polls each handle through this process control, follows it, and judges that it ends as it would have.
pub(super) async fn follow_elsewhere(
    ctx: &KindContext,
    assertion: &'static Assertion,
    all: &mut [Begun],
) -> Result<Vec<Ended>, Stop> {
    let mut ends = Vec::new();
    for begun in all {
        ends.extend(follow(ctx, assertion, begun).await?);
    }
    if ends.is_empty() {
        ctx.run_ctx
            .not_applicable(assertion, "its calls are done at once");
    }
    Ok(ends)
}

async fn follow(
    ctx: &KindContext,
    assertion: &'static Assertion,
    begun: &mut Begun,
) -> Result<Option<Ended>, Stop> {
    let Some(handle) = begun.handle().map(str::to_owned) else {
        return Ok(None);
    };
    let method = begun.verb.method();
    let poll = begun.resource.poll(&handle);
    let response = ctx.run_ctx.client.poll_operation(poll, ctx.options()).await;
    let good = handle_accepted(&response).map_err(|seen| format!("{method}: {seen}"));
    ctx.run_ctx.judge(assertion, good.clone());
    good.map_err(Stop::Blocked)?;
    let limit = begun.verb.limit(ctx);
    let followed = ctx
        .follow(&mut begun.resource, begun.outcome.clone(), limit)
        .await;
    let ended = match &followed {
        Ok(trace) => completed(trace, method),
        Err(stop) => Err(format!("{method}: {stop}")),
    };
    ctx.run_ctx.judge(assertion, ended.clone());
    ended.map_err(Stop::Blocked)?;
    let resource = begun.resource.clone();
    followed.map(|trace| {
        Some(Ended {
            resource,
            handle,
            trace,
        })
    })
}

/// Polls what has ended once more.
pub(super) async fn ask_again(ctx: &KindContext, ends: &[Ended]) {
    for ended in ends {
        let poll = ended.resource.poll(&ended.handle);
        let response = ctx.run_ctx.client.poll_operation(poll, ctx.options()).await;
        ctx.run_ctx.judge(
            TERMINAL_RESPONSE_STABLE,
            same_terminal_response(&ended.trace, response),
        );
    }
}
