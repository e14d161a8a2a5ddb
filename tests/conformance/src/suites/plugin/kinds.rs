//! What the plugin serves.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use crossbridge_proto::{Weight, v1alpha1 as wire};
use crossbridge_types::{Kind, KindPage, ResourceType, limits};
use futures::{StreamExt, stream};
use prost::Message;
use tonic::Code;

use crate::{
    assertion::{Assertion, assertions},
    client::{CallOptions, describe},
    run_context::RunContext,
    spelling::spell,
    suite::Suite,
    verdict::{Judgement, Stop, holds},
};

/// Kinds that a bridge asks for at once.
const FETCHES: usize = 8;

/// By then each of these is answered.
const ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);

/// Enough for any plugin, and an end for one that pages for ever.
const MOST_PAGES: usize = limits::KINDS;

assertions! {
    PAGES = "kinds/pages", Core, "ListResourceKindsRequest.page_size",
        "With paging every kind comes once, and no page is larger than requested.",
        "Continue exactly where the page token points; an empty next_page_token ends the list.";
    PAGE_TOKEN = "kinds/invalid-page-token-rejected", Core, "ListResourceKindsRequest.page_token",
        "A page token that the plugin did not issue is INVALID_ARGUMENT.",
        "Check the token before you use it.";
    DIGESTS = "kinds/digest-stable", Core, "ResourceKindSummary.digest",
        "The digest changes with the kind, and only with it.",
        "Digest the encoded ResourceKind, with maps in a fixed order and by a hash that is the same in every process.";
    UNKNOWN = "kinds/unknown-type-not-found", Core, "PluginService.GetResourceKind",
        "A type that is not served is gRPC NOT_FOUND.",
        "Return the status NOT_FOUND, in every service.";
    MISSING = "kinds/missing-type-rejected", Core, "GetResourceKindRequest.resource_type",
        "GetResourceKind without a type is INVALID_ARGUMENT that names resource_type.",
        "Check REQUIRED fields first, and name the field in the status.";
    GROUP = "kinds/group-of-plugin", Core, "plugin_service.proto",
        "The group of each kind is the plugin's name, or ends in a dot and that name.",
        "Derive the groups from the name: no bridge serves others unless its operator allows them.";
    TOTAL = "kinds/total", Core, "plugin_service.proto",
        "All kinds together are told within 30 s and have at most 64 MiB and 524288 JSON values in schemas and examples.",
        "Serve fewer kinds, or leave large examples and descriptions out: no bridge serves a plugin that says more.";
    FORM = "kinds/well-formed", Core, "ResourceKind",
        "Everything that a kind declares is set, well formed and consistent.",
        "Set the field that is named.";
    SCHEMAS = "kinds/schemas-structural", Core, "ResourceKind.parameters_schema_json",
        "The schemas of parameters, status and list filter are structural.",
        "Write them as a CRD wants them: every field has a type; no $ref, no null, no additionalProperties beside properties.";
}

/// Those that are judged of each kind, under its name.
pub(crate) const PER_KIND: &[&Assertion] = ALL.split_at(FOR_ALL_KINDS).1;

/// How many of them are about all kinds together: the first ones.
const FOR_ALL_KINDS: usize = 7;

pub(crate) const SUITE: Suite<RunContext> = Suite {
    assertions: ALL.split_at(FOR_ALL_KINDS).0,
    run: |run_ctx| Box::pin(run(run_ctx)),
};

