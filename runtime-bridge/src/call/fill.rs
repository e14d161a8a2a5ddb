//! A request built from an object of the cluster: what the bridge would send for it now.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bridge_core::{
    back_off::policies,
    crd::split_secret_refs,
    external::Config,
    kind::{Kind, NameSource},
    managed::{IntentVerb, RecordedParameters, Status, Stored, former_marker, names},
};
use bridge_engine::{
    clock::SystemClock,
    config::{ConfigOptions, ConfigPolicy, ConfigResolver, LocalHost, SecretSource},
    managed::ownership_marker,
    object::Object,
};
use bridge_plugin::{Options, Plugin};
use serde_json::{Map, Value, json};

use super::{CallArgs, CallError, method::Method};
use crate::object_lookup::Reader;

/// A request that stands for the bridge's own.
#[derive(Debug, PartialEq)]
pub(super) struct Filled {
    pub(super) request: Value,
    /// Whether it changes something that the bridge guards.
    pub(super) changes: bool,
}

/// The request of this method for a live object.
pub(super) async fn request(args: &CallArgs, object: &str, method: &Method) -> Result<Filled, CallError> {
    let not_filled = |why: String| CallError::NotFilled(why);
    let (object, reader) = args.looked_up.find(object).await?;
    let mut options = Options::new(args.endpoint.clone());
    options.tls = args.tls.files();
    let (plugin, _) = Plugin::connect(options).await?;
    let served = Arc::clone(&plugin.state().borrow().served);
    let is_of = |kind: &&Arc<Kind>| {
        let (of, api) = (&kind.resource_type, &object.api);
        of.group == api.kind.group() && of.kind == api.kind.kind() && of.version == api.version
    };
    let kind = served.kinds.iter().find(is_of).ok_or_else(|| {
        not_filled(format!(
            "the plugin {} does not serve {}",
            served.info.name, object.api.kind
        ))
    })?;
    let configs = ConfigResolver::new(ConfigOptions {
        plugin: served.info.clone(),
        external: Arc::new(plugin),
        objects: Arc::new(reader.clone()),
        secrets: Arc::new(reader.clone()),
        host: Arc::new(LocalHost::anywhere()),
        policy: ConfigPolicy::default(),
        backoff: policies::CONFIG,
        clock: Arc::new(SystemClock),
    });
    let config = configs
        .config_of(&object)
        .await
        .map_err(|error| not_filled(error.to_string()))?;
    let looked_up = LookedUpObject {
        cluster_id: reader.cluster_id().await?,
        desired: desired(kind, &object, &reader).await?,
        named_by: kind.external_name.source,
        object,
        config,
    };
    looked_up.request(method.name()).map_err(not_filled)
}

/// What a request is built from.
struct LookedUpObject {
    /// Who gives the names of this kind.
    named_by: NameSource,
    object: Object,
    config: Arc<Config>,
    cluster_id: String,
    /// The `desired` of the request, as JSON of `DesiredState`.
    desired: Value,
}

async fn desired(kind: &Kind, object: &Object, reader: &Reader) -> Result<Value, CallError> {
    let spec = object.spec_value();
    let empty = Map::new();
    let for_provider = spec["forProvider"].as_object().unwrap_or(&empty);
    let split =
        split_secret_refs(kind, for_provider).map_err(|error| CallError::NotFilled(error.to_string()))?;
    let mut sensitive = Map::new();
    for (pointer, reference) in &split.secret_refs {
        let namespace = object
            .namespace()
            .or(reference.namespace.as_deref())
            .unwrap_or_default();
        let secret = SecretSource::read(reader, namespace, &reference.name).await;
        let secret = secret.map_err(|error| CallError::NotFilled(error.to_string()))?;
        let value = secret
            .data
            .0
            .get(&reference.key)
            .and_then(|value| std::str::from_utf8(value).ok());
        let missing = || {
            CallError::NotFilled(format!(
                "the Secret {namespace}/{} has no text {:?}",
                reference.name, reference.key
            ))
        };
        sensitive.insert(pointer.clone(), json!(value.ok_or_else(missing)?));
    }
    Ok(json!({ "parameters": split.parameters, "sensitiveValues": sensitive }))
}

