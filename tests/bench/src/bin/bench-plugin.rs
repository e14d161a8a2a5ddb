//! A plugin whose cloud is a map in its memory and answers at once: what is measured with it is everything but the cloud.
//!
//! It prints `update NAME MICROSECONDS` for each Update that reaches it, and once a second `observed COUNT`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crossbridge_sdk::prelude::*;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const GROUP: &str = "bench.example.org";

/// One rule of a list.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Rule {
    port: u16,
    protocol: String,
    sources: Vec<String>,
}

/// What an ordinary resource has: text, numbers, a list of objects, a map.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Parameters {
    region: String,
    size: i64,
    description: Option<String>,
    #[serde(default)]
    rules: Vec<Rule>,
    #[serde(default)]
    tags: BTreeMap<String, String>,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Status {
    id: String,
    address: String,
}

struct Thing {
    parameters: Parameters,
    marker: String,
}

/// What exists, by name.
#[derive(Default)]
struct Cloud {
    things: Mutex<HashMap<String, Thing>>,
    tokens: Mutex<HashMap<String, String>>,
    observed: AtomicU64,
}

impl Cloud {
    fn observe<R>(&self, name: &str) -> Observed<R>
    where
        R: Resource<Parameters = Parameters, Status = Status>,
    {
        self.observed.fetch_add(1, Ordering::Relaxed);
        let things = self.things.lock();
        let Some(thing) = things.get(name) else {
            return Observed::absent();
        };
        let status = Status {
            id: format!("id-of-{name}"),
            address: format!("{name}.{}.example.org", thing.parameters.region),
        };
        Observation::new(name, thing.parameters.clone())
            .status(status)
            .found_marker(&thing.marker)
            .ready()
            .into()
    }

    fn create(&self, name: &str, marker: &str, parameters: &Parameters) -> Result<(), Failure> {
        let thing = Thing {
            parameters: parameters.clone(),
            marker: marker.to_owned(),
        };
        let mut things = self.things.lock();
        if things.contains_key(name) {
            return Err(Failure::already_exists(name, "it exists"));
        }
        things.insert(name.to_owned(), thing);
        Ok(())
    }

    fn update(&self, name: &str, parameters: &Parameters) -> Result<(), Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        println!("update {name} {}", now.as_micros());
        let mut things = self.things.lock();
        let thing = things
            .get_mut(name)
            .ok_or_else(|| Failure::not_found("there is none"))?;
        thing.parameters = parameters.clone();
        Ok(())
    }

    fn delete<R>(&self, name: &str) -> Outcome<R>
    where
        R: Resource<Parameters = Parameters, Status = Status>,
    {
        match self.things.lock().remove(name) {
            Some(_) => Outcome::completed(),
            None => Outcome::already_done(),
        }
    }
}

fn example() -> Example {
    Example::new("small", &json!({"region": "north", "size": 1}))
}

/// Named by the user, found again by its marker.
struct Named(Arc<Cloud>);

#[async_trait]
impl Resource for Named {
    type Parameters = Parameters;
    type Status = Status;

    fn kind() -> Kind {
        let kind = Kind::new(GROUP, "v1alpha1", "Named", ExternalName::by_user("small"));
        kind.plural("named")
            .recover_by_name()
            .holds_marker()
            .visible_when_accepted()
            .example(example().external_name("small"))
    }

    async fn observe(&self, call: &Call, _: &Known<Parameters>) -> Result<Observed<Self>, Failure> {
        Ok(self.0.observe(&call.target.external_name))
    }

    async fn create(&self, call: &Call, create: &Create<Parameters>) -> Result<Outcome<Self>, Failure> {
        let target = &call.target;
        self.0.create(
            &target.external_name,
            &target.ownership_marker,
            &create.desired.parameters,
        )?;
        Ok(Outcome::completed())
    }

    async fn update(&self, call: &Call, update: &Update<Parameters>) -> Result<Outcome<Self>, Failure> {
        self.0
            .update(&call.target.external_name, &update.desired.parameters)?;
        Ok(Outcome::completed())
    }

    async fn delete(&self, call: &Call, _: &Delete<Parameters>) -> Result<Outcome<Self>, Failure> {
        Ok(self.0.delete(&call.target.external_name))
    }
}

/// Named by the cloud, created once per token.
struct Given(Arc<Cloud>);

#[async_trait]
impl Resource for Given {
    type Parameters = Parameters;
    type Status = Status;

    fn kind() -> Kind {
        let kind = Kind::new(GROUP, "v1alpha1", "Given", ExternalName::by_upstream("g-1"));
        kind.plural("given")
            .recover_by_token(Duration::MAX)
            .visible_when_accepted()
            .example(example())
    }

    async fn observe(&self, call: &Call, _: &Known<Parameters>) -> Result<Observed<Self>, Failure> {
        Ok(self.0.observe(&call.target.external_name))
    }

    async fn create(&self, call: &Call, create: &Create<Parameters>) -> Result<Outcome<Self>, Failure> {
        let mut tokens = self.0.tokens.lock();
        let next = tokens.len();
        let name = tokens
            .entry(create.client_request_token.clone())
            .or_insert_with(|| format!("g-{next}"))
            .clone();
        drop(tokens);
        call.record_name(&name);
        if self.0.things.lock().contains_key(&name) {
            return Ok(Outcome::already_done().external_name(name));
        }
        self.0
            .create(&name, &call.target.ownership_marker, &create.desired.parameters)?;
        Ok(Outcome::completed().external_name(name))
    }

    async fn update(&self, call: &Call, update: &Update<Parameters>) -> Result<Outcome<Self>, Failure> {
        self.0
            .update(&call.target.external_name, &update.desired.parameters)?;
        Ok(Outcome::completed())
    }

    async fn delete(&self, call: &Call, _: &Delete<Parameters>) -> Result<Outcome<Self>, Failure> {
        Ok(self.0.delete(&call.target.external_name))
    }
}

async fn print_observed(cloud: Arc<Cloud>) {
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    loop {
        tick.tick().await;
        println!("observed {}", cloud.observed.load(Ordering::Relaxed));
    }
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let cloud = Arc::new(Cloud::default());
    tokio::spawn(print_observed(Arc::clone(&cloud)));
    Plugin::new(GROUP, env!("CARGO_PKG_VERSION"))
        .resource(Named(Arc::clone(&cloud)))
        .resource(Given(cloud))
        .serve()
        .await
}
