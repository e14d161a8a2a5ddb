//! Installs custom resource definitions, or only checks them.

mod established;

use std::time::Duration;

use bridge_core::crd::{MANAGED_BY, MANAGED_BY_LABEL, differences, is_noted, newer};
use http::{Method, Request, header};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    api_error::ApiError,
    client::ApiClient,
    object::{ApiType, Key, parse_version},
};

/// Field manager of what is applied.
pub const FIELD_MANAGER: &str = "crossbridge.dev/crds";

/// Between two looks at a definition that is not established yet.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How a definition of ours is found in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefinitionState {
    /// As it should be, and established.
    Good,
    /// There is none.
    Missing,
    /// It is otherwise: where, as JSON Pointers.
    Different(Vec<String>),
    /// As it should be, but the API server does not serve it: why.
    NotEstablished(String),
}

/// Why a definition was not installed or could not be checked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrdError {
    /// There is one that was not made by a bridge, and it is otherwise.
    #[error(
        "the CRD {name} exists, is different at {} and was not made by Crossbridge. Delete it if it is a leftover, hand it over \
         with `kubectl label crd {name} {MANAGED_BY_LABEL}={MANAGED_BY}`, or update it where it comes from and run with \
         --crds=check", at.join(", ")
    )]
    Foreign {
        /// Its name.
        name: String,
        /// Where, as JSON Pointers.
        at: Vec<String>,
    },
    /// It was applied, and is not served in time.
    #[error("the CRD {name} is not established after {} s: {why}", after.as_secs())]
    NotEstablished {
        /// Its name.
        name: String,
        /// What the API server says about it.
        why: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// The API server.
    #[error("cannot {verb} the CRD {name}: {source}")]
    Api {
        /// `apply` or `read`.
        verb: &'static str,
        /// Its name.
        name: String,
        /// Why.
        source: ApiError,
    },
    /// It is not as it should be, and this process does not lead.
    #[error("the CRD {name} is not as it should be yet: the bridge that leads installs it")]
    NotLeader {
        /// Its name.
        name: String,
    },
    /// What is to be installed has no name.
    #[error("a CRD without metadata.name cannot be installed")]
    NoName,
}

/// A definition that is as it should be, or newer, and established.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Brought {
    /// Its `resourceVersion`, when it was found so; 0: it has been changed since.
    pub version: u64,
    /// It was written for that.
    pub written: bool,
    /// It is otherwise, and was left so, as something newer wrote it: what, for people.
    pub newer: Option<String>,
}

/// What is to be done about a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// It is as it should be.
    Keep,
    /// It is otherwise, and newer.
    Leave(String),
    /// It is as it should be, but nothing says by whom: then an older bridge could take it back.
    Note,
    /// It is missing or otherwise.
    Write,
}

fn step(name: &str, definition: &Value, live: Option<&Value>) -> Result<Step, CrdError> {
    let Some(live) = live else {
        return Ok(Step::Write);
    };
    let at = differences(definition, live);
    let ours = live["metadata"]["labels"][MANAGED_BY_LABEL] == MANAGED_BY;
    match (at.is_empty(), ours) {
        (true, true) if !is_noted(definition, live) => Ok(Step::Note),
        (true, _) => Ok(Step::Keep),
        (false, false) => Err(CrdError::Foreign {
            name: name.to_owned(),
            at,
        }),
        (false, true) => Ok(newer(definition, live).map_or(Step::Write, Step::Leave)),
    }
}

/// Brings one definition into the cluster, and waits until it is established, but not longer than `limit`.
///
/// One that is as it should be is not written, and neither is one that notes a newer version of what it was made by. One that was not made by
/// a bridge is left alone: an error if it is otherwise. Only the fields given are applied, never `status`. `may_write` is asked before the
/// write: whether this process leads.
pub async fn bring(
    client: &ApiClient,
    definition: &Value,
    may_write: &(dyn Fn() -> bool + Sync),
    limit: Duration,
) -> Result<Brought, CrdError> {
    let end = Instant::now() + limit;
    let name = name(definition)?;
    let live = read(client, name).await?;
    let step = step(name, definition, live.as_ref())?;
    let written = match step {
        Step::Keep | Step::Leave(_) => false,
        Step::Note if !may_write() => false,
        Step::Write if !may_write() => {
            return Err(CrdError::NotLeader {
                name: name.to_owned(),
            });
        }
        Step::Note | Step::Write => {
            apply(client, name, definition, live.as_ref()).await?;
            true
        }
    };
    let now = match live {
        Some(live) if !written && established::is(&live) => live,
        _ => wait_established(client, name, end, limit).await?,
    };
    // What somebody made of it meanwhile was not judged: at no version is that good.
    let version = match self::step(name, definition, Some(&now))? {
        Step::Write => 0,
        Step::Keep | Step::Leave(_) | Step::Note => version(&now),
    };
    let newer = match step {
        Step::Leave(newer) => Some(newer),
        Step::Keep | Step::Note | Step::Write => None,
    };
    Ok(Brought {
        version,
        written,
        newer,
    })
}