impl LookedUpObject {
    fn request(&self, method: &str) -> Result<Filled, String> {
        let object = &self.object;
        let record = match Stored::read(object.annotation(names::RECORD), object.uid()) {
            Stored::Owned(record) => Some(record),
            Stored::None => None,
            Stored::Unreadable(why) => return Err(format!("the object's record cannot be read: {why}")),
        };
        let intent = record.as_ref().and_then(|record| record.intent.as_ref());
        let recorded = record
            .as_ref()
            .map(|record| record.external_name.clone())
            .filter(|name| !name.is_empty());
        let name = recorded
            .or_else(|| object.annotation(names::EXTERNAL_NAME).map(str::to_owned))
            .or_else(|| (self.named_by == NameSource::User).then(|| object.name().to_owned()));
        let marker = ownership_marker(&self.cluster_id, object.uid());
        let adopt = object.annotation(names::ADOPT).unwrap_or_default();
        let target = json!({
            "resourceType": {
                "group": object.api.kind.group(), "version": object.api.version, "kind": object.api.kind.kind(),
            },
            "config": self.config(),
            "owner": {
                "namespace": object.namespace().unwrap_or_default(),
                "name": object.name(),
                "uid": object.uid(),
                "generation": object.generation().to_string(),
            },
            "externalName": name.unwrap_or_default(),
            "ownershipMarker": marker,
            "formerMarker": former_marker(adopt, &marker),
            "providerState": record.as_ref().map(|record| record.provider_state.clone()).unwrap_or_default(),
        });
        let mut request = json!({ "target": target, "desired": self.desired });
        let mut changes = false;
        match method {
            "Observe" => {}
            "Update" | "Delete" => changes = true,
            "Create" => {
                changes = true;
                // A name that an answer reported is no part of the request that led to it.
                if self.named_by == NameSource::Provider {
                    request["target"]["externalName"] = json!("");
                }
                // What is repeated is the request as it was recorded, not today's desired state.
                let intent = intent.filter(|intent| intent.verb == IntentVerb::Create);
                match intent.map(|intent| &intent.parameters) {
                    Some(RecordedParameters::Whole(parameters)) => {
                        request["desired"]["parameters"] = json!(parameters);
                    }
                    Some(RecordedParameters::Digest(_)) | None => {}
                }
                let token =
                    intent.map_or_else(|| uuid::Uuid::new_v4().to_string(), |intent| intent.token.clone());
                request["clientRequestToken"] = json!(token);
                request["outcomeUnknown"] = json!(intent.is_some());
            }
            "PollOperation" => {
                let of_create = intent
                    .and_then(|intent| intent.operation.as_ref())
                    .map(|operation| (operation.handle.clone(), operation.poll_driven));
                let reported = Status::read(object.status_value()).progress.operation;
                let reported = reported
                    .filter(|operation| !operation.handle.is_empty())
                    .map(|operation| (operation.handle, operation.poll_driven));
                let (handle, poll_driven) = of_create
                    .or(reported)
                    .ok_or("the object has no operation that could be asked after")?;
                request["handle"] = json!(handle);
                // Such an operation moves only when polled: the poll is the change.
                changes = poll_driven;
            }
            "CheckConfig" => request = json!({ "config": self.config() }),
            "GetResourceKind" => request = json!({ "resourceType": request["target"]["resourceType"] }),
            other => return Err(format!("{other} is about no object: leave KIND/NAME out")),
        }
        Ok(Filled { request, changes })
    }

    fn config(&self) -> Value {
        let credentials = self.config.credentials.0.iter();
        let credentials: Map<_, _> = credentials
            .map(|(key, value)| (key.clone(), json!(BASE64_STANDARD.encode(value))))
            .collect();
        let mut config = json!({ "configId": self.config.id, "revision": self.config.revision, "credentials": credentials });
        if let Some(settings) = &self.config.settings {
            config["settings"] = json!(settings);
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use bridge_core::kind::ResourceType;
    use bridge_engine::object::ApiType;

    use super::*;

    const RECORD: &str = r#"{"uid":"u","externalName":"three-men","intent":{"verb":"Create","token":"t","attempt":1,"generation":1,
      "parameters":{"whole":{"pages":3}},"startedAt":"2026-01-01T00:00:50Z","deadline":"2026-01-01T00:01:20Z",
      "operation":{"handle":"create/3","attempt":1}},"config":{"id":"c"},"pluginVersion":"0.1.0"}"#;

