//! The good plugin: it keeps plants in memory, and does as it is told.

use std::{collections::BTreeMap, sync::Arc};

use crossbridge_sdk::{CredentialKey, prelude::*};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name, which is its group.
pub const GROUP: &str = "garden.example.org";

/// A plant of this variety is answered as if the keys were not known.
pub const UNKNOWN_KEYS: &str = "unknown-keys";

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(crate = "schemars")]
struct Parameters {
    /// What grows.
    variety: String,
    /// Where it stands; a set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    beds: Vec<String>,
    /// Sensitive values, by any name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    keys: BTreeMap<String, String>,
    /// Whatever its gardener likes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    notes: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
struct Status {
    variety: String,
}

/// What was planted, and who called.
#[derive(Default)]
pub struct Neighbours {
    planted: Mutex<BTreeMap<String, Parameters>>,
    calls: Mutex<BTreeMap<String, u64>>,
}

struct Plant(Arc<Neighbours>);

impl Neighbours {
    /// Calls about objects of a namespace, so far.
    pub fn calls_of(&self, namespace: &str) -> u64 {
        self.calls.lock().get(namespace).copied().unwrap_or_default()
    }

    /// The plugin that serves them.
    pub fn plugin(self: &Arc<Self>) -> Plugin {
        Plugin::new(GROUP, "1.0.0")
            .credential(CredentialKey::new("token", "Opens the gate."))
            .check_config(|_| async { Ok("garden".to_owned()) })
            .resource(Plant(Arc::clone(self)))
    }

    fn called(&self, call: &Call) {
        *self
            .calls
            .lock()
            .entry(call.target.owner_namespace.clone())
            .or_default() += 1;
    }

    fn plant(&self, call: &Call, desired: &Desired<Parameters>) -> Result<Outcome<Plant>, Failure> {
        self.called(call);
        if desired.parameters.variety == UNKNOWN_KEYS {
            return Err(Failure::unauthenticated("the keys are not known here"));
        }
        let name = call.target.external_name.clone();
        self.planted.lock().insert(name, desired.parameters.clone());
        Ok(Outcome::completed())
    }
}

#[async_trait]
impl Resource for Plant {
    type Parameters = Parameters;
    type Status = Status;

    fn kind() -> Kind {
        let example = Example::new("rose", &json!({ "variety": "rose" })).external_name("rose");
        Kind::new(GROUP, "v1alpha1", "Plant", ExternalName::by_user("rose"))
            .recover_by_name()
            .visible_when_accepted()
            .sensitive("/keys/*")
            .example(example)
    }

    async fn observe(
        &self,
        call: &Call,
        desired: &Desired<Option<Parameters>>,
    ) -> Result<Observed<Self>, Failure> {
        self.0.called(call);
        if desired
            .parameters
            .as_ref()
            .is_some_and(|wanted| wanted.variety == UNKNOWN_KEYS)
        {
            return Err(Failure::unauthenticated("the keys are not known here"));
        }
        let name = &call.target.external_name;
        let Some(parameters) = self.0.planted.lock().get(name).cloned() else {
            return Ok(Observed::absent());
        };
        let variety = parameters.variety.clone();
        Ok(Observation::new(name, parameters)
            .status(Status { variety })
            .ready()
            .into())
    }

    async fn create(&self, call: &Call, create: &Create<Parameters>) -> Result<Outcome<Self>, Failure> {
        self.0.plant(call, &create.desired)
    }

    async fn update(&self, call: &Call, update: &Update<Parameters>) -> Result<Outcome<Self>, Failure> {
        self.0.plant(call, &update.desired)
    }

    async fn delete(&self, call: &Call, _: &Delete<Parameters>) -> Result<Outcome<Self>, Failure> {
        self.0.called(call);
        self.0.planted.lock().remove(&call.target.external_name);
        Ok(Outcome::completed())
    }
}
