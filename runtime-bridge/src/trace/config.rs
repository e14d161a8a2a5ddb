//! A ProviderConfig: how it stands, where its credentials are, and who refers to it.

use std::sync::Arc;

use bridge_core::{
    crd::{CLUSTER_PROVIDER_CONFIG, PROVIDER_CONFIG},
    managed::Status,
};
use bridge_engine::{
    config::{SecretSource, referenced_config, secret_of},
    object::Object,
    secret::SecretError,
};
use jiff::Timestamp;

use super::{
    facts::{condition, title},
    tree::Tree,
};
use crate::object_lookup::Reader;

/// So many objects are named.
const NAMED: usize = 20;

/// Whether the object is a config and not a resource.
pub(super) fn is_config(object: &Object) -> bool {
    [PROVIDER_CONFIG, CLUSTER_PROVIDER_CONFIG].contains(&object.api.kind.kind())
}

/// What is known of it.
pub(super) async fn tree(config: &Object, reader: &Reader) -> Tree {
    let now = Timestamp::now();
    let conditions = Status::read(config.status_value()).conditions;
    let conditions = match conditions.as_slice() {
        [] => Tree::new("conditions: none yet"),
        all => Tree::new("conditions").with(all.iter().map(|one| condition(one, config.generation(), now))),
    };
    Tree::new(title(config))
        .with([conditions, credentials(config, reader).await])
        .with(users(config, reader).await)
}

async fn credentials(config: &Object, reader: &Reader) -> Tree {
    let Some(secret) = secret_of(config) else {
        return Tree::new("credentials: of no Secret");
    };
    let namespace = secret.namespace().unwrap_or_default();
    let stands = match SecretSource::read(reader, namespace, secret.name()).await {
        Ok(_) => "exists".to_owned(),
        Err(SecretError::NotFound { .. }) => "does not exist".to_owned(),
        Err(SecretError::Api { source, .. }) => format!("cannot be read: {source}"),
    };
    Tree::new(format!(
        "credentials: Secret {namespace}/{}: {stands}",
        secret.name()
    ))
}

/// The objects that refer to it, and the kinds that cannot be listed.
async fn users(config: &Object, reader: &Reader) -> Vec<Tree> {
    let plugin = config.api.kind.group();
    let (mut users, mut failed) = (Vec::new(), Vec::new());
    for api in reader.users_of(plugin) {
        let api = Arc::new(api);
        match reader.objects(&api).await {
            Err(error) => failed.push(Tree::new(format!(
                "users of kind {}: not known: {error}",
                api.kind
            ))),
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
    let line = match users.len() {
        0 => Tree::new("used by: nothing"),
        count => Tree::new(format!("used by {count} object(s)")),
    };
    let more = users.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| Tree::new(format!("and {more} more")));
    let named = users.into_iter().take(NAMED).map(Tree::new);
    std::iter::once(line.with(named).with(more))
        .chain(failed)
        .collect()
}

fn name(object: &Object) -> String {
    let kind = object.api.kind.kind();
    match object.namespace() {
        Some(namespace) => format!("{kind} {namespace}/{}", object.name()),
        None => format!("{kind} {}", object.name()),
    }
}
