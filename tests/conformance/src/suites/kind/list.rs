//! Lists the external resources, page by page.

use std::collections::BTreeSet;

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types as types;
use tonic::Code;

use crate::{
    assertion::assertions,
    kind_context::{KindContext, list, list_all},
    schema,
    suite::Suite,
    suites::plugin::kinds::rejected_as,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    FINDS = "list/includes-created", Feature, "DiscoveryService.ListExternal",
        "What was created is listed once, under its name, with its marker where the kind holds one.",
        "List from the upstream, all pages of it.";
    PAGES = "list/pages", Feature, "ListExternalRequest.page_size",
        "With paging every item comes once, and no page is larger than requested.",
        "Continue exactly where the page token points; an empty next_page_token ends the list.";
    PAGE_TOKEN = "list/invalid-page-token-rejected", Feature, "ListExternalRequest.page_token",
        "A page token that the plugin did not issue is INVALID_ARGUMENT.",
        "Check the token before you use it.";
    PARAMETERS = "list/parameters-on-request", Feature, "ListExternalRequest.include_parameters",
        "With include_parameters every item has parameters that pass the schema.",
        "Read each item as Observe does.";
}

pub(crate) const SUITE: Suite<KindContext> = Suite {
    assertions: ALL,
    run: |ctx| Box::pin(run(ctx)),
};

async fn run(ctx: &KindContext) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    if !run_ctx.info()?.lists_external {
        return Err(Stop::not_applicable("FEATURE_LIST_EXTERNAL is not advertised"));
    }
    if list_all(ctx, 0).await?.is_none() {
        return Err(Stop::not_applicable("the plugin lists other kinds, not this one"));
    }
    if !ctx.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    let (first, second) = (ctx.create_new().await?, ctx.resource()?);
    let second = if ctx.kind.external_name.source == types::NameSource::Derived {
        None
    } else {
        let mut second = second;
        ctx.create_to_completion(&mut second).await?;
        Some(second)
    };
    ctx.wait_for_consistency().await;
    let whole = list_all(ctx, 0).await?.unwrap_or_default();
    for resource in [Some(&first), second.as_ref()].into_iter().flatten() {
        let holds_marker = ctx.kind.capabilities.holds_marker;
        run_ctx.judge(
            FINDS,
            finds(&whole, resource.name(), resource.marker(), holds_marker),
        );
    }
    let single = list_all(ctx, 1).await?.unwrap_or_default();
    run_ctx.judge(PAGES, same_items(&whole, &single));
    run_ctx.judge(PAGES, small_page(ctx).await?);

    let garbage = "\u{1}no page of this plugin".to_owned();
    let response = list(ctx, &request(ctx, 0, garbage, false)).await;
    run_ctx.judge(PAGE_TOKEN, rejected_as(Code::InvalidArgument, response.map(drop)));

    let full = list(ctx, &request(ctx, 0, String::new(), true))
        .await
        .map_err(|status| Stop::blocked(crate::client::describe(&status)))?;
    run_ctx.judge(PARAMETERS, parameters(ctx, &full.items));
    if let Some(second) = second {
        ctx.remove(&second).await?;
    }
    ctx.remove(&first).await
}

fn request(
    ctx: &KindContext,
    page_size: i32,
    page_token: String,
    include_parameters: bool,
) -> wire::ListExternalRequest {
    wire::ListExternalRequest {
        resource_type: Some(ctx.kind.resource_type.clone().into()),
        config: Some(ctx.run_ctx.config()),
        page_size,
        page_token,
        include_parameters,
        ..Default::default()
    }
}

async fn small_page(ctx: &KindContext) -> Result<Judgement, Stop> {
    let response = list(ctx, &request(ctx, 1, String::new(), false))
        .await
        .map_err(|status| Stop::blocked(crate::client::describe(&status)))?;
    Ok(holds(response.items.len() <= 1, || {
        format!("a page of at most 1 holds {}", response.items.len())
    }))
}

fn finds(items: &[wire::ExternalResource], name: &str, marker: &str, holds_marker: bool) -> Judgement {
    let found: Vec<_> = items.iter().filter(|item| item.external_name == name).collect();
    let [item] = found.as_slice() else {
        return Err(format!("{name:?} is listed {} times", found.len()));
    };
    holds(!holds_marker || item.found_marker == marker, || {
        format!("{name:?} is listed with the marker {:?}", item.found_marker)
    })
}

fn same_items(whole: &[wire::ExternalResource], single: &[wire::ExternalResource]) -> Judgement {
    let names = |items: &[wire::ExternalResource]| -> BTreeSet<String> {
        items.iter().map(|item| item.external_name.clone()).collect()
    };
    holds(single.len() == names(single).len(), || {
        "page by page something is listed twice".to_owned()
    })?;
    holds(names(whole) == names(single), || {
        format!("{} items in one go, {} page by page", whole.len(), single.len())
    })
}

fn parameters(ctx: &KindContext, items: &[wire::ExternalResource]) -> Judgement {
    let sensitive: Vec<&str> = ctx
        .kind
        .field_rules
        .iter()
        .filter(|rule| rule.sensitive)
        .map(|rule| rule.path.as_str())
        .collect();
    let schema = schema::without_required(&ctx.kind.parameters_schema, sensitive.into_iter());
    items.iter().try_for_each(|item| {
        let text = item
            .parameters
            .as_ref()
            .ok_or_else(|| format!("{:?} has no parameters", item.external_name))?;
        let document = serde_json::from_str(&text.json).map_err(|error| error.to_string())?;
        schema::valid(&schema, &document).map_err(|problem| format!("{:?} {problem}", item.external_name))
    })
}
