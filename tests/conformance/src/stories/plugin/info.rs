//! Who answers.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::PluginInfo;

use crate::{
    assertion::assertions,
    bench::Bench,
    client::{Terms, told},
    story::Story,
    verdict::{Judgement, Stop, holds},
};

/// The contract's package that this kit knows.
const CONTRACT_VERSION: &str = "v1alpha1";

/// By then a plugin says who it is.
const ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);

assertions! {
    ANSWERS = "info/answers-within-5s", Core, "PluginService.GetPluginInfo",
        "The plugin says who it is within 5 seconds, without credentials.",
        "Answer from memory: do not call upstream.";
    FORM = "info/well-formed", Core, "GetPluginInfoResponse",
        "Name, version, instance and limits are set and in form.",
        "The name is a DNS subdomain of at most 63 bytes, the version a semantic one, the instance id random at each start.";
    SCHEMA = "info/config-schema", Core, "GetPluginInfoResponse.config_schema_json",
        "The schema of the settings is a structural one.",
        "Write it as a CRD wants it: every field has a type; no $ref, no null, no additionalProperties beside properties.";
    VERSION = "info/contract-version", Core, "GetPluginInfoResponse.contract_versions",
        "The plugin speaks v1alpha1.",
        "List v1alpha1 in contract_versions.";
    STABLE = "info/stable", Core, "GetPluginInfoResponse.instance_id",
        "Asked again, the same process gives the same answer.",
        "Draw the instance id once, when the process starts.";
}

pub(crate) const STORY: Story<Bench> = Story {
    assertions: ALL,
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: &Bench) -> Result<(), Stop> {
    let ask = || {
        let request = wire::GetPluginInfoRequest {
            bridge_version: format!("provider-conformance {}", env!("CARGO_PKG_VERSION")),
        };
        bench
            .client
            .get_plugin_info(request, Terms::within(ANSWER_WITHIN).rough())
    };
    let first = match ask().await {
        Ok(info) => info,
        Err(status) => {
            bench.judge(ANSWERS, Err(told(&status)));
            return Err(Stop::blocked("the plugin does not say who it is"));
        }
    };
    bench.judge(ANSWERS, Ok(()));
    bench.judge(VERSION, speaks(&first));
    let (form, schema) = form(&first);
    bench.judge(FORM, form);
    bench.judge(SCHEMA, schema);
    let again = ask()
        .await
        .map_err(|status| Stop::blocked(format!("asked again, it did not answer: {}", told(&status))))?;
    bench.judge(STABLE, same(&first, &again));
    Ok(())
}

fn speaks(info: &wire::GetPluginInfoResponse) -> Judgement {
    holds(
        info.contract_versions
            .iter()
            .any(|version| version == CONTRACT_VERSION),
        || format!("it speaks {:?}", info.contract_versions),
    )
}

/// Of the settings' schema, and of all else.
fn form(info: &wire::GetPluginInfoResponse) -> (Judgement, Judgement) {
    match PluginInfo::try_from(info.clone()) {
        Ok(_) => (Ok(()), Ok(())),
        Err(violation) if violation.field == "config_schema_json" => (Ok(()), Err(violation.to_string())),
        // That one is judged by its content.
        Err(violation) if violation.field == "contract_versions" => (Ok(()), Ok(())),
        Err(violation) => (Err(violation.to_string()), Ok(())),
    }
}

fn same(first: &wire::GetPluginInfoResponse, again: &wire::GetPluginInfoResponse) -> Judgement {
    let told = |info: &wire::GetPluginInfoResponse| {
        format!("{} {}, instance {}", info.name, info.version, info.instance_id)
    };
    holds(first == again, || {
        format!("first {}, then {}", told(first), told(again))
    })
}
