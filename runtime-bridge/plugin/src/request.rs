//! From the words of the core to the wire.

use bridge_core::{
    external::{CallError, Config, DesiredState, Document, Target},
    kind::ResourceType,
};
use crossbridge_proto::v1alpha1 as wire;

use crate::status;

pub(crate) fn observe(target: &Target, wish: &DesiredState) -> Result<wire::ObserveRequest, CallError> {
    Ok(wire::ObserveRequest {
        target: Some(about(target)),
        desired: Some(desired(wish)?),
    })
}

pub(crate) fn create(
    target: &Target,
    wish: &DesiredState,
    token: &str,
    outcome_unknown: bool,
) -> Result<wire::CreateRequest, CallError> {
    Ok(wire::CreateRequest {
        target: Some(about(target)),
        desired: Some(desired(wish)?),
        client_request_token: token.into(),
        outcome_unknown,
    })
}

pub(crate) fn update(
    target: &Target,
    wish: &DesiredState,
    changed_paths: &[String],
    etag: &str,
) -> Result<wire::UpdateRequest, CallError> {
    Ok(wire::UpdateRequest {
        target: Some(about(target)),
        desired: Some(desired(wish)?),
        changed_paths: changed_paths.to_vec(),
        etag: etag.into(),
    })
}

pub(crate) fn delete(
    target: &Target,
    wish: &DesiredState,
    etag: &str,
) -> Result<wire::DeleteRequest, CallError> {
    Ok(wire::DeleteRequest {
        target: Some(about(target)),
        desired: Some(desired(wish)?),
        etag: etag.into(),
    })
}

pub(crate) fn poll(
    target: &Target,
    handle: &str,
    wish: &DesiredState,
) -> Result<wire::PollOperationRequest, CallError> {
    Ok(wire::PollOperationRequest {
        target: Some(about(target)),
        handle: handle.into(),
        desired: Some(desired(wish)?),
    })
}

pub(crate) fn check_config(tried: &Config) -> wire::CheckConfigRequest {
    wire::CheckConfigRequest {
        config: Some(config(tried)),
    }
}

pub(crate) fn resource_type(of: &ResourceType) -> wire::ResourceType {
    wire::ResourceType {
        group: of.group.clone(),
        version: of.version.clone(),
        kind: of.kind.clone(),
    }
}

fn about(target: &Target) -> wire::Target {
    wire::Target {
        resource_type: Some(resource_type(&target.resource_type)),
        config: Some(config(&target.config)),
        owner: Some(wire::ObjectRef {
            namespace: target.owner.namespace.clone(),
            name: target.owner.name.clone(),
            uid: target.owner.uid.clone(),
            generation: target.owner.generation,
        }),
        external_name: target.external_name.clone(),
        ownership_marker: target.ownership_marker.clone(),
        former_marker: target.former_marker.clone(),
        provider_state: target.provider_state.clone(),
    }
}

fn config(config: &Config) -> wire::ConfigContext {
    wire::ConfigContext {
        config_id: config.id.clone(),
        revision: config.revision.clone(),
        settings: config.settings.as_ref().map(document),
        credentials: config.credentials.0.clone().into_iter().collect(),
        credentials_expire_time: config.credentials_expire.map(|expire| prost_types::Timestamp {
            seconds: expire.as_second(),
            nanos: expire.subsec_nanosecond(),
        }),
    }
}

fn document(document: &Document) -> wire::Document {
    wire::Document::of(document.clone())
}

fn desired(wish: &DesiredState) -> Result<wire::DesiredState, CallError> {
    let sensitive_values = wish.sensitive.0.iter().map(|(pointer, value)| {
        let text = String::from_utf8(value.clone())
            .map_err(|_| status::not_sent(format!("the sensitive value for {pointer} is not UTF-8 text")))?;
        Ok((pointer.clone(), text))
    });
    Ok(wire::DesiredState {
        parameters: Some(document(&wish.parameters)),
        sensitive_values: sensitive_values.collect::<Result<_, CallError>>()?,
    })
}
