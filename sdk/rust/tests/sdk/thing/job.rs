//! A kind that is named upstream and takes three polls to be created.

use std::time::Duration;

use crossbridge_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::GROUP;

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    pub steps: u8,
    /// How the next call behaves.
    #[serde(default)]
    pub mood: super::Mood,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Status {}

pub struct Job;

#[async_trait]
impl Resource for Job {
    type Parameters = Parameters;
    type Status = Status;

    fn kind() -> Kind {
        Kind::new(GROUP, "v1", "Job", ExternalName::by_upstream("job-7"))
            .recover_by_token(Duration::MAX)
            .no_update()
            .plugin_compares()
            .one_time_connection_key("key", "Given once.")
            .example(Example::new("short", &json!({"steps": 1})))
    }

    async fn observe(&self, call: &Call, desired: &Known<Parameters>) -> Result<Observed<Self>, Failure> {
        let found = Observation::new(
            &call.target.external_name,
            Parameters {
                steps: 3,
                mood: super::Mood::Obliging,
            },
        )
        .not_ready("running");
        Ok(
            match desired
                .parameters
                .as_ref()
                .map_or(3, |parameters| parameters.steps)
            {
                3 => found.up_to_date().into(),
                // A bug of its author: it does not compare.
                9 => found.into(),
                _ => found.differs("/steps", true).into(),
            },
        )
    }

    async fn create(&self, call: &Call, create: &Create<Parameters>) -> Result<Outcome<Self>, Failure> {
        super::suffer(create.desired.parameters.mood, call).await?;
        match create.desired.parameters.mood {
            super::Mood::NamedThenStatusBesideKey => {
                let status = Failure::invalid_argument("handle", "is none of this plugin's");
                return Ok(Outcome::failure(status).connection("key", "given once"));
            }
            super::Mood::NamedWithLongId => {
                return Ok(Outcome::completed()
                    .external_name("given")
                    .canonical_id("x".repeat(1025))
                    .connection("key", "given once"));
            }
            super::Mood::NamedWithLargeKey => {
                return Ok(Outcome::completed()
                    .external_name("given")
                    .canonical_id("id-7")
                    .connection("key", vec![b'x'; 1 << 20]));
            }
            _ => {}
        }
        let operation = Operation::create(format!("steps:{}", create.desired.parameters.steps))
            .poll_after(Duration::from_secs(1))
            .progress(0)
            .phase("Running");
        Ok(Outcome::operation(operation)
            .external_name("job-7")
            .provider_state("0")
            .connection("key", "given once"))
    }

    async fn update(&self, _: &Call, _: &Update<Parameters>) -> Result<Outcome<Self>, Failure> {
        Err(Failure::internal("it cannot be updated, so no caller asks"))
    }

    async fn delete(&self, _: &Call, _: &Delete<Parameters>) -> Result<Outcome<Self>, Failure> {
        Ok(Operation::delete("steps:1").poll_driven().into())
    }

    async fn poll(&self, call: &Call, poll: &Poll<Parameters>) -> Result<Outcome<Self>, Failure> {
        let steps: u8 = poll
            .handle
            .strip_prefix("steps:")
            .and_then(|steps| steps.parse().ok())
            .ok_or_else(|| Failure::invalid_argument("handle", "is none of this plugin's"))?;
        let done: u8 = call.target.provider_state.parse().unwrap_or_default();
        if done + 1 >= steps {
            return Ok(Outcome::completed());
        }
        let operation = Operation::create(&poll.handle).progress(100 / steps * (done + 1));
        Ok(Outcome::operation(operation).provider_state((done + 1).to_string()))
    }
}
