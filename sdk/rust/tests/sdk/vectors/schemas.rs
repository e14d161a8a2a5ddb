//! Types as an author writes them, and the schemas and rules that are published of them.

use std::{collections::BTreeMap, marker::PhantomData};

use crossbridge_proto::v1alpha1::{self as wire, plugin_service_client::PluginServiceClient};
use crossbridge_sdk::{
    Reference,
    prelude::*,
    serde_json::{Map, Value},
};
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    file,
    matching::{Saved, check, normalized},
    name_of, report,
};
use crate::support::Plugin as TestPlugin;

/// A type of parameters, with its rules.
trait Described: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    fn rules(kind: Kind) -> Kind {
        kind
    }
}

/// A kind that is only published.
struct Typed<P>(PhantomData<P>);

#[derive(Serialize, Deserialize, JsonSchema)]
struct NoStatus {}

#[async_trait]
impl<P: Described> Resource for Typed<P> {
    type Parameters = P;
    type Status = NoStatus;

    fn kind() -> Kind {
        let kind = Kind::new("vectors.example.org", "v1", "Typed", ExternalName::by_user("a"));
        P::rules(kind.observe_only())
    }

    async fn observe(&self, _: &Call, _: &Known<P>) -> Result<Observed<Self>, Failure> {
        Ok(Observed::absent())
    }

    async fn create(&self, _: &Call, _: &Create<P>) -> Result<Outcome<Self>, Failure> {
        Ok(Outcome::completed())
    }

    async fn update(&self, _: &Call, _: &Update<P>) -> Result<Outcome<Self>, Failure> {
        Ok(Outcome::completed())
    }

    async fn delete(&self, _: &Call, _: &Delete<P>) -> Result<Outcome<Self>, Failure> {
        Ok(Outcome::completed())
    }
}

