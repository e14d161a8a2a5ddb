//! Installs custom resource definitions, or only checks them.

mod error;
pub(crate) mod established;
pub(crate) mod write_pace;

use std::time::Duration;

use bridge_core::crd::{MANAGED_BY, MANAGED_BY_LABEL, differences, is_noted, newer, other_owner, serves_all};
use http::{Method, Request, header};
use serde_json::Value;
use tokio::time::Instant;

pub use self::error::CrdError;
use crate::{
    api_error::ApiError,
    client::ApiClient,
    object::{ApiType, Key, parse_version},
};

/// Field manager of definitions.
pub const FIELD_MANAGER: &str = "crossbridge.dev/crds";

/// Between two reads of a definition that is not established yet.
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

/// Whether this process may write definitions now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayWrite {
    /// It leads.
    Yes,
    /// It leads, and there was this one a moment ago: one that is missing was deleted, and is not created at once.
    Update,
    /// It leads, and has written this one a moment ago.
    Later,
    /// It does not lead.
    NotLeader,
    /// It only checks.
    Never,
}

/// A definition that is as it should be, or newer, and established.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Brought {
    /// Its `resourceVersion`, when it was found so; 0: what was stored is not what was sent.
    pub version: u64,
    /// It is otherwise, and was left so, as something newer wrote it: what, for people.
    pub newer: Option<String>,
    /// It lacks our notes, which could not be written: to be tried again.
    pub lacks_notes: bool,
}

/// What came of bringing a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bringing {
    /// It was written, or may have been.
    pub written: bool,
    /// What it was found to be, or why it is of no use.
    pub found: Result<Brought, CrdError>,
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
    if let Some(owner) = other_owner(definition, live) {
        return Err(CrdError::OtherPlugin {
            name: name.to_owned(),
            owner: owner.to_owned(),
        });
    }
    let at = differences(definition, live);
    let ours = live["metadata"]["labels"][MANAGED_BY_LABEL] == MANAGED_BY;
    match (at.is_empty(), ours) {
        // Both versions are written at once, and neither may be lowered.
        (true, true) if newer(definition, live).is_none() && !is_noted(definition, live) => Ok(Step::Note),
        (true, _) => Ok(Step::Keep),
        (false, false) => Err(CrdError::Foreign {
            name: name.to_owned(),
            at,
        }),
        (false, true) => Ok(newer(definition, live).map_or(Step::Write, Step::Leave)),
    }
}

/// Brings one definition into the cluster: by one read, and at most one write. Whether it is established is judged by what was read or written;
/// it is not waited for.
///
/// One that is as it should be is not written, and neither is one that notes a newer version of what it was made by. One that was not made by
/// a bridge is left alone: an error if it is otherwise. Only the fields given are written, never `status`, and only over what was read.
/// `may_write` is asked right before the write.
pub async fn bring(
    client: &ApiClient,
    definition: &Value,
    may_write: &(dyn Fn() -> MayWrite + Sync),
) -> Bringing {
    let mut written = false;
    let found = bring_by(client, definition, may_write, &mut written).await;
    Bringing { written, found }
}

async fn bring_by(
    client: &ApiClient,
    definition: &Value,
    may_write: &(dyn Fn() -> MayWrite + Sync),
    written: &mut bool,
) -> Result<Brought, CrdError> {
    let name = name(definition)?;
    let live = read(client, name).await?;
    let step = match (step(name, definition, live.as_ref()), &live) {
        // Nothing is written over it, whoever made it.
        (Err(CrdError::Foreign { .. }), Some(live)) if may_write() == MayWrite::Never => {
            newer(definition, live).map_or(Step::Write, Step::Leave)
        }
        (step, _) => step?,
    };
    let mut brought = Brought::default();
    let now = match (step, live) {
        (Step::Keep, Some(live)) => live,
        (Step::Leave(newer), Some(live)) => {
            if !serves_all(definition, &live) {
                let name = name.to_owned();
                return Err(CrdError::VersionNotServed { name, newer });
            }
            brought.newer = Some(newer);
            live
        }
        (Step::Note, Some(live)) if !matches!(may_write(), MayWrite::Yes | MayWrite::Update) => live,
        (Step::Note, Some(live)) => match update(client, name, &noted(definition, &live)).await {
            Ok(now) => {
                *written = true;
                now
            }
            Err(error) => {
                // The kind can be served without: an older bridge may take the CRD back meanwhile, no more.
                let is_conflict = matches!(
                    error,
                    CrdError::Api {
                        source: ApiError::Conflict(_),
                        ..
                    }
                );
                if is_conflict {
                    // The API server itself writes to a CRD that is new; what it wrote is inspected.
                    tracing::debug!(crd = name, "a CRD changed while versions were to be noted on it");
                } else {
                    tracing::warn!(crd = name, %error, "failed to note versions on a CRD that is as it should be, will retry");
                }
                brought.lacks_notes = true;
                live
            }
        },
        (_, live) => {
            may_be_written(name, definition, live.as_ref(), may_write())?;
            let answer = match live {
                Some(live) => update(client, name, &replaced(definition, &live)).await,
                None => create(client, name, definition).await,
            };
            *written = answer.as_ref().map_or_else(is_unknown, |_| true);
            answer?
        }
    };
    if !established::is(&now) {
        return Err(CrdError::NotEstablished {
            name: name.to_owned(),
            why: established::why_not(&now),
        });
    }
    // What an admission webhook made of it was not judged: at no version is that good.
    let is_judged = !*written || differences(definition, &now).is_empty();
    brought.version = if is_judged { version(&now) } else { 0 };
    Ok(brought)
}

