use super::{
    refused,
    requests::{config, resource_type},
};
use crossbridge_types::{Config, ConfigVerdict, KindPage, PluginInfo, Violation};

use crate::v1alpha1 as wire;

fn info() -> wire::GetPluginInfoResponse {
    wire::GetPluginInfoResponse {
        name: "files.example.org".to_owned(),
        version: "1.2.3-rc.1".to_owned(),
        contract_versions: vec!["v1alpha1".to_owned()],
        features: vec![wire::Feature::ListExternal.into(), 4711],
        instance_id: "i-1".to_owned(),
        config_schema_json: r#"{"type": "object", "properties": {"folder": {"type": "string"}}}"#.to_owned(),
        credential_keys: vec![wire::CredentialKey {
            name: "access_key".to_owned(),
            required: true,
            ..Default::default()
        }],
        ..Default::default()
    }
}

#[test]
fn plugin_info_is_checked() {
    refused!(PluginInfo, info();
        "name": |info| info.name.clear();
        "name": |info| info.name = "Files.example.org".to_owned();
        "name": |info| info.name = "files..org".to_owned();
        "name": |info| info.name = format!("{}.org", "f".repeat(60));
        "version": |info| info.version = "1.2".to_owned();
        "contract_versions": |info| info.contract_versions.clear();
        "instance_id": |info| info.instance_id.clear();
        "max_concurrent_calls": |info| info.max_concurrent_calls = -1;
        "max_message_bytes": |info| info.max_message_bytes = -1;
        "config_schema_json": |info| info.config_schema_json = "[]".to_owned();
        "config_schema_json": |info| info.config_schema_json = r#"{"type": "string"}"#.to_owned();
        "credential_keys[0].name": |info| info.credential_keys[0].name.clear();
        "credential_keys[1].name": |info| info.credential_keys.push(info.credential_keys[0].clone());
    );
}

#[test]
fn plugin_info_has_its_defaults_and_survives_the_way_back() -> Result<(), Violation> {
    let checked = PluginInfo::try_from(info())?;
    assert_eq!(
        (checked.max_concurrent_calls, checked.max_message_bytes),
        (256, 4 * 1024 * 1024)
    );
    assert!(checked.lists_external, "an unknown feature hides no known one");
    assert_eq!(
        PluginInfo::try_from(wire::GetPluginInfoResponse::from(checked.clone()))?,
        checked
    );
    Ok(())
}

#[test]
fn a_page_of_kinds_is_checked() {
    let page = wire::ListResourceKindsResponse {
        kinds: vec![wire::ResourceKindSummary {
            resource_type: Some(resource_type()),
            digest: "d".to_owned(),
        }],
        next_page_token: String::new(),
    };
    refused!(KindPage, page;
        "kinds[0].digest": |page| page.kinds[0].digest.clear();
        "kinds[0].resource_type": |page| page.kinds[0].resource_type = None;
        "kinds[0].resource_type.kind": |page| page.kinds[0].resource_type = Some(wire::ResourceType {
            kind: String::new(),
            ..resource_type()
        });
    );
}

#[test]
fn a_config_to_try_is_checked() {
    let request = wire::CheckConfigRequest {
        config: Some(config()),
    };
    refused!(Config, request;
        "config": |request| request.config = None;
        "config.revision": |request| {
            request.config = Some(wire::ConfigContext { revision: String::new(), ..config() });
        };
    );
}

#[test]
fn a_verdict_is_a_failure_or_an_identity() -> Result<(), Violation> {
    let usable = ConfigVerdict::Usable {
        identity: "account 1".to_owned(),
    };
    assert_eq!(
        ConfigVerdict::try_from(wire::CheckConfigResponse::from(usable.clone()))?,
        usable
    );

    refused!(ConfigVerdict, wire::CheckConfigResponse::default();
        "failure.reason": |response| response.failure = Some(wire::Failure::default());
    );
    Ok(())
}