macro_rules! types {
    ($($(#[$attribute:meta])* $name:ident $fields:tt $(=> $rules:expr;)?)*) => {
        $(
            #[derive(Serialize, Deserialize, JsonSchema)]
            #[serde(rename_all = "camelCase")]
            $(#[$attribute])*
            struct $name $fields

            impl Described for $name {
                $(fn rules(kind: Kind) -> Kind {
                    let rules: fn(Kind) -> Kind = $rules;
                    rules(kind)
                })?
            }
        )*
    };
}

types! {
    /// A file.
    Scalars {
        /// Its name.
        name: String,
        size: i64,
        seconds: i32,
        ratio: f64,
        enabled: bool,
    }
    Optional { name: Option<String>, size: Option<i64>, seconds: Option<i32>, enabled: Option<bool> }
    CamelCase { instance_class: String, max_size: Option<i64> }
    Enumeration { storage: Storage, mode: Option<Mode> }
    Defaults {
        #[serde(default = "seven")]
        lucky: i64,
        #[serde(default = "on")]
        mode: String,
    }
    Limits {
        #[schemars(range(min = 1, max = 100))]
        size: i64,
        #[schemars(length(min = 3, max = 63), regex(pattern = "^[a-z-]+$"))]
        name: String,
        #[schemars(length(min = 1, max = 3))]
        zones: Vec<String>,
    }
    Nested {
        inner: Inner,
        maybe: Option<Inner>,
        list: Vec<Inner>,
        tags: Option<BTreeMap<String, String>>,
        named: Option<BTreeMap<String, Inner>>,
    }
    Anything { any: Option<Value>, any_object: Option<Map<String, Value>> }
    Extensions {
        #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
        tags: Option<BTreeMap<String, String>>,
        #[schemars(extend("x-kubernetes-list-type" = "set"))]
        zones: Option<Vec<String>>,
    }
    Dated {
        #[schemars(extend("format" = "date-time"))]
        at: Option<String>,
    }
    Empty {}
    Sensitive { field: Option<String> } => |kind| kind.sensitive("/field");
    Immutable { field: Option<String> } => |kind| kind.immutable("/field");
    SetOnce { field: Option<String> } => |kind| kind.set_once("/field");
    LateInitialized { field: Option<String> } => |kind| kind.late_initialized("/field");
    WriteOnly { field: Option<String> } => |kind| kind.write_only("/field");
    CaseInsensitive { field: Option<String> } => |kind| kind.case_insensitive("/field");
    JsonText { field: Option<String> } => |kind| kind.json_text("/field");
    Quantity { field: Option<String> } => |kind| kind.quantity("/field");
    Referring { field: Option<String> } => |kind| {
        kind.reference("/field", Reference::to("net.example.org", "v1", "Network"))
    };
    Extracting { field: Option<String> } => |kind| {
        kind.reference("/field", Reference::to("net.example.org", "v1", "Network").extract("/id"))
    };
    Several { field: Option<String> } => |kind| {
        kind.sensitive("/field").immutable("/field").write_only("/field")
    };
    Below {
        users: Option<Vec<User>>,
        keys: Option<BTreeMap<String, User>>,
        #[serde(rename = "box")]
        boxed: Option<User>,
    } => |kind| {
        kind.sensitive("/users/*/secret").sensitive("/keys/*/secret").sensitive("/box/secret")
    };
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Storage {
    Standard,
    Cold,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Mode {
    On,
    Off,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Inner {
    depth: Option<i64>,
    /// Its key.
    key: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct User {
    name: String,
    secret: Option<String>,
}

fn seven() -> i64 {
    7
}

fn on() -> String {
    "on".to_owned()
}

/// The kind as it is published.
async fn published<P: Described>() -> Value {
    let plugin =
        crossbridge_sdk::Plugin::new("vectors.example.org", "1.0.0").resource(Typed::<P>(PhantomData));
    let plugin = TestPlugin::start_with(plugin).await;
    let mut client = PluginServiceClient::new(plugin.channel.clone());
    let request = wire::GetResourceKindRequest {
        resource_type: Some(wire::ResourceType {
            group: "vectors.example.org".to_owned(),
            version: "v1".to_owned(),
            kind: "Typed".to_owned(),
        }),
    };
    let kind = client.get_resource_kind(request).await.expect("the kind");
    let kind = kind.into_inner().resource_kind.expect("a kind");
    let pool = DescriptorPool::decode(crossbridge_proto::FILE_DESCRIPTOR_SET).expect("our own");
    let descriptor = pool
        .get_message_by_name("crossbridge.provider.v1alpha1.ResourceKind")
        .expect("it is there");
    let kind = DynamicMessage::decode(descriptor, kind.encode_to_vec().as_slice()).expect("our own");
    serde_json::to_value(kind).expect("JSON")
}

async fn compare<P: Described>(vector: &Value) -> Result<(), String> {
    let kind = published::<P>().await;
    let schema = kind["parametersSchemaJson"].as_str().expect("a schema");
    let schema = normalized(serde_json::from_str(schema).expect("JSON"));
    let expected = normalized(vector["schema"].clone());
    if schema != expected {
        return Err(format!("expected {expected}, got {schema}"));
    }
    match vector.get("fieldRules") {
        None => Ok(()),
        Some(rules) => {
            let mut expected = rules.as_array().expect("rules").clone();
            let mut actual = kind["fieldRules"].as_array().cloned().unwrap_or_default();
            for rules in [&mut expected, &mut actual] {
                rules.sort_by_key(|rule| rule["path"].to_string());
            }
            let expected = serde_json::json!({"$equals": expected});
            check(
                &expected,
                Some(&Value::Array(actual)),
                &Saved::new(),
                "fieldRules",
            )
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemas_are_derived() {
    let vectors = file("schemas.json");
    let mut problems = Vec::new();
    for vector in vectors["schemas"].as_array().expect("schemas") {
        let compared = match name_of(vector) {
            "scalars" => compare::<Scalars>(vector).await,
            "optional fields are absent, never null" => compare::<Optional>(vector).await,
            "names are camelCase" => compare::<CamelCase>(vector).await,
            "an enumeration" => compare::<Enumeration>(vector).await,
            "a default makes a field optional" => compare::<Defaults>(vector).await,
            "limits" => compare::<Limits>(vector).await,
            "objects, lists and maps stand in place" => compare::<Nested>(vector).await,
            "any value, and any object" => compare::<Anything>(vector).await,
            "extensions of Kubernetes" => compare::<Extensions>(vector).await,
            "a date" => compare::<Dated>(vector).await,
            "a type without fields" => compare::<Empty>(vector).await,
            "a sensitive field" => compare::<Sensitive>(vector).await,
            "an immutable field" => compare::<Immutable>(vector).await,
            "a field that is set once" => compare::<SetOnce>(vector).await,
            "a late-initialised field" => compare::<LateInitialized>(vector).await,
            "a write-only field" => compare::<WriteOnly>(vector).await,
            "a field whose letter case does not count" => compare::<CaseInsensitive>(vector).await,
            "a field that holds JSON" => compare::<JsonText>(vector).await,
            "a quantity" => compare::<Quantity>(vector).await,
            "a reference to a name" => compare::<Referring>(vector).await,
            "a reference to what stands in a status" => compare::<Extracting>(vector).await,
            "several rules on one field" => compare::<Several>(vector).await,
            "rules below lists and maps" => compare::<Below>(vector).await,
            other => Err(format!("no type is written for {other:?}")),
        };
        if let Err(problem) = compared {
            problems.push(format!("{}: {problem}", name_of(vector)));
        }
    }
    report("schemas.json", &problems);
}
