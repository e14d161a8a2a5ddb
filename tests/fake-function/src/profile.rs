//! How a function answers while something is wrong with it.

use bridge_core::function::{
    ResourceMatch, ResourceSelector, ResultTarget, RunResponse, RunResult, Severity,
};
use http::{HeaderValue, header::CONTENT_TYPE};
use tonic::body::Body;

/// How it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// As its program has it.
    #[default]
    Nominal,
    /// With a fatal result beside what its program desires.
    Fatal,
    /// Every other call is answered with a fatal result.
    Flapping,
    /// With bytes that are no response.
    Undecodable,
    /// With desired resources that have no kind.
    WithoutKind,
    /// With another requirement each time.
    UnstableRequirements,
}

/// A frame of gRPC that holds three bytes: a field `desired` of one byte, which begins a field of a wire type that does not exist.
const UNDECODABLE: &str = "\0\0\0\0\u{3}\u{12}\u{1}\u{7f}";

impl Profile {
    /// Changes the answer to the call of this number.
    pub(crate) fn change(self, response: &mut RunResponse, call: usize) {
        match self {
            Self::Fatal => response.results.push(fatal()),
            Self::Flapping if call.is_multiple_of(2) => response.results.push(fatal()),
            Self::WithoutKind => {
                for resource in response.desired.resources.values_mut() {
                    if let Some(object) = resource.object.as_object_mut() {
                        object.remove("kind");
                    }
                }
            }
            Self::UnstableRequirements => {
                let selector = ResourceSelector {
                    api_version: "v1".to_owned(),
                    kind: "ConfigMap".to_owned(),
                    matching: ResourceMatch::Name(format!("unstable-{call}")),
                    namespace: Some("default".to_owned()),
                };
                let resources = &mut response.requirements.resources;
                resources.insert("unstable".to_owned(), selector);
            }
            Self::Nominal | Self::Flapping | Self::Undecodable => {}
        }
    }
}

fn fatal() -> RunResult {
    RunResult {
        severity: Severity::Fatal,
        message: "it does not work for now".to_owned(),
        reason: None,
        target: ResultTarget::Composite,
    }
}

/// An answer that no client can decode.
pub(crate) fn undecodable() -> http::Response<Body> {
    let mut response = http::Response::new(Body::new(UNDECODABLE.to_owned()));
    let content = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(CONTENT_TYPE, content);
    response
}

#[cfg(test)]
mod tests {
    use bridge_core::function::Resource;
    use serde_json::json;

    use super::*;

    fn answered(profile: Profile, call: usize) -> RunResponse {
        let mut response = RunResponse::default();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        let resources = &mut response.desired.resources;
        resources.insert("store".to_owned(), Resource::of(object));
        profile.change(&mut response, call);
        response
    }

    #[test]
    fn a_flapping_function_fails_every_other_call() {
        let failed = [0, 1, 2].map(|call| answered(Profile::Flapping, call).results.len());
        assert_eq!(failed, [1, 0, 1]);
        assert!(answered(Profile::Nominal, 0).results.is_empty());
    }

    #[test]
    fn what_is_desired_loses_its_kind() {
        let response = answered(Profile::WithoutKind, 0);
        assert_eq!(
            response.desired.resources["store"].object,
            json!({"apiVersion": "v1"})
        );
    }

    #[test]
    fn unstable_requirements_differ_in_each_call() {
        let [first, second] = [0, 1].map(|call| answered(Profile::UnstableRequirements, call));
        assert_ne!(first.requirements, second.requirements);
    }
}
