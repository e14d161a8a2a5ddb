//! Requests that break the contract themselves.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::OutcomeResult;
use tonic::{Code, Status};

use super::{MALFORMED, REQUIRED, REQUIRED_NAMED, UNKNOWN_TYPE, UNSUPPORTED};
use crate::{
    client::describe,
    kind_context::{KindContext, TestResource, outcome_of},
    required::without_each,
    suites::plugin::kinds::rejected_as,
    verdict::{Stop, holds},
};

type Change<Q> = fn(&mut Q);

/// Sends `request` with each of the changes, and returns the responses, by field.
macro_rules! each_malformed {
    ($ctx:ident, $call:ident, $request:expr, $changes:expr) => {{
        let mut responses: Vec<(&'static str, Result<(), Status>)> = Vec::new();
        for (field, change) in $changes {
            let mut request = $request;
            change(&mut request);
            let response = $ctx.run_ctx.client.$call(request, $ctx.options()).await;
            responses.push((field, response.map(drop)));
        }
        responses
    }};
}

fn target(target: &mut Option<wire::Target>) -> &mut wire::Target {
    target.get_or_insert_default()
}

/// All of them; what a plugin takes and creates all the same is removed.
pub(super) async fn run(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    ctx.run_ctx.registry.add(resource);
    required_fields(ctx, resource).await?;
    malformed(ctx, resource).await;
    unknown_type(ctx, resource).await?;
    unsupported(ctx, resource).await;
    let mut left = resource.clone();
    left.rejected = true;
    ctx.remove(&left).await
}

/// Sends the request without each REQUIRED field in turn, and returns the responses, by field.
macro_rules! each_incomplete {
    ($ctx:ident, $call:ident, $request:expr, $message:literal) => {{
        let mut responses: Vec<(String, Result<(), Status>)> = Vec::new();
        for (field, request) in without_each(&$request, $message).map_err(Stop::Blocked)? {
            let response = $ctx.run_ctx.client.$call(request, $ctx.options()).await;
            responses.push((field, response.map(drop)));
        }
        responses
    }};
}

/// Each REQUIRED field left out in turn.
async fn required_fields(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    let known = named(ctx, resource);
    let can = &ctx.kind.capabilities;
    let mut responses = each_incomplete!(ctx, observe, known.observe(), "ObserveRequest");
    if can.can_create {
        responses.extend(each_incomplete!(
            ctx,
            create,
            resource.create(false),
            "CreateRequest"
        ));
    }
    // Of those two the name is REQUIRED as well.
    let missing_name = |response: Result<(), Status>| ("target.external_name".to_owned(), response);
    let without_name = known.clone().with_name("");
    if can.can_update {
        responses.extend(each_incomplete!(ctx, update, known.update(), "UpdateRequest"));
        let response = ctx
            .run_ctx
            .client
            .update(without_name.update(), ctx.options())
            .await;
        responses.push(missing_name(response.map(drop)));
    }
    if can.can_delete {
        responses.extend(each_incomplete!(ctx, delete, known.delete(), "DeleteRequest"));
        let response = ctx
            .run_ctx
            .client
            .delete(without_name.delete(), ctx.options())
            .await;
        responses.push(missing_name(response.map(drop)));
    }
    let config = wire::CheckConfigRequest {
        config: known.target.config.clone(),
    };
    let mut checks = each_incomplete!(ctx, check_config, config, "CheckConfigRequest");
    // Without any config it has an assertion of its own.
    checks.retain(|(field, _)| field != "config");
    responses.extend(checks);
    if let Some(list) = list(ctx).await? {
        responses.extend(each_incomplete!(ctx, list_external, list, "ListExternalRequest"));
    }
    judge_incomplete(ctx, responses);
    Ok(())
}

/// A good request, where the plugin lists this kind.
async fn list(ctx: &KindContext) -> Result<Option<wire::ListExternalRequest>, Stop> {
    let list = wire::ListExternalRequest {
        resource_type: Some(ctx.kind.resource_type.clone().into()),
        config: Some(ctx.run_ctx.config()),
        ..Default::default()
    };
    if !ctx.run_ctx.info()?.lists_external {
        return Ok(None);
    }
    let response = ctx
        .run_ctx
        .client
        .list_external(list.clone(), ctx.options())
        .await;
    Ok(response.is_ok().then_some(list))
}

/// Polls of an operation, which are good but for what is missing. Removes the resource.
pub(super) async fn check_polls(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    if ctx.kind.capabilities.can_delete {
        let begun = ctx.run_ctx.client.delete(resource.delete(), ctx.options()).await;
        if let OutcomeResult::Operation(operation) = outcome_of("Delete", begun)?.result {
            let poll = resource.poll(&operation.handle);
            let responses = each_incomplete!(ctx, poll_operation, poll, "PollOperationRequest");
            judge_incomplete(ctx, responses);
        }
    }
    ctx.remove(resource).await
}

fn judge_incomplete(ctx: &KindContext, responses: Vec<(String, Result<(), Status>)>) {
    for (field, response) in responses {
        let named = match &response {
            Err(status) if status.code() == Code::InvalidArgument => {
                holds(status.message().contains(&field), || {
                    format!("without {field}: {}", describe(status))
                })
            }
            // That one is judged as not checked.
            _ => Ok(()),
        };
        let rejected = rejected_as(Code::InvalidArgument, response)
            .map_err(|problem| format!("without {field}: {problem}"));
        ctx.run_ctx.judge(REQUIRED, rejected);
        ctx.run_ctx.judge(REQUIRED_NAMED, named);
    }
}

/// Fields that are set and out of form.
async fn malformed(ctx: &KindContext, resource: &TestResource) {
    let known = named(ctx, resource);
    let observe: [(&str, Change<wire::ObserveRequest>); 4] = [
        ("a marker of other letters", |request| {
            "Not A Marker!".clone_into(&mut target(&mut request.target).ownership_marker);
        }),
        ("a desired state that is no JSON", |request| {
            let desired = request.desired.get_or_insert_default();
            desired.parameters = Some(wire::Document { json: "{".to_owned() });
        }),
        ("a desired state that is no object", |request| {
            let desired = request.desired.get_or_insert_default();
            desired.parameters = Some(wire::Document {
                json: "[]".to_owned(),
            });
        }),
        ("a state of 5,000 bytes", |request| {
            target(&mut request.target).provider_state = "x".repeat(5000);
        }),
    ];
    let mut responses = each_malformed!(ctx, observe, known.observe(), observe);
    if ctx.kind.capabilities.can_create {
        let create: [(&str, Change<wire::CreateRequest>); 1] = [("a token that is no UUID", |request| {
            "no-uuid".clone_into(&mut request.client_request_token);
        })];
        responses.extend(each_malformed!(ctx, create, resource.create(false), create));
    }
    for (what, response) in responses {
        let rejected =
            rejected_as(Code::InvalidArgument, response).map_err(|problem| format!("{what}: {problem}"));
        ctx.run_ctx.judge(MALFORMED, rejected);
    }
}

/// A type that is not served.
async fn unknown_type(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    let mut known = named(ctx, resource);
    known.target.resource_type = Some(wire::ResourceType {
        group: "conformance.example.org".to_owned(),
        version: "v1".to_owned(),
        kind: "UnservedKind".to_owned(),
    });
    known.given_name.clone_from(&known.target.external_name);
    let (client, options) = (&ctx.run_ctx.client, ctx.options());
    let mut responses = vec![
        (
            "Observe",
            client.observe(known.observe(), options).await.map(drop),
        ),
        (
            "Create",
            client.create(known.create(false), options).await.map(drop),
        ),
        ("Update", client.update(known.update(), options).await.map(drop)),
        ("Delete", client.delete(known.delete(), options).await.map(drop)),
        (
            "PollOperation",
            client
                .poll_operation(known.poll("handle"), options)
                .await
                .map(drop),
        ),
    ];
    if ctx.run_ctx.info()?.lists_external {
        let list = wire::ListExternalRequest {
            resource_type: known.target.resource_type.clone(),
            config: known.target.config.clone(),
            ..Default::default()
        };
        let response = client.list_external(list, options).await;
        responses.push(("ListExternal", response.map(drop)));
    }
    for (method, response) in responses {
        let rejected =
            rejected_as(Code::NotFound, response).map_err(|problem| format!("{method}: {problem}"));
        ctx.run_ctx.judge(UNKNOWN_TYPE, rejected);
    }
    Ok(())
}

/// What the kind reports that it cannot do.
async fn unsupported(ctx: &KindContext, resource: &TestResource) {
    let known = named(ctx, resource);
    let can = &ctx.kind.capabilities;
    let (client, options) = (&ctx.run_ctx.client, ctx.options());
    let mut responses = Vec::new();
    if !can.can_create {
        let response = client.create(resource.create(false), options).await;
        responses.push(("Create", response.map(drop)));
    }
    if !can.can_update {
        let response = client.update(known.update(), options).await;
        responses.push(("Update", response.map(drop)));
    }
    if !can.can_delete {
        let response = client.delete(known.delete(), options).await;
        responses.push(("Delete", response.map(drop)));
    }
    if responses.is_empty() {
        ctx.run_ctx
            .not_applicable(UNSUPPORTED, "the kind can be created, updated and deleted");
    }
    for (method, response) in responses {
        let rejected =
            rejected_as(Code::Unimplemented, response).map_err(|problem| format!("{method}: {problem}"));
        ctx.run_ctx.judge(UNSUPPORTED, rejected);
    }
}

/// The resource with an unused name, also where the upstream assigns names.
fn named(ctx: &KindContext, resource: &TestResource) -> TestResource {
    let mut known = resource.clone();
    if known.name().is_empty() {
        let name = ctx
            .unused_name("")
            .unwrap_or_else(|_| ctx.kind.external_name.example.clone());
        known.target.external_name = name;
    }
    known
}