async fn run(run_ctx: &RunContext) -> Result<(), Stop> {
    run_ctx.judge(TOTAL, total(run_ctx).await?);
    let whole = all(run_ctx, 0).await?;
    let single = all(run_ctx, 1).await?;
    run_ctx.judge(PAGES, pages(&whole, &single));

    let request = wire::ListResourceKindsRequest {
        page_size: 0,
        page_token: "\u{1}no page of this plugin".to_owned(),
    };
    let response = run_ctx.client.list_resource_kinds(request, options()).await;
    run_ctx.judge(PAGE_TOKEN, rejected_as(Code::InvalidArgument, response.map(drop)));

    let mut digests = Ok(());
    let again = all(run_ctx, 0).await?;
    for (index, (resource_type, digest)) in whole.kinds.iter().enumerate() {
        let (first, second) = (
            fetch(run_ctx, resource_type).await,
            fetch(run_ctx, resource_type).await,
        );
        let (Ok(first), Ok(second)) = (first, second) else {
            continue;
        };
        let now = again.kinds.get(index).map(|(_, digest)| digest.as_str());
        digests = digests.and(same_digest(resource_type, &first, &second, digest, now));
    }
    run_ctx.judge(DIGESTS, digests);

    let plugin = &run_ctx.info()?.name;
    let mut types = whole.kinds.iter().map(|(resource_type, _)| resource_type);
    let foreign = types.find(|resource_type| !resource_type.is_of_plugin(plugin));
    run_ctx.judge(
        GROUP,
        foreign.map_or(Ok(()), |foreign| {
            Err(format!("{foreign} is not of a group of the plugin {plugin}"))
        }),
    );

    let unknown = ResourceType {
        group: "conformance.example.org".to_owned(),
        version: "v1".to_owned(),
        kind: "UnservedKind".to_owned(),
    };
    let response = fetch(run_ctx, &unknown).await;
    run_ctx.judge(UNKNOWN, rejected_as(Code::NotFound, response.map(drop)));
    let response = run_ctx
        .client
        .get_resource_kind(wire::GetResourceKindRequest { resource_type: None }, options())
        .await;
    let named = match &response {
        Err(status) if status.code() == Code::InvalidArgument => {
            holds(status.message().contains("resource_type"), || {
                format!("the status does not name the field: {}", describe(status))
            })
        }
        _ => rejected_as(Code::InvalidArgument, response.map(drop)),
    };
    run_ctx.judge(MISSING, named);
    Ok(())
}

/// Reads all kinds; each that is out of form is judged under its own name, and left out.
pub(crate) async fn discover(run_ctx: &RunContext) -> Result<Vec<Arc<Kind>>, Stop> {
    let (mut kinds, mut bytes) = (Vec::new(), 0);
    for (resource_type, _) in all(run_ctx, 0).await?.kinds {
        let subject = resource_type.kind.as_str();
        let response = fetch(run_ctx, &resource_type).await;
        bytes += response.as_ref().map_or(0, Message::encoded_len);
        if bytes > limits::HANDSHAKE {
            let most = limits::HANDSHAKE >> 20;
            let why = format!("all kinds together have more than {most} MiB, which no bridge reads");
            return Err(Stop::blocked(why));
        }
        match response {
            Err(status) => run_ctx.verdict_log.judge(FORM, subject, Err(describe(&status))),
            Ok(response) => {
                let kind = Kind::try_from(response);
                let (form, schemas) = form(&resource_type, kind.as_ref().map_err(ToString::to_string));
                run_ctx.verdict_log.judge(FORM, subject, form);
                run_ctx.verdict_log.judge(SCHEMAS, subject, schemas);
                kinds.extend(kind.ok().map(Arc::new));
            }
        }
    }
    Ok(kinds)
}

/// What a bridge asks when it connects, as many kinds at once as it does.
async fn total(run_ctx: &RunContext) -> Result<Judgement, Stop> {
    let (begun, mut sum) = (Instant::now(), Weight::default());
    let walk = all(run_ctx, 0).await?;
    sum.bytes += walk.bytes;
    let mut answers = stream::iter(walk.kinds)
        .map(|(resource_type, _)| async move { fetch(run_ctx, &resource_type).await })
        .buffer_unordered(FETCHES);
    while let Some(answer) = answers.next().await {
        if let Ok(answer) = answer {
            let weight = Weight::of(&answer);
            sum.bytes += weight.bytes;
            sum.values += weight.values;
        }
    }
    let (took, most) = (begun.elapsed(), limits::HANDSHAKE_WITHIN);
    Ok(if took > most {
        Err(format!("they took {took:.1?}, and may take {most:?}"))
    } else if sum.bytes > limits::HANDSHAKE {
        Err(format!("they have {} bytes", sum.bytes))
    } else {
        holds(sum.values <= limits::HANDSHAKE_VALUES, || {
            format!("they have {} JSON values", sum.values)
        })
    })
}

/// Of all but the schemas, and of the schemas.
fn form(listed: &ResourceType, kind: Result<&Kind, String>) -> (Judgement, Judgement) {
    match kind {
        Ok(kind) => {
            let same = holds(kind.resource_type == *listed, || {
                format!("listed as {listed}, it reports {}", kind.resource_type)
            });
            (same, Ok(()))
        }
        Err(problem) if problem.contains("structural OpenAPI") => (Ok(()), Err(problem)),
        Err(problem) => (Err(problem), Ok(())),
    }
}

/// All pages of one walk.
struct Walk {
    kinds: Vec<(ResourceType, String)>,
    largest_page: usize,
    /// Of the pages' messages.
    bytes: usize,
}

