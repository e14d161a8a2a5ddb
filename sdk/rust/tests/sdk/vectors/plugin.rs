//! The vector plugin: two kinds whose parameters say what they do.

use std::{io, sync::Arc, time::Duration};

use crossbridge_sdk::{
    ConfigCall, CredentialKey, List, Listed, ListedItem, OperationVerb,
    prelude::*,
    serde_json::{Map, Value},
};
use schemars::JsonSchema;
use serde::{
    Deserialize, Serialize, Serializer,
    ser::{Error, SerializeStruct},
};

use super::script::{Run, Shared};

pub const GROUP: &str = "vectors.example.org";

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Where.
    pub region: Option<String>,
    retries: Option<i64>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct PortRule {
    port: i32,
}

impl PortRule {
    /// Of the type, and no JSON.
    pub const UNWRITABLE: Self = Self { port: i32::MIN };
}

impl Serialize for PortRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.port == Self::UNWRITABLE.port {
            return Err(S::Error::custom("a port that cannot be written"));
        }
        let mut rule = serializer.serialize_struct("PortRule", 1)?;
        rule.serialize_field("port", &self.port)?;
        rule.end()
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    /// How big.
    pub size: Option<i64>,
    pub note: Option<String>,
    pub password: Option<String>,
    pub rules: Option<Vec<PortRule>>,
    pub script: Option<Vec<Map<String, Value>>>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    pub state: Option<String>,
}

struct Widget(Arc<Shared>);

struct Job(Arc<Shared>);

/// The vector plugin.
pub fn plugin(shared: &Arc<Shared>) -> Plugin {
    Plugin::new(GROUP, "1.2.3")
        .settings::<Settings>()
        .credential(CredentialKey::new("key", "Opens it.").required())
        .credential(CredentialKey::new("other", ""))
        .max_concurrent_calls(2)
        .max_message_bytes(65536)
        .check_config(|call: ConfigCall| async move {
            match call.config.settings::<Settings>()?.region.as_deref() {
                Some("nowhere") => Err(Failure::invalid_config("there is no such region")),
                Some("boom") => Err(io::Error::other("an error").into()),
                Some("hang") => std::future::pending().await,
                _ => Ok("account-1".to_owned()),
            }
        })
        .resource(Widget(Arc::clone(shared)))
        .resource(Job(Arc::clone(shared)))
}

