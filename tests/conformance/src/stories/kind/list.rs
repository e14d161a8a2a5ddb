//! What exists.

use std::collections::BTreeSet;

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types as types;
use tonic::Code;

use crate::{
    assertion::assertions,
    lab::{Lab, list_all},
    schema,
    stories::plugin::kinds::refused_as,
    story::Story,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    FINDS = "list/finds-what-was-made", Feature, "DiscoveryService.ListExternal",
        "What was made is listed once, under its name, with its marker where the kind holds one.",
        "List from the upstream, all pages of it.";
    PAGES = "list/pages", Feature, "ListExternalRequest.page_size",
        "Page by page everything comes once, and no page is larger than was asked for.",
        "Go on exactly where the page token says; an empty next_page_token ends the list.";
    PAGE_TOKEN = "list/garbage-page-token-refused", Feature, "ListExternalRequest.page_token",
        "A page token that the plugin did not give is INVALID_ARGUMENT.",
        "Check the token before you use it.";
    PARAMETERS = "list/parameters-on-demand", Feature, "ListExternalRequest.include_parameters",
        "With include_parameters every item has parameters that pass the schema.",
        "Read each item as Observe does.";
}

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !bench.info()?.lists_external {
        return Err(Stop::not_applicable("FEATURE_LIST_EXTERNAL is not advertised"));
    }
    if list_all(lab, 0).await?.is_none() {
        return Err(Stop::not_applicable("the plugin lists other kinds, not this one"));
    }
    if !lab.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    let (first, second) = (lab.made().await?, lab.thing()?);
    let second = if lab.kind.external_name.source == types::NameSource::Derived {
        None
    } else {
        let mut second = second;
        lab.make(&mut second).await?;
        Some(second)
    };
    lab.wait_out_window().await;
    let whole = list_all(lab, 0).await?.unwrap_or_default();
    for thing in [Some(&first), second.as_ref()].into_iter().flatten() {
        let holds_marker = lab.kind.capabilities.holds_marker;
        bench.judge(FINDS, finds(&whole, thing.name(), thing.marker(), holds_marker));
    }
    let single = list_all(lab, 1).await?.unwrap_or_default();
    bench.judge(PAGES, same_items(&whole, &single));
    bench.judge(PAGES, small_page(lab).await?);

    let garbage = "\u{1}no page of this plugin".to_owned();
    let answer = bench
        .client
        .list_external(request(lab, 0, garbage, false), lab.terms())
        .await;
    bench.judge(PAGE_TOKEN, refused_as(Code::InvalidArgument, answer.map(drop)));

    let full = bench
        .client
        .list_external(request(lab, 0, String::new(), true), lab.terms())
        .await
        .map_err(|status| Stop::blocked(crate::client::told(&status)))?;
    bench.judge(PARAMETERS, parameters(lab, &full.items));
    if let Some(second) = second {
        lab.remove(&second).await?;
    }
    lab.remove(&first).await
}

fn request(
    lab: &Lab,
    page_size: i32,
    page_token: String,
    include_parameters: bool,
) -> wire::ListExternalRequest {
    wire::ListExternalRequest {
        resource_type: Some(lab.kind.resource_type.clone().into()),
        config: Some(lab.bench.config()),
        page_size,
        page_token,
        include_parameters,
        ..Default::default()
    }
}

async fn small_page(lab: &Lab) -> Result<Judgement, Stop> {
    let answer = lab
        .bench
        .client
        .list_external(request(lab, 1, String::new(), false), lab.terms())
        .await
        .map_err(|status| Stop::blocked(crate::client::told(&status)))?;
    Ok(holds(answer.items.len() <= 1, || {
        format!("a page of at most 1 holds {}", answer.items.len())
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

fn parameters(lab: &Lab, items: &[wire::ExternalResource]) -> Judgement {
    let sensitive: Vec<&str> = lab
        .kind
        .field_rules
        .iter()
        .filter(|rule| rule.sensitive)
        .map(|rule| rule.path.as_str())
        .collect();
    let schema = schema::without_required(&lab.kind.parameters_schema, sensitive.into_iter());
    items.iter().try_for_each(|item| {
        let text = item
            .parameters
            .as_ref()
            .ok_or_else(|| format!("{:?} has no parameters", item.external_name))?;
        let document = serde_json::from_str(&text.json).map_err(|error| error.to_string())?;
        schema::valid(&schema, &document).map_err(|problem| format!("{:?} {problem}", item.external_name))
    })
}