async fn all(run_ctx: &RunContext, page_size: i32) -> Result<Walk, Stop> {
    let mut walk = Walk {
        kinds: Vec::new(),
        largest_page: 0,
        bytes: 0,
    };
    let mut page_token = String::new();
    for _ in 0..MOST_PAGES {
        let request = wire::ListResourceKindsRequest {
            page_size,
            page_token,
        };
        let response = run_ctx
            .client
            .list_resource_kinds(request, options())
            .await
            .map_err(|status| Stop::blocked(format!("ListResourceKinds: {}", describe(&status))))?;
        walk.bytes += response.encoded_len();
        let page = KindPage::try_from(response)
            .map_err(|violation| Stop::blocked(format!("ListResourceKinds: {violation}")))?;
        walk.largest_page = walk.largest_page.max(page.kinds.len());
        walk.kinds.extend(page.kinds);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok(walk);
        }
        // A plugin that goes round in circles would fill the memory first.
        if walk.kinds.len() > MOST_PAGES {
            break;
        }
    }
    Err(Stop::blocked(format!(
        "ListResourceKinds has no last page, or more than {} kinds, which no bridge serves",
        limits::KINDS
    )))
}

async fn fetch(
    run_ctx: &RunContext,
    resource_type: &ResourceType,
) -> Result<wire::GetResourceKindResponse, tonic::Status> {
    let request = wire::GetResourceKindRequest {
        resource_type: Some(resource_type.clone().into()),
    };
    run_ctx.client.get_resource_kind(request, options()).await
}

fn options() -> CallOptions {
    CallOptions::within(ANSWER_WITHIN)
}

fn pages(whole: &Walk, single: &Walk) -> Judgement {
    let set =
        |walk: &Walk| -> BTreeSet<ResourceType> { walk.kinds.iter().map(|(kind, _)| kind.clone()).collect() };
    holds(single.largest_page <= 1, || {
        format!("a page of at most 1 holds {}", single.largest_page)
    })?;
    for walk in [whole, single] {
        holds(set(walk).len() == walk.kinds.len(), || {
            "a kind is listed twice".to_owned()
        })?;
    }
    holds(set(whole) == set(single), || {
        format!(
            "{} kinds in one go, {} page by page",
            whole.kinds.len(),
            single.kinds.len()
        )
    })
}

/// What one process reports of each kind: its digest, and the kind.
#[derive(Debug)]
pub(crate) struct Snapshot(BTreeMap<ResourceType, (String, wire::GetResourceKindResponse)>);

pub(crate) async fn snapshot(run_ctx: &RunContext) -> Result<Snapshot, Stop> {
    let mut kinds = BTreeMap::new();
    for (resource_type, digest) in all(run_ctx, 0).await?.kinds {
        if let Ok(kind) = fetch(run_ctx, &resource_type).await {
            kinds.insert(resource_type, (digest, kind));
        }
    }
    Ok(Snapshot(kinds))
}

/// Judges that another process gives the same digest to the same kind, and another one to another.
pub(crate) async fn judge_elsewhere(run_ctx: &RunContext, before: &Snapshot, subject: &str) {
    // One that does not answer has assertions of its own.
    let Ok(Snapshot(now)) = snapshot(run_ctx).await else {
        return;
    };
    let pairs = before.0.iter().filter_map(|(kind, first)| {
        let second = now.get(kind)?;
        Some((kind, first, second))
    });
    for (resource_type, (digest, first), (again, second)) in pairs {
        let same = same_digest(resource_type, first, second, digest, Some(again));
        let judged = same.map_err(|seen| format!("{subject}: {seen}"));
        run_ctx.judge(DIGESTS, judged);
    }
}

fn same_digest(
    resource_type: &ResourceType,
    first: &wire::GetResourceKindResponse,
    second: &wire::GetResourceKindResponse,
    digest: &str,
    again: Option<&str>,
) -> Judgement {
    let is_same_kind = first.encode_to_vec() == second.encode_to_vec();
    let is_same_digest = again == Some(digest);
    holds(is_same_kind == is_same_digest, || {
        format!("{resource_type}: kind unchanged: {is_same_kind}, digest unchanged: {is_same_digest}")
    })
}

/// Whether a call was rejected with this status.
pub(crate) fn rejected_as(code: Code, response: Result<(), tonic::Status>) -> Judgement {
    match response {
        Err(status) if status.code() == code => Ok(()),
        Err(status) => Err(format!("expected {}, got {}", spell(code), describe(&status))),
        Ok(()) => Err(format!("expected {}, got an answer", spell(code))),
    }
}
