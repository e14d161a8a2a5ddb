//! Requests: read from their path, carried out on the state.

mod delete;
pub(crate) mod form;
pub(crate) mod namespaces;
mod patch;
mod write;

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Method, header, request::Parts};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    fault::Request,
    reply::{ErrorReply, Reply, bad_request, method_not_allowed, not_found, not_implemented, not_served, ok},
    resource::Resource,
    state::{ClusterState, StorageKey},
};

/// What a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Version,
    Discovery,
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Discovery => "discovery",
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }
}

/// One request, read from its path, query, headers and body.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) verb: Verb,
    group: String,
    version: String,
    pub(crate) plural: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    subresource: String,
    query: BTreeMap<String, String>,
    content_type: String,
    pub(crate) metadata_only: bool,
    body: Bytes,
}

impl Call {
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.parameter(name)?.parse().ok()
    }

    pub(crate) fn is_of(&self, resource: &Resource) -> bool {
        (&self.group, &self.version, &self.plural) == (&resource.group, &resource.version, &resource.plural)
    }

    /// Of discovery: the core group is asked for, and not all others.
    pub(crate) fn is_of_core(&self) -> bool {
        self.group == "api"
    }

    /// The request as chaos sees it, sent at this revision.
    pub(crate) fn told(&self, revision: u64) -> Request {
        let names = |precondition: &str| {
            let options = || self.json().unwrap_or_default();
            self.verb == Verb::Delete && options()["preconditions"][precondition].is_string()
        };
        Request {
            verb: self.verb.word(),
            resource: self.plural.clone(),
            subresource: self.subresource.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            names_uid: names("uid"),
            names_version: names("resourceVersion"),
            revision,
        }
    }

    /// A list that may come from a cache, however old.
    pub(crate) fn takes_any_version(&self) -> bool {
        self.verb == Verb::List && self.parameter("resourceVersion") == Some("0")
    }

    fn storage_key(&self) -> StorageKey {
        (self.namespace.clone(), self.name.clone())
    }

    fn manager(&self) -> &str {
        self.parameter("fieldManager").unwrap_or_default()
    }

    fn applies(&self) -> bool {
        self.content_type.starts_with("application/apply-patch")
    }

    /// The same, with this kind where the object holds none.
    pub(crate) fn completed(&self, resource: &Resource) -> Self {
        let mut call = self.clone();
        if self.verb == Verb::Create
            && let Ok(Value::Object(mut object)) = self.json()
        {
            let kind = Value::from(resource.kind.as_str());
            object.entry("kind").or_insert(kind);
            object
                .entry("apiVersion")
                .or_insert(resource.api_version().into());
            call.body = Value::Object(object).to_string().into_bytes().into();
        }
        call
    }

    fn json(&self) -> Result<Value, ErrorReply> {
        serde_json::from_slice(&self.body).map_err(|error| bad_request(&error.to_string()))
    }
}

/// Parses a request of Kubernetes' API; an unknown path is the API server's own 404.
pub(crate) fn read(head: &Parts, body: &Bytes) -> Result<Call, ErrorReply> {
    let parts: Vec<&str> = head.uri.path().trim_matches('/').split('/').collect();
    if let [root @ ("api" | "apis")] = parts.as_slice() {
        return discovery(root, head);
    }
    let (group, version, rest) = match parts.as_slice() {
        ["version"] => ("", "", &[] as &[&str]),
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return Err(not_served()),
    };
    let (namespace, rest) = match rest {
        // A namespace itself.
        ["namespaces"] | ["namespaces", _] | ["namespaces", _, "finalize" | "status"] => ("", rest),
        ["namespaces", namespace, rest @ ..] => (*namespace, rest),
        rest => ("", rest),
    };
    let (plural, name, subresource) = match rest {
        [] => ("", "", ""),
        [plural] => (*plural, "", ""),
        [plural, name] => (*plural, *name, ""),
        [plural, name, subresource] => (*plural, *name, *subresource),
        _ => return Err(not_served()),
    };
    let query: BTreeMap<String, String> =
        form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes())
            .into_owned()
            .collect();
    let watching = query
        .get("watch")
        .is_some_and(|watch| watch == "true" || watch == "1");
    let verb = match (&head.method, name.is_empty()) {
        (&Method::GET, _) if plural.is_empty() => Verb::Version,
        (&Method::GET, true) if watching => Verb::Watch,
        (&Method::GET, true) => Verb::List,
        (&Method::GET, false) => Verb::Get,
        (&Method::POST, true) => Verb::Create,
        (&Method::PUT, false) => Verb::Update,
        (&Method::PATCH, false) => Verb::Patch,
        (&Method::DELETE, false) => Verb::Delete,
        _ => return Err(not_implemented("this fake does not know the method here")),
    };
    let finalizes = plural == "namespaces" && subresource == "finalize" && verb == Verb::Update;
    if !finalizes && !matches!(subresource, "" | "status") {
        return Err(not_implemented("this fake knows no such subresource"));
    }
    let text = |name| {
        let value = head.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    Ok(Call {
        verb,
        group: group.to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
        query,
        content_type: text(header::CONTENT_TYPE),
        metadata_only: text(header::ACCEPT).contains("as=PartialObjectMetadata"),
        body: body.clone(),
    })
}

