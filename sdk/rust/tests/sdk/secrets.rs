//! No credential, sensitive value or connection detail shows in a log or in `Debug`, at any level.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use crate::support::{Plugin as TestPlugin, create, document, failure, observe, soon};
use crossbridge_proto::v1alpha1 as wire;
use crossbridge_sdk::{Create, Resource, async_trait, prelude::*};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

/// Everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no writer panics")).into_owned()
    }
}

const CANARY: &str = "canary-4711";

/// A kind that logs all that it is handed.
struct Chatty;

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, Debug)]
struct Parameters {
    password: Option<String>,
}

#[async_trait]
impl Resource for Chatty {
    type Parameters = Parameters;
    type Status = crate::thing::Status;

    fn kind() -> Kind {
        Kind::new(crate::thing::GROUP, "v1", "Thing", ExternalName::by_user("a"))
            .recover_by_name()
            .sensitive("/password")
            .connection_key("password", "As it is now.")
            .example(Example::new("plain", &json!({})).external_name("a"))
    }

    async fn observe(&self, call: &Call, desired: &Known<Parameters>) -> Result<Observed<Self>, Failure> {
        tracing::info!(?call, ?desired, "asked to observe");
        let observed: Observed<Self> = Observation::new(
            &call.target.external_name,
            Parameters {
                password: Some(CANARY.to_owned()),
            },
        )
        .connection("password", CANARY)
        .into();
        tracing::info!(?observed, "found");
        Ok(observed)
    }

    async fn create(&self, call: &Call, create: &Create<Parameters>) -> Result<Outcome<Self>, Failure> {
        tracing::info!(?call, ?create, "asked to create");
        assert_eq!(create.desired.sensitive("/password"), Some(CANARY));
        assert_eq!(call.config.required_credential("key")?, CANARY);
        let outcome = Outcome::completed().connection("password", CANARY);
        tracing::info!(?outcome, "created");
        Ok(outcome)
    }

    /// It ends in an error that nobody maps.
    async fn update(&self, _: &Call, update: &Update<Parameters>) -> Result<Outcome<Self>, Failure> {
        tracing::info!(?update, "asked to update");
        Err(io::Error::other(CANARY))?
    }

    /// No bridge stores so much state.
    async fn delete(&self, _: &Call, _: &Delete<Parameters>) -> Result<Outcome<Self>, Failure> {
        Ok(Outcome::completed().provider_state("x".repeat(5000)))
    }
}

#[tokio::test]
async fn no_secret_is_logged() -> Result<(), Box<dyn std::error::Error>> {
    let log = Log::default();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(log.clone())
        .init();
    let plugin = TestPlugin::start_with(Plugin::new("things.example.org", "1.0.0").resource(Chatty)).await;

    let mut client = plugin.resources.clone();
    let mut request = create(plugin.target("Thing", "a"), &json!({}));
    let target = request.target.as_mut().expect("a target");
    let config = target.config.as_mut().expect("a config");
    config
        .credentials
        .insert("key".to_owned(), CANARY.as_bytes().to_vec());
    let target = target.clone();
    let sensitive = &mut request
        .desired
        .as_mut()
        .expect("a desired state")
        .sensitive_values;
    sensitive.insert("/password".to_owned(), CANARY.to_owned());
    let mut request = soon(request);
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    request.metadata_mut().insert("traceparent", trace.parse()?);
    request
        .metadata_mut()
        .insert("crossbridge-call-id", "call-1".parse()?);
    let created = client.create(request).await?.into_inner();
    assert_eq!(
        created.outcome.expect("an outcome").connection_details["password"],
        CANARY.as_bytes()
    );
    let found = client
        .observe(observe(target.clone(), &json!({})))
        .await?
        .into_inner();
    assert!(found.result.is_some());
    let request = wire::UpdateRequest {
        target: Some(target.clone()),
        desired: Some(wire::DesiredState {
            parameters: Some(document(&json!({}))),
            ..Default::default()
        }),
        ..Default::default()
    };
    let updated = client.update(soon(request)).await?.into_inner();
    assert_eq!(failure(updated.outcome).0.reason, "Internal");
    let request = wire::DeleteRequest {
        target: Some(target),
        ..Default::default()
    };
    client.delete(soon(request)).await?;
    plugin.stop().await;

    let text = log.text();
    for told in [
        "asked to create",
        "call_id=\"call-1\"",
        "trace_id=\"4bf92f3577b34da6a3ce929d0e0e4736\"",
        "external_name=\"a\"",
        // An error that nobody maps: its type and its place.
        "error=\"std::io::error::Error\"",
        concat!("at=", file!(), ":"),
        // An answer that breaks the contract: the field, the type and the file.
        "violation=provider_state has 5000 bytes",
        concat!("::Chatty at ", file!(), ":"),
    ] {
        assert!(text.contains(told), "the log contains {told}");
    }
    let bytes = format!("{:?}", CANARY.as_bytes());
    for line in text.lines() {
        assert!(
            !line.contains(CANARY) && !line.contains(bytes.trim_matches(['[', ']'])),
            "{line}"
        );
    }
    Ok(())
}
