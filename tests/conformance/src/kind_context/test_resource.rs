//! One managed resource of the kit: what a bridge would know of it.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{Document, Outcome};

use crate::fixtures::fill;

/// One managed resource, as a bridge would keep it.
#[derive(Debug, Clone)]
pub(crate) struct TestResource {
    /// The name is empty as long as no response has reported it.
    pub target: wire::Target,
    pub desired: wire::DesiredState,
    /// The client request token of its creation, the same for each repeat.
    pub token: String,
    /// The name that its creation is sent with; empty where the upstream gives it.
    pub given_name: String,
    /// Stands in its parameters where the example has `{{unique}}`.
    pub unique: String,
    /// Rejected with `EFFECT_NONE` by the plugin.
    pub rejected: bool,
}

impl TestResource {
    pub(crate) fn name(&self) -> &str {
        &self.target.external_name
    }

    pub(crate) fn kind(&self) -> &str {
        let resource_type = self.target.resource_type.as_ref();
        resource_type.map_or("", |resource_type| &resource_type.kind)
    }

    pub(crate) fn marker(&self) -> &str {
        &self.target.ownership_marker
    }

    /// Takes in what a bridge would store.
    pub(crate) fn apply_outcome(&mut self, outcome: &Outcome) {
        if self.target.external_name.is_empty() {
            self.target.external_name.clone_from(&outcome.external_name);
        }
        if !outcome.provider_state.is_empty() {
            self.target.provider_state.clone_from(&outcome.provider_state);
        }
    }

    pub(crate) fn with_parameters(mut self, parameters: &Document) -> Self {
        self.desired.parameters = Some(wire::Document::of(fill(parameters, &self.unique)));
        self
    }

    pub(crate) fn with_name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.target.external_name);
        name.clone_into(&mut self.given_name);
        self
    }

    pub(crate) fn with_marker(mut self, marker: &str) -> Self {
        marker.clone_into(&mut self.target.ownership_marker);
        self
    }

    /// After a restore: another marker is ours, and a person has said that the one on it was.
    pub(crate) fn with_restored_marker(mut self, marker: &str) -> Self {
        let former = std::mem::replace(&mut self.target.ownership_marker, marker.to_owned());
        self.target.former_marker = former;
        self
    }

    /// Is unused learned its name.
    pub(crate) fn without_name(mut self) -> Self {
        self.target.external_name.clear();
        self
    }

    pub(crate) fn with_config(mut self, config: wire::ConfigContext) -> Self {
        self.target.config = Some(config);
        self
    }

    pub(crate) fn observe(&self) -> wire::ObserveRequest {
        wire::ObserveRequest {
            target: Some(self.target.clone()),
            desired: Some(self.desired.clone()),
        }
    }

    /// The same at every call, as the bridge's are.
    pub(crate) fn create(&self, outcome_unknown: bool) -> wire::CreateRequest {
        let mut target = self.target.clone();
        target.external_name.clone_from(&self.given_name);
        wire::CreateRequest {
            target: Some(target),
            desired: Some(self.desired.clone()),
            client_request_token: self.token.clone(),
            outcome_unknown,
        }
    }

    pub(crate) fn update(&self) -> wire::UpdateRequest {
        wire::UpdateRequest {
            target: Some(self.target.clone()),
            desired: Some(self.desired.clone()),
            changed_paths: Vec::new(),
            etag: String::new(),
        }
    }

    pub(crate) fn delete(&self) -> wire::DeleteRequest {
        wire::DeleteRequest {
            target: Some(self.target.clone()),
            desired: Some(self.desired.clone()),
            etag: String::new(),
        }
    }

    pub(crate) fn poll(&self, handle: &str) -> wire::PollOperationRequest {
        wire::PollOperationRequest {
            target: Some(self.target.clone()),
            handle: handle.to_owned(),
            desired: Some(self.desired.clone()),
        }
    }
}