/// Only the aggregated document is known.
fn discovery(root: &str, head: &Parts) -> Result<Call, ErrorReply> {
    let accepts = head
        .headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    let aggregated = accepts.is_some_and(|accepts| accepts.contains("as=APIGroupDiscoveryList"));
    if head.method != Method::GET || !aggregated {
        return Err(not_implemented("this fake knows aggregated discovery alone"));
    }
    Ok(Call {
        verb: Verb::Discovery,
        group: root.to_owned(),
        version: String::new(),
        plural: "discovery".to_owned(),
        namespace: String::new(),
        name: String::new(),
        subresource: String::new(),
        query: BTreeMap::new(),
        content_type: String::new(),
        metadata_only: false,
        body: Bytes::new(),
    })
}

/// Carries out everything but watches.
pub(crate) fn carry_out(state: &mut ClusterState, resource: &Resource, call: &Call, now: Timestamp) -> Reply {
    if let Err(refusal) = serves(resource, call) {
        return refusal.into();
    }
    // Of a dry run nothing stays but the answer.
    if call.parameter("dryRun") == Some("All") {
        let mut call = call.clone();
        call.query.remove("dryRun");
        return carry_out(&mut state.clone(), resource, &call, now);
    }
    let answered = match call.verb {
        Verb::Get => get(state, resource, call),
        Verb::List => list(state, resource, call),
        Verb::Create => write::create(state, resource, call, now),
        Verb::Update => write::update(state, resource, call, now),
        Verb::Patch => write::patch(state, resource, call, now),
        Verb::Delete => delete::delete(state, resource, call, now),
        Verb::Version | Verb::Discovery | Verb::Watch => Err(not_implemented("answered elsewhere")),
    };
    answered.unwrap_or_else(Reply::from)
}

/// Without the subresource, `/status` of any name is answered as if the object were not there.
fn serves(resource: &Resource, call: &Call) -> Result<(), ErrorReply> {
    if resource.custom && call.subresource == "status" {
        if !resource.has_status {
            return Err(not_found(resource, &call.name));
        }
        if call.verb == Verb::Delete {
            return Err(method_not_allowed(resource, call.verb.word()));
        }
    }
    Ok(())
}

fn get(state: &ClusterState, resource: &Resource, call: &Call) -> Result<Reply, ErrorReply> {
    let object = state
        .objects
        .get(&resource.id())
        .and_then(|objects| objects.get(&call.storage_key()))
        .ok_or_else(|| not_found(resource, &call.name))?;
    Ok(ok(
        200,
        if call.metadata_only {
            metadata_only(object)
        } else {
            form::shown(resource, object)
        },
    ))
}

/// A page begins where the former one ended.
fn list(state: &ClusterState, resource: &Resource, call: &Call) -> Result<Reply, ErrorReply> {
    if call.query.contains_key("labelSelector") || call.query.contains_key("fieldSelector") {
        return Err(not_implemented("this fake knows no selectors"));
    }
    let limit = call
        .number("limit")
        .filter(|limit| *limit > 0)
        .unwrap_or(u64::MAX);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let after = match call.parameter("continue").filter(|token| !token.is_empty()) {
        None => None,
        Some(token) => {
            let parts = token.split_once('/');
            let (namespace, name) = parts.ok_or_else(|| bad_request("a malformed continue token"))?;
            Some((namespace.to_owned(), name.to_owned()))
        }
    };
    let matching: Vec<(&StorageKey, &Value)> = state
        .objects
        .get(&resource.id())
        .into_iter()
        .flatten()
        .filter(|(storage_key, _)| call.namespace.is_empty() || call.namespace == storage_key.0)
        .filter(|(storage_key, _)| after.as_ref().is_none_or(|after| *storage_key > after))
        .collect();
    let mut metadata = json!({"resourceVersion": state.revision.to_string()});
    if matching.len() > limit
        && let Some(((namespace, name), _)) = matching.get(limit - 1)
    {
        metadata["continue"] = format!("{namespace}/{name}").into();
    }
    let items: Vec<Value> = matching
        .into_iter()
        .take(limit)
        .map(|(_, object)| {
            if call.metadata_only {
                metadata_only(object)
            } else {
                form::shown(resource, object)
            }
        })
        .collect();
    Ok(ok(
        200,
        json!({
            "apiVersion": resource.api_version(),
            "kind": format!("{}List", resource.kind),
            "metadata": metadata,
            "items": items,
        }),
    ))
}

pub(crate) fn metadata_only(object: &Value) -> Value {
    json!({
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": object["metadata"],
    })
}
