//! `GetPluginInfo`: identity, version, schema of settings.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::PluginInfo;

use crate::{
    assertion::assertions,
    client::{CallOptions, describe},
    run_context::RunContext,
    suite::Suite,
    verdict::{Judgement, Stop, holds},
};

/// The contract's package that this kit knows.
const CONTRACT_VERSION: &str = "v1alpha1";

/// By then a plugin reports who it is.
const ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);

assertions! {
    ANSWERS = "info/answers-within-5s", Core, "PluginService.GetPluginInfo",
        "The plugin answers GetPluginInfo within 5 seconds, without credentials.",
        "Respond from memory: do not call the upstream.";
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
        "The same process gives the same response to each GetPluginInfo.",
        "Draw the instance id once, when the process starts.";
}

pub(crate) const SUITE: Suite<RunContext> = Suite {
    assertions: ALL,
    run: |run_ctx| Box::pin(run(run_ctx)),
};

async fn run(run_ctx: &RunContext) -> Result<(), Stop> {
    let ask = || {
        let request = wire::GetPluginInfoRequest {
            bridge_version: format!("provider-conformance {}", env!("CARGO_PKG_VERSION")),
        };
        run_ctx
            .client
            .get_plugin_info(request, CallOptions::within(ANSWER_WITHIN).tolerant())
    };
    let first = match ask().await {
        Ok(info) => info,
        Err(status) => {
            run_ctx.judge(ANSWERS, Err(describe(&status)));
            return Err(Stop::blocked(
                "the plugin does not answer GetPluginInfo with valid information",
            ));
        }
    };
    run_ctx.judge(ANSWERS, Ok(()));
    run_ctx.judge(VERSION, speaks(&first));
    let (form, schema) = form(&first);
    run_ctx.judge(FORM, form);
    run_ctx.judge(SCHEMA, schema);
    let again = ask()
        .await
        .map_err(|status| Stop::blocked(format!("asked again, it did not answer: {}", describe(&status))))?;
    run_ctx.judge(STABLE, same(&first, &again));
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
    let describe = |info: &wire::GetPluginInfoResponse| {
        format!("{} {}, instance {}", info.name, info.version, info.instance_id)
    };
    holds(first == again, || {
        format!("first {}, then {}", describe(first), describe(again))
    })
}
