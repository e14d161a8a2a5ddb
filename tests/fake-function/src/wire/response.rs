//! A response to the wire.

use std::collections::BTreeMap;

use bridge_core::function::{
    Condition, ConditionStatus, Requirements, Resource, ResourceMatch, ResourceSelector, ResultTarget,
    RunResponse, RunResult, SchemaSelector, Severity,
};
use function_proto::{JsonError, Struct, v1};

use super::resource_to;

pub(crate) fn response(response: RunResponse, tag: String) -> Result<v1::RunFunctionResponse, JsonError> {
    let ttl = response.ttl.and_then(|ttl| ttl.try_into().ok());
    let composite = response.desired.composite.map(resource_to).transpose()?;
    let resources = resources(response.desired.resources)?;
    Ok(v1::RunFunctionResponse {
        meta: Some(v1::ResponseMeta { tag, ttl }),
        desired: Some(v1::State { composite, resources }),
        results: response.results.into_iter().map(result).collect(),
        context: response
            .context
            .map(|context| Struct::from_map(&context.0))
            .transpose()?,
        requirements: Some(requirements(response.requirements)),
        conditions: response.conditions.into_iter().map(condition).collect(),
        output: None,
    })
}

fn resources(resources: BTreeMap<String, Resource>) -> Result<BTreeMap<String, v1::Resource>, JsonError> {
    resources
        .into_iter()
        .map(|(name, one)| Ok((name, resource_to(one)?)))
        .collect()
}

fn result(result: RunResult) -> v1::Result {
    let severity = match result.severity {
        Severity::Fatal => v1::Severity::Fatal,
        Severity::Warning => v1::Severity::Warning,
        Severity::Normal => v1::Severity::Normal,
        Severity::Unknown => v1::Severity::Unspecified,
    };
    v1::Result {
        severity: severity.into(),
        message: result.message,
        reason: result.reason,
        target: Some(target(result.target)),
    }
}

fn condition(condition: Condition) -> v1::Condition {
    let status = match condition.status {
        ConditionStatus::True => v1::Status::ConditionTrue,
        ConditionStatus::False => v1::Status::ConditionFalse,
        ConditionStatus::Unknown => v1::Status::ConditionUnknown,
    };
    v1::Condition {
        r#type: condition.type_,
        status: status.into(),
        reason: condition.reason,
        message: condition.message,
        target: Some(target(condition.target)),
    }
}

fn target(target: ResultTarget) -> i32 {
    let target = match target {
        ResultTarget::Composite => v1::Target::Composite,
        ResultTarget::CompositeAndClaim => v1::Target::CompositeAndClaim,
    };
    target.into()
}

fn requirements(requirements: Requirements) -> v1::Requirements {
    let schema = |selector: SchemaSelector| v1::SchemaSelector {
        api_version: selector.api_version,
        kind: selector.kind,
    };
    v1::Requirements {
        extra_resources: selectors(requirements.extra_resources),
        resources: selectors(requirements.resources),
        schemas: requirements
            .schemas
            .into_iter()
            .map(|(name, selector)| (name, schema(selector)))
            .collect(),
    }
}

fn selectors(selectors: BTreeMap<String, ResourceSelector>) -> BTreeMap<String, v1::ResourceSelector> {
    let of = |selector: ResourceSelector| v1::ResourceSelector {
        api_version: selector.api_version,
        kind: selector.kind,
        r#match: Some(match selector.matching {
            ResourceMatch::Name(name) => v1::resource_selector::Match::MatchName(name),
            ResourceMatch::Labels(labels) => {
                v1::resource_selector::Match::MatchLabels(v1::MatchLabels { labels })
            }
        }),
        namespace: selector.namespace,
    };
    selectors
        .into_iter()
        .map(|(name, selector)| (name, of(selector)))
        .collect()
}