fn observation<R>(run: &Run<'_>) -> Observed<R>
where
    R: Resource<Parameters = Parameters, Status = Status>,
{
    let name = &run.call.target.external_name;
    if name.is_empty() {
        return Observed::absent();
    }
    let size = run.parameters.and_then(|parameters| parameters.size);
    let parameters = Parameters {
        size,
        ..Parameters::default()
    };
    Observation::new(name, parameters).into()
}

/// A kind, with the calls that both kinds serve in the same way.
macro_rules! scripted {
    ($kind:ident, $named:literal, $declared:expr, $($more:tt)*) => {
        #[async_trait]
        impl Resource for $kind {
            type Parameters = Parameters;
            type Status = Status;

            fn kind() -> Kind {
                $declared
            }

            async fn observe(&self, call: &Call, desired: &Known<Parameters>) -> Result<Observed<Self>, Failure> {
                let run = Run {
                    shared: &self.0,
                    verb: "observe",
                    call,
                    parameters: desired.parameters.as_ref(),
                    password: desired.sensitive("/password"),
                    fields: Vec::new(),
                    request: desired,
                };
                let observed = match run.steps().await? {
                    Some(step) => run.observed(&step),
                    None => observation(&run),
                };
                self.0.print(&observed);
                Ok(observed)
            }

            async fn create(&self, call: &Call, create: &Create<Parameters>) -> Result<Outcome<Self>, Failure> {
                let run = Run {
                    shared: &self.0,
                    verb: "create",
                    call,
                    parameters: Some(&create.desired.parameters),
                    password: create.desired.sensitive("/password"),
                    fields: vec![
                        ("token", create.client_request_token.clone()),
                        ("outcome_unknown", create.outcome_unknown.to_string()),
                    ],
                    request: create,
                };
                let outcome = match run.steps().await? {
                    Some(step) => run.outcome(&step, OperationVerb::Create),
                    None => Outcome::completed().external_name($named),
                };
                self.0.print(&outcome);
                Ok(outcome)
            }

            async fn update(&self, call: &Call, update: &Update<Parameters>) -> Result<Outcome<Self>, Failure> {
                let run = Run {
                    shared: &self.0,
                    verb: "update",
                    call,
                    parameters: Some(&update.desired.parameters),
                    password: update.desired.sensitive("/password"),
                    fields: vec![
                        ("etag", update.etag.clone()),
                        ("changed_paths", update.changed_paths.join(",")),
                    ],
                    request: update,
                };
                Ok(match run.steps().await? {
                    Some(step) => run.outcome(&step, OperationVerb::Update),
                    None => Outcome::completed(),
                })
            }

            async fn delete(&self, call: &Call, delete: &Delete<Parameters>) -> Result<Outcome<Self>, Failure> {
                let run = Run {
                    shared: &self.0,
                    verb: "delete",
                    call,
                    parameters: delete.desired.parameters.as_ref(),
                    password: delete.desired.sensitive("/password"),
                    fields: vec![("etag", delete.etag.clone())],
                    request: delete,
                };
                Ok(match run.steps().await? {
                    Some(step) => run.outcome(&step, OperationVerb::Delete),
                    None => Outcome::completed(),
                })
            }

            $($more)*
        }
    };
}

scripted! {
    Widget, "",
    {
        let names = ExternalName::by_user("a-widget")
            .pattern("[a-z][a-z0-9-]*")
            .max_length(20);
        Kind::new(GROUP, "v1", "Widget", names)
            .description("A widget.")
            .short_name("wi")
            .category("things")
            .printer_column("SIZE", "integer", ".spec.forProvider.size")
            .recover_by_name()
            .consistency_window(Duration::from_secs(5))
            .late_margin(Duration::from_secs(1))
            .visible_when_accepted()
            .rate_limit_group("widgets")
            .call_timeout(Duration::from_secs(5))
            .create_timeout(Duration::from_mins(10))
            .immutable("/note")
            .sensitive("/password")
            .connection_key("password", "As it is now.")
            .connection_key("endpoint", "Where it listens.")
            .listable()
            .example(
                Example::new("plain", &json!({"size": 1}))
                    .external_name("a-widget")
                    .update(&json!({"size": 2}))
                    .invalid(&json!({"size": -1}))
                    .sensitive("/password", "invented"),
            )
    },
    async fn list(&self, _: &ConfigCall, list: &List) -> Result<Listed<Self>, Failure> {
        let item = |name: &str, parameters: Parameters| {
            let item = ListedItem::new(name);
            if list.include_parameters {
                item.parameters(parameters)
            } else {
                item
            }
        };
        match list.page_token.as_str() {
            "" => {
                let parameters = Parameters {
                    size: Some(1),
                    password: Some("sesame-two".to_owned()),
                    ..Parameters::default()
                };
                let first = item("a-widget", parameters)
                    .canonical_id("id-a")
                    .display_name("A")
                    .found_marker("cb-1");
                Ok(Listed::new(vec![first, item("b-widget", Parameters::default())]).next_page("2"))
            }
            "2" => Ok(Listed::new(vec![item("c-widget", Parameters::default())]).unreachable("north")),
            "fail" => Err(Failure::throttled(Duration::from_secs(3), "slow down")),
            "boom" => Err(io::Error::other("an error").into()),
            "nameless" => Ok(Listed::new(vec![ListedItem::new("a-widget"), ListedItem::new("")])),
            _ => Err(Failure::invalid_argument("page_token", "is none of this plugin's")),
        }
    }
}

scripted! {
    Job, "job-7",
    Kind::new(GROUP, "v1", "Job", ExternalName::by_upstream("job-7"))
        .description("A job.")
        .recover_by_token(Duration::MAX)
        .recover_by_marker()
        .no_update()
        .plugin_compares()
        .delete_during_create()
        .immutable("/note")
        .sensitive("/password")
        .one_time_connection_key("password", "Given once.")
        .example(Example::new("short", &json!({}))),
    async fn poll(&self, call: &Call, poll: &Poll<Parameters>) -> Result<Outcome<Self>, Failure> {
        let run = Run {
            shared: &self.0,
            verb: "poll",
            call,
            parameters: poll.desired.parameters.as_ref(),
            password: poll.desired.sensitive("/password"),
            fields: vec![("handle", poll.handle.clone())],
            request: poll,
        };
        Ok(match run.steps().await? {
            Some(step) => run.outcome(&step, OperationVerb::Create),
            None => Outcome::completed(),
        })
    }
}
