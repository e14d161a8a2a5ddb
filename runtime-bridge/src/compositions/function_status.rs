//! Writes how functions fare into their `Function`s, as a package manager would: `kubectl get functions` shows it.

use std::{collections::BTreeMap, time::Duration};

use bridge_core::function::{Health, Standing, package_status};
use bridge_engine::{api_error::ApiError, engine::Engine, lease::Leadership, object::Object};
use bridge_function::{Client, FunctionState};
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::endpoints::EndpointSources;

/// How often it is looked how functions fare. What has not changed is not written.
const LOOK: Duration = Duration::from_secs(5);
/// What could not be written is tried again after this: rights may be lacking, or a policy forbids it.
const AGAIN: Duration = Duration::from_mins(1);

/// Writes the status of each `Function` that no package manager looks after, while this process leads and as long as it is polled.
pub async fn report_functions(
    engine: &Engine,
    sources: &EndpointSources<'_>,
    client: &Client,
    leadership: &Leadership,
) {
    let mut held: BTreeMap<String, Instant> = BTreeMap::new();
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        look.tick().await;
        if !leadership.leads() {
            continue;
        }
        let functions = sources.functions();
        if functions.is_empty() {
            continue;
        }
        let states = client.functions().into_iter();
        let states: BTreeMap<String, FunctionState> =
            states.map(|state| (state.name.clone(), state)).collect();
        let revisions: Vec<Value> = sources.revisions();
        for function in functions {
            let Some(state) = states.get(function.name()) else {
                continue;
            };
            if held
                .get(function.name())
                .is_some_and(|until| Instant::now() < *until)
            {
                continue;
            }
            let standing = standing(state);
            let Some(status) =
                package_status(&function.to_value(), &revisions, &standing, engine.clock.now())
            else {
                continue;
            };
            let mut reported = Object::clone(&function);
            reported.set_status(&Value::Object(status));
            match engine.writer.put_status(&reported).await {
                Ok(_) => drop(held.remove(function.name())),
                // A newer version is on its way.
                Err(ApiError::Conflict(_)) => {}
                Err(error) => {
                    tracing::warn!(function = function.name(), %error, "cannot write how a function fares, will retry");
                    held.insert(function.name().to_owned(), Instant::now() + AGAIN);
                }
            }
        }
    }
}

fn standing(state: &FunctionState) -> Standing {
    let health = match &state.held {
        Some((since, why)) => Health::Silent(format!("it has not answered since {since}: {why}")),
        None if state.has_answered => Health::Answers,
        None => Health::Unknown,
    };
    Standing {
        endpoint: state.endpoint.as_ref().map(drop).map_err(Clone::clone),
        health,
    }
}