fn may_be_written(
    name: &str,
    definition: &Value,
    live: Option<&Value>,
    may_write: MayWrite,
) -> Result<(), CrdError> {
    let name = name.to_owned();
    match (may_write, live) {
        (MayWrite::Yes, _) | (MayWrite::Update, Some(_)) => Ok(()),
        (MayWrite::Update, None) => Err(CrdError::Deleted { name }),
        (MayWrite::Later, _) => Err(CrdError::Paused { name }),
        (MayWrite::NotLeader, _) => Err(CrdError::NotLeader { name }),
        (MayWrite::Never, None) => Err(CrdError::Missing { name }),
        (MayWrite::Never, Some(live)) => Err(CrdError::Different {
            name,
            at: differences(definition, live),
        }),
    }
}

fn is_unknown(error: &CrdError) -> bool {
    matches!(error, CrdError::Api { source, .. } if source.may_have_taken_effect())
}

/// Brings definitions into the cluster, whoever leads, as [`bring`] does with each, and waits until all are established, but not longer than
/// `limit`.
pub async fn install(client: &ApiClient, definitions: &[Value], limit: Duration) -> Result<(), CrdError> {
    let end = Instant::now() + limit;
    let mut waiting: Vec<&Value> = definitions.iter().collect();
    loop {
        let mut still = Vec::new();
        let mut why = None;
        for definition in waiting {
            match bring(client, definition, &|| MayWrite::Yes).await.found {
                Ok(_) => {}
                Err(error @ CrdError::NotEstablished { .. }) => {
                    still.push(definition);
                    why = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        match why {
            None => return Ok(()),
            Some(error) if Instant::now() + POLL_INTERVAL > end => return Err(error),
            Some(_) => tokio::time::sleep(POLL_INTERVAL).await,
        }
        waiting = still;
    }
}

/// Creates a definition where there is none of its name. Whether it was created: one that exists is left as it is, whoever made it.
pub async fn create_missing(client: &ApiClient, definition: &Value) -> Result<bool, CrdError> {
    match create(client, name(definition)?, definition).await {
        Ok(_) => Ok(true),
        Err(CrdError::Api {
            source: ApiError::AlreadyExists(_),
            ..
        }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Compares definitions with those in the cluster, and changes nothing. In the order given, by name.
pub async fn check(
    client: &ApiClient,
    definitions: &[Value],
) -> Result<Vec<(String, DefinitionState)>, CrdError> {
    let mut found = Vec::with_capacity(definitions.len());
    for definition in definitions {
        let name = name(definition)?;
        let live = read(client, name).await?;
        let state = live.map_or(DefinitionState::Missing, |live| compare(definition, &live));
        found.push((name.to_owned(), state));
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

/// What was read, with our notes: by them a bridge knows its own, and an older one lets it be.
fn noted(definition: &Value, live: &Value) -> Value {
    let mut noted = live.clone();
    for field in ["labels", "annotations"] {
        for (name, value) in definition["metadata"][field].as_object().into_iter().flatten() {
            noted["metadata"][field][name] = value.clone();
        }
    }
    noted
}

/// What was read, with the fields that are ours as they should be. Everything else stays: `status`, and what others have set.
fn replaced(definition: &Value, live: &Value) -> Value {
    let mut replaced = noted(definition, live);
    for (field, value) in definition["spec"].as_object().into_iter().flatten() {
        replaced["spec"][field] = value.clone();
    }
    replaced
}

/// One that was made meanwhile is a conflict.
async fn create(client: &ApiClient, name: &str, definition: &Value) -> Result<Value, CrdError> {
    let mut definition = definition.clone();
    // The API server's, `storedVersions` above all.
    if let Some(fields) = definition.as_object_mut() {
        fields.remove("status");
    }
    let collection = ApiType::definitions().collection_path(None);
    send(client, "create", Method::POST, name, Ok(collection), &definition).await
}

/// Over the version that was read, and nothing else: one that was changed or made anew meanwhile is a conflict.
async fn update(client: &ApiClient, name: &str, definition: &Value) -> Result<Value, CrdError> {
    send(client, "update", Method::PUT, name, path(name), definition).await
}

async fn send(
    client: &ApiClient,
    verb: &'static str,
    method: Method,
    name: &str,
    path: Result<String, ApiError>,
    body: &Value,
) -> Result<Value, CrdError> {
    let failed = |source| CrdError::Api {
        verb,
        name: name.to_owned(),
        source,
    };
    let request = path.and_then(|path| {
        Request::builder()
            .method(method)
            .uri(format!("{path}?fieldManager={FIELD_MANAGER}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_string().into_bytes())
            .map_err(|e| ApiError::Unusable(e.to_string()))
    });
    let plural = ApiType::definitions().plural;
    client
        .call(verb, &plural, request.map_err(failed)?)
        .await
        .map_err(failed)
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
