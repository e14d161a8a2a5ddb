//! What the plugin reports of itself, and how it tries a config.

use crate::support::{Plugin, config, document, resource_type};
use crossbridge_proto::v1alpha1::{self as wire, plugin_service_client::PluginServiceClient};
use crossbridge_types as types;
use serde_json::{Value, json};
use tonic::Code;

type TestResult = Result<(), Box<dyn std::error::Error>>;

#[tokio::test]
async fn the_plugin_describes_itself_and_its_kinds() -> TestResult {
    let plugin = Plugin::start().await;
    let mut client = PluginServiceClient::new(plugin.channel.clone());

    let info = client
        .get_plugin_info(wire::GetPluginInfoRequest::default())
        .await?
        .into_inner();
    let again = client
        .get_plugin_info(wire::GetPluginInfoRequest::default())
        .await?
        .into_inner();
    assert_eq!(info.instance_id, again.instance_id);
    let info = types::PluginInfo::try_from(info)?;
    assert_eq!(
        (info.name.as_str(), info.version.as_str()),
        ("things.example.org", "1.2.3")
    );
    assert_eq!((info.max_concurrent_calls, info.max_message_bytes), (2, 64 << 10));
    assert!(info.lists_external);
    assert!(info.config_schema.expect("settings")["properties"]["folder"].is_object());
    assert!(info.credential_keys[0].required);

    // Page by page, and what a page lists is what the kind is.
    let mut kinds = Vec::new();
    let mut page_token = String::new();
    loop {
        let page = client
            .list_resource_kinds(wire::ListResourceKindsRequest {
                page_size: 1,
                page_token,
            })
            .await?
            .into_inner();
        assert_eq!(page.kinds.len(), 1);
        let page = types::KindPage::try_from(page)?;
        kinds.extend(page.kinds);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    let names: Vec<_> = kinds.iter().map(|(kind, _)| kind.kind.as_str()).collect();
    assert_eq!(names, ["Job", "Thing"]);
    assert_ne!(kinds[0].1, kinds[1].1, "different kinds have different digests");

    let thing = client
        .get_resource_kind(wire::GetResourceKindRequest {
            resource_type: Some(resource_type("Thing")),
        })
        .await?
        .into_inner();
    let thing = types::Kind::try_from(thing)?;
    assert_eq!(thing.plural, "things");
    assert_eq!(
        thing.parameters_schema["properties"]["size"],
        json!({"type": "integer", "format": "int64"})
    );
    assert!(
        thing
            .field_rules
            .iter()
            .any(|rule| rule.path == "/password" && rule.sensitive)
    );

    let refused = client
        .list_resource_kinds(wire::ListResourceKindsRequest {
            page_size: 0,
            page_token: "elsewhere".to_owned(),
        })
        .await
        .expect_err("a foreign page token");
    assert_eq!(refused.code(), Code::InvalidArgument);
    plugin.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_digest_is_the_same_after_a_restart() -> TestResult {
    let mut digests = Vec::new();
    for _ in 0..2 {
        let plugin = Plugin::start().await;
        let mut client = PluginServiceClient::new(plugin.channel.clone());
        let page = client
            .list_resource_kinds(wire::ListResourceKindsRequest::default())
            .await?
            .into_inner();
        digests.push(page.kinds);
        plugin.stop().await;
    }
    assert_eq!(digests[0], digests[1]);
    Ok(())
}

#[tokio::test]
async fn a_config_is_tried() -> TestResult {
    let plugin = Plugin::start().await;
    let mut client = PluginServiceClient::new(plugin.channel.clone());
    let good = config(&plugin.things());
    let mut check = async |config: wire::ConfigContext| {
        client
            .check_config(wire::CheckConfigRequest { config: Some(config) })
            .await
            .map(|response| {
                let response = response.into_inner();
                (response.failure.map(|failure| failure.code()), response.identity)
            })
    };

    assert_eq!(
        check(good.clone()).await?,
        (None, plugin.things().display().to_string())
    );
    let with_settings = |settings: Value| wire::ConfigContext {
        settings: Some(document(&settings)),
        ..good.clone()
    };
    let (wrong_type, _) = check(with_settings(json!({"folder": 7}))).await?;
    assert_eq!(wrong_type, Some(wire::FailureCode::InvalidConfig));
    let (not_there, _) = check(with_settings(json!({"folder": "/not/there"}))).await?;
    assert_eq!(not_there, Some(wire::FailureCode::InvalidConfig));

    let mut without_key = good.clone();
    without_key.credentials = [("other".to_owned(), Vec::new())].into();
    assert_eq!(
        check(without_key).await?.0,
        Some(wire::FailureCode::Unauthenticated)
    );
    let mut ambient = good.clone();
    ambient.credentials.clear();
    assert_eq!(
        check(ambient).await?.0,
        None,
        "an empty map means ambient identity"
    );
    let mut expired = good.clone();
    expired.credentials_expire_time = Some(prost_types::Timestamp { seconds: 1, nanos: 0 });
    assert_eq!(
        check(expired).await?.0,
        Some(wire::FailureCode::CredentialsExpired)
    );

    let mut without_id = good;
    without_id.config_id.clear();
    let refused = check(without_id).await.expect_err("config_id is required");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(
        refused.message().starts_with("config.config_id "),
        "{}",
        refused.message()
    );
    plugin.stop().await;
    Ok(())
}
