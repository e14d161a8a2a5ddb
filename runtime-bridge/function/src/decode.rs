//! A response from the wire.

use std::{collections::BTreeMap, time::Duration};

use bridge_core::function::{
    Condition, ConditionStatus, DesiredState, FunctionFailure, HiddenMap, Readiness, Requirements, Resource,
    ResourceMatch, ResourceSelector, ResultTarget, RunResponse, RunResult, SchemaSelector, SecretData,
    Severity,
};
use function_proto::{JsonError, Struct, v1 as wire};
use serde_json::Value;

type Decoded<T> = Result<T, FunctionFailure>;

/// A response as the machine takes it.
///
/// # Errors
/// An object in it that JSON or Kubernetes cannot hold, by its place.
pub fn response(response: wire::RunFunctionResponse) -> Decoded<RunResponse> {
    let wire::RunFunctionResponse {
        meta,
        desired,
        results,
        context,
        requirements,
        conditions,
        output: _,
    } = response;
    let desired = desired.unwrap_or_default();
    let composite = desired.composite;
    Ok(RunResponse {
        // One that is negative is none, and one beyond what fits never ends.
        ttl: meta
            .and_then(|meta| meta.ttl)
            .and_then(|ttl| Duration::try_from(ttl).ok()),
        desired: DesiredState {
            composite: composite
                .map(|composite| resource("desired.composite", composite))
                .transpose()?,
            resources: desired
                .resources
                .into_iter()
                .map(|(name, one)| {
                    let place = format!("desired.resources[\"{name}\"]");
                    Ok((name, resource(&place, one)?))
                })
                .collect::<Decoded<_>>()?,
        },
        results: results.into_iter().map(result).collect(),
        context: context
            .map(|context| {
                let fields = context.to_map().map_err(|error| invalid("context", &error))?;
                Ok(HiddenMap(fields))
            })
            .transpose()?,
        requirements: self::requirements(requirements.unwrap_or_default()),
        conditions: conditions.into_iter().map(condition).collect(),
        kept: false,
    })
}

fn resource(place: &str, resource: wire::Resource) -> Decoded<Resource> {
    let ready = match resource.ready() {
        wire::Ready::Unspecified => Readiness::Unspecified,
        wire::Ready::True => Readiness::Ready,
        wire::Ready::False => Readiness::NotReady,
    };
    Ok(Resource {
        object: match &resource.resource {
            None => Value::Null,
            Some(encoded) => object(place, encoded)?,
        },
        connection_details: SecretData(resource.connection_details),
        ready,
    })
}

fn object(place: &str, encoded: &Struct) -> Decoded<Value> {
    let fields = encoded.to_map().map_err(|error| invalid(place, &error))?;
    Ok(Value::Object(fields))
}

fn invalid(place: &str, error: &JsonError) -> FunctionFailure {
    FunctionFailure::Invalid(format!("{place}: {error}"))
}

fn result(result: wire::Result) -> RunResult {
    RunResult {
        severity: match result.severity() {
            wire::Severity::Fatal => Severity::Fatal,
            wire::Severity::Warning => Severity::Warning,
            wire::Severity::Normal => Severity::Normal,
            wire::Severity::Unspecified => Severity::Unknown,
        },
        target: target(result.target()),
        message: result.message,
        reason: result.reason,
    }
}

fn condition(condition: wire::Condition) -> Condition {
    Condition {
        status: match condition.status() {
            wire::Status::ConditionTrue => ConditionStatus::True,
            wire::Status::ConditionFalse => ConditionStatus::False,
            wire::Status::ConditionUnknown | wire::Status::ConditionUnspecified => ConditionStatus::Unknown,
        },
        target: target(condition.target()),
        type_: condition.r#type,
        reason: condition.reason,
        message: condition.message,
    }
}

fn target(target: wire::Target) -> ResultTarget {
    match target {
        wire::Target::Unspecified | wire::Target::Composite => ResultTarget::Composite,
        wire::Target::CompositeAndClaim => ResultTarget::CompositeAndClaim,
    }
}

fn requirements(requirements: wire::Requirements) -> Requirements {
    let wire::Requirements {
        extra_resources,
        resources,
        schemas,
    } = requirements;
    let schema = |selector: wire::SchemaSelector| SchemaSelector {
        api_version: selector.api_version,
        kind: selector.kind,
    };
    Requirements {
        extra_resources: selectors(extra_resources),
        resources: selectors(resources),
        schemas: schemas
            .into_iter()
            .map(|(name, selector)| (name, schema(selector)))
            .collect(),
    }
}

fn selectors(selectors: BTreeMap<String, wire::ResourceSelector>) -> BTreeMap<String, ResourceSelector> {
    let of = |selector: wire::ResourceSelector| ResourceSelector {
        api_version: selector.api_version,
        kind: selector.kind,
        matching: match selector.r#match {
            Some(wire::resource_selector::Match::MatchName(name)) => ResourceMatch::Name(name),
            Some(wire::resource_selector::Match::MatchLabels(labels)) => ResourceMatch::Labels(labels.labels),
            None => ResourceMatch::Labels(BTreeMap::new()),
        },
        // In most languages a field that nobody set and one that is empty are the same.
        namespace: selector.namespace.filter(|namespace| !namespace.is_empty()),
    };
    selectors
        .into_iter()
        .map(|(name, selector)| (name, of(selector)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By name in it a run would fail, as no namespace has that name.
    #[test]
    fn an_empty_namespace_is_none() {
        let named = |namespace: Option<&str>| wire::ResourceSelector {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: namespace.map(ToOwned::to_owned),
            r#match: None,
        };
        let all = [("absent", None), ("empty", Some("")), ("given", Some("team"))];
        let all = all.map(|(name, namespace)| (name.to_owned(), named(namespace)));
        let namespaces = selectors(all.into())
            .into_values()
            .map(|selector| selector.namespace);
        assert_eq!(
            namespaces.collect::<Vec<_>>(),
            [None, None, Some("team".to_owned())]
        );
    }
}
