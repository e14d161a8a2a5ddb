//! A ProviderConfig: how it stands, where its credentials are, and who refers to it.

use std::sync::Arc;

use bridge_core::{
    crd::{CLUSTER_PROVIDER_CONFIG, PROVIDER_CONFIG},
    managed::{Condition, Status},
};
use bridge_engine::{
    config::{SecretSource, referenced_config, secret_of},
    object::Object,
    secret::SecretError,
};
use jiff::Timestamp;
use serde::Serialize;

use super::{
    facts::{condition, title},
    tree::Tree,
    view::Header,
};
use crate::object_lookup::Reader;

/// So many objects are named.
const NAMED: usize = 20;

/// Whether the object is a config and not a resource.
pub(super) fn is_config(object: &Object) -> bool {
    [PROVIDER_CONFIG, CLUSTER_PROVIDER_CONFIG].contains(&object.api.kind.kind())
}

/// What is known of a config.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConfigFacts<'a> {
    #[serde(skip)]
    config: &'a Object,
    object: Header<'a>,
    conditions: Vec<Condition>,
    credentials: Option<Credentials>,
    /// The objects that refer to it.
    users: Vec<String>,
    /// The kinds that cannot be listed, and why: there may be more users.
    unknown_kinds: Vec<String>,
}

/// The Secret that holds its credentials.
#[derive(Serialize)]
struct Credentials {
    namespace: String,
    name: String,
    /// For people.
    state: String,
}

impl<'a> ConfigFacts<'a> {
    pub(super) async fn gather(config: &'a Object, reader: &Reader) -> Self {
        let (users, unknown_kinds) = users(config, reader).await;
        Self {
            config,
            object: Header::of(config),
            conditions: Status::read(config.status_value()).conditions,
            credentials: Credentials::of(config, reader).await,
            users,
            unknown_kinds,
        }
    }

    pub(super) fn tree(&self, now: Timestamp) -> Tree {
        let conditions = match self.conditions.as_slice() {
            [] => Tree::new("conditions: none yet"),
            all => Tree::new("conditions").with(
                all.iter()
                    .map(|one| condition(one, self.config.generation(), now)),
            ),
        };
        let credentials = match &self.credentials {
            None => "credentials: of no Secret".to_owned(),
            Some(Credentials {
                namespace,
                name,
                state,
            }) => format!("credentials: Secret {namespace}/{name}: {state}"),
        };
        Tree::new(title(self.config))
            .with([conditions, Tree::new(credentials), self.used_by()])
            .with(self.unknown_kinds.iter().map(|line| Tree::new(line.as_str())))
    }

    fn used_by(&self) -> Tree {
        let line = match self.users.len() {
            0 => Tree::new("used by: nothing"),
            count => Tree::new(format!("used by {count} object(s)")),
        };
        let more = self.users.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| Tree::new(format!("and {more} more")));
        let named = self.users.iter().take(NAMED);
        line.with(named.map(|name| Tree::new(name.as_str()))).with(more)
    }
}

impl Credentials {
    async fn of(config: &Object, reader: &Reader) -> Option<Self> {
        let secret = secret_of(config)?;
        let namespace = secret.namespace().unwrap_or_default();
        let state = match SecretSource::read(reader, namespace, secret.name()).await {
            Ok(_) => "exists".to_owned(),
            Err(SecretError::NotFound { .. }) => "does not exist".to_owned(),
            Err(SecretError::Api { source, .. }) => format!("cannot be read: {source}"),
        };
        Some(Self {
            namespace: namespace.to_owned(),
            name: secret.name().to_owned(),
            state,
        })
    }
}

/// The objects that refer to it, and the kinds that cannot be listed.
async fn users(config: &Object, reader: &Reader) -> (Vec<String>, Vec<String>) {
    let plugin = config.api.kind.group();
    let (mut users, mut failed) = (Vec::new(), Vec::new());
    for api in reader.users_of(plugin) {
        let api = Arc::new(api);
        match reader.objects(&api).await {
            Err(error) => failed.push(format!("users of kind {}: not known: {error}", api.kind)),
            Ok(objects) => {
                let objects = objects.iter();
                let objects = objects.filter_map(|object| Object::decode(&api, &object.to_string()).ok());
                let refers = |object: &Object| {
                    referenced_config(plugin, object).is_ok_and(|used| used == config.key())
                };
                users.extend(objects.filter(refers).map(|object| name(&object)));
            }
        }
    }
    (users, failed)
}

fn name(object: &Object) -> String {
    let kind = object.api.kind.kind();
    match object.namespace() {
        Some(namespace) => format!("{kind} {namespace}/{}", object.name()),
        None => format!("{kind} {}", object.name()),
    }
}