/// Brings definitions into the cluster, whoever leads, as [`bring`] does with each.
pub async fn install(client: &ApiClient, definitions: &[Value], limit: Duration) -> Result<(), CrdError> {
    let end = Instant::now() + limit;
    for definition in definitions {
        let name = name(definition)?;
        let live = read(client, name).await?;
        match step(name, definition, live.as_ref())? {
            Step::Keep | Step::Leave(_) => {}
            Step::Note | Step::Write => apply(client, name, definition, live.as_ref()).await?,
        }
    }
    for definition in definitions {
        wait_established(client, name(definition)?, end, limit).await?;
    }
    Ok(())
}

/// Compares one definition with that in the cluster, and changes nothing; with the `resourceVersion` of that.
pub async fn inspect(client: &ApiClient, definition: &Value) -> Result<(DefinitionState, u64), CrdError> {
    let live = read(client, name(definition)?).await?;
    Ok(live.map_or((DefinitionState::Missing, 0), |live| {
        (compare(definition, &live), version(&live))
    }))
}

/// Compares definitions with those in the cluster, and changes nothing. In the order given, by name.
pub async fn check(
    client: &ApiClient,
    definitions: &[Value],
) -> Result<Vec<(String, DefinitionState)>, CrdError> {
    let mut found = Vec::with_capacity(definitions.len());
    for definition in definitions {
        let name = name(definition)?.to_owned();
        found.push((name, inspect(client, definition).await?.0));
    }
    Ok(found)
}

fn compare(definition: &Value, live: &Value) -> DefinitionState {
    let at = differences(definition, live);
    if !at.is_empty() {
        return DefinitionState::Different(at);
    }
    if established::is(live) {
        DefinitionState::Good
    } else {
        DefinitionState::NotEstablished(established::why_not(live))
    }
}

/// Over what was read, and nothing else: one that was changed, made anew or made meanwhile is a conflict.
async fn apply(
    client: &ApiClient,
    name: &str,
    definition: &Value,
    live: Option<&Value>,
) -> Result<(), CrdError> {
    let mut definition = definition.clone();
    // The API server's, `storedVersions` above all.
    if let Some(fields) = definition.as_object_mut() {
        fields.remove("status");
    }
    for field in ["uid", "resourceVersion"] {
        if let Some(live) = live {
            definition["metadata"][field] = live["metadata"][field].clone();
        }
    }
    // Without force, what others have set stays. An ordinary create would not do: its fields could not be taken back by applying less.
    let force = live.is_some();
    let request = path(name).and_then(|path| {
        Request::builder()
            .method(Method::PATCH)
            .uri(format!("{path}?fieldManager={FIELD_MANAGER}&force={force}"))
            .header(header::CONTENT_TYPE, "application/apply-patch+yaml")
            .body(definition.to_string().into_bytes())
            .map_err(|e| ApiError::Unusable(e.to_string()))
    });
    let failed = |source| CrdError::Api {
        verb: "apply",
        name: name.to_owned(),
        source,
    };
    let plural = ApiType::definitions().plural;
    client
        .call_text("apply", &plural, request.map_err(failed)?)
        .await
        .map(drop)
        .map_err(failed)
}

async fn wait_established(
    client: &ApiClient,
    name: &str,
    end: Instant,
    limit: Duration,
) -> Result<Value, CrdError> {
    loop {
        let why = match read(client, name).await? {
            Some(live) if established::is(&live) => return Ok(live),
            Some(live) => established::why_not(&live),
            None => "it was deleted".to_owned(),
        };
        if Instant::now() + POLL_INTERVAL > end {
            return Err(CrdError::NotEstablished {
                name: name.to_owned(),
                why,
                after: limit,
            });
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn read(client: &ApiClient, name: &str) -> Result<Option<Value>, CrdError> {
    let failed = |source| CrdError::Api {
        verb: "read",
        name: name.to_owned(),
        source,
    };
    let request = path(name).and_then(|path| {
        Request::get(path)
            .body(Vec::new())
            .map_err(|e| ApiError::Unusable(e.to_string()))
    });
    match client
        .call("get", &ApiType::definitions().plural, request.map_err(failed)?)
        .await
    {
        Ok(live) => Ok(Some(live)),
        Err(ApiError::NotFound(_)) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn version(live: &Value) -> u64 {
    parse_version(live["metadata"]["resourceVersion"].as_str()).unwrap_or_default()
}

fn path(name: &str) -> Result<String, ApiError> {
    let api = ApiType::definitions();
    Ok(api.object_path(&Key::new(api.kind.clone(), None, name))?)
}

fn name(definition: &Value) -> Result<&str, CrdError> {
    definition
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .ok_or(CrdError::NoName)
}

#[cfg(test)]
mod tests;