    fn looked_up(annotations: &Value) -> LookedUpObject {
        let resource = ResourceType {
            group: "press.example.org".to_owned(),
            version: "v1alpha1".to_owned(),
            kind: "Book".to_owned(),
        };
        let metadata = json!({
            "name": "jerome", "namespace": "default", "uid": "u", "resourceVersion": "1", "generation": 2, "annotations": annotations
        });
        let value =
            json!({ "apiVersion": "press.example.org/v1alpha1", "kind": "Book", "metadata": metadata });
        let config = Config {
            id: "c".to_owned(),
            revision: "r".to_owned(),
            settings_digest: String::new(),
            identity: String::new(),
            settings: json!({ "folder": "/press" }).as_object().cloned(),
            credentials: bridge_core::external::Secrets([("key".to_owned(), b"sesame".to_vec())].into()),
            credentials_expire: None,
        };
        LookedUpObject {
            named_by: NameSource::Provider,
            object: Object::decode(
                &Arc::new(ApiType::new(&resource, "books", true)),
                &value.to_string(),
            )
            .expect("an object"),
            config: Arc::new(config),
            cluster_id: "cluster".to_owned(),
            desired: json!({ "parameters": { "pages": 5 } }),
        }
    }

    #[test]
    fn a_recorded_operation_is_polled() {
        let annotations = json!({ "crossbridge.dev/record": RECORD, "crossbridge.dev/adopt": "ccluster-v" });
        let request = looked_up(&annotations).request("PollOperation");
        assert_eq!(
            request,
            Ok(Filled {
                request: json!({
                    "target": {
                        "resourceType": { "group": "press.example.org", "version": "v1alpha1", "kind": "Book" },
                        "config": { "configId": "c", "revision": "r", "settings": { "folder": "/press" }, "credentials": { "key": "c2VzYW1l" } },
                        "owner": { "namespace": "default", "name": "jerome", "uid": "u", "generation": "2" },
                        "externalName": "three-men",
                        "ownershipMarker": "ccluster-u",
                        "formerMarker": "ccluster-v",
                        "providerState": "",
                    },
                    "desired": { "parameters": { "pages": 5 } },
                    "handle": "create/3",
                }),
                changes: false,
            })
        );
    }

    #[test]
    fn a_poll_driven_operation_is_not_polled_by_hand() {
        let driven = RECORD.replace(r#""attempt":1}},"#, r#""attempt":1,"pollDriven":true}},"#);
        let filled = looked_up(&json!({ "crossbridge.dev/record": driven })).request("PollOperation");
        assert!(filled.expect("a request").changes);
    }

    #[test]
    fn a_create_is_filled_from_the_recorded_intent() {
        let filled = looked_up(&json!({ "crossbridge.dev/record": RECORD })).request("Create");
        let Filled { request, changes } = filled.expect("a request");
        assert!(changes);
        assert_eq!(
            (&request["clientRequestToken"], &request["outcomeUnknown"]),
            (&json!("t"), &json!(true))
        );
        assert_eq!(request["desired"], json!({ "parameters": { "pages": 3 } }));
        assert_eq!(
            request["target"]["externalName"], "",
            "an answer reported it, the request did not hold it"
        );
    }

    #[test]
    fn a_user_named_resource_defaults_to_the_object_name() {
        let name = |named_by, annotations: &Value| {
            let looked_up = LookedUpObject {
                named_by,
                ..looked_up(annotations)
            };
            looked_up.request("Observe").expect("a request").request["target"]["externalName"].clone()
        };
        let annotated = json!({ "crossplane.io/external-name": "other" });
        assert_eq!(name(NameSource::User, &json!({})), "jerome");
        assert_eq!(name(NameSource::User, &annotated), "other");
        assert_eq!(name(NameSource::Derived, &json!({})), "");
        assert_eq!(name(NameSource::Provider, &json!({})), "");
    }

    #[test]
    fn a_method_without_object_data_is_rejected() {
        let looked_up = looked_up(&json!({}));
        assert_eq!(
            looked_up.request("PollOperation"),
            Err("the object has no operation that could be asked after".to_owned())
        );
        assert_eq!(
            looked_up.request("ListResourceKinds"),
            Err("ListResourceKinds is about no object: leave KIND/NAME out".to_owned())
        );
    }
}
