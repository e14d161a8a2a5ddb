//! Manifests, applied as soon as their kinds are served.

use std::time::{Duration, Instant};

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams, ValidationDirective},
    core::GroupVersionKind,
    discovery::{Scope, pinned_kind},
};

use super::progress::ProgressPrinter;
use crate::manifests::Document;

const FIELD_MANAGER: &str = "runtime-bridge-dev";
/// How long a kind may take until it is served: its plugin has to start, or its definition to be read, and its CRD to be created.
const SERVED_WITHIN: Duration = Duration::from_mins(1);
const ASK_EVERY: Duration = Duration::from_millis(200);

/// Why a manifest was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// Nobody serves the kind.
    #[error(
        "{origin}: no {kind} of {api_version} is served, {} s after the bridge was started; is the kind spelt as its plugin or \
         definition spells it, and does the plugin run?",
        SERVED_WITHIN.as_secs()
    )]
    NotServed {
        /// The file of the manifest, and which of its documents.
        origin: String,
        /// The kind that is not served.
        kind: String,
        /// The API version that it was asked for in.
        api_version: String,
    },
    /// The API server does not take it.
    #[error("{origin}: the API server rejects {kind} {name}: {message}")]
    Refused {
        /// The file of the manifest, and which of its documents.
        origin: String,
        /// The object's kind.
        kind: String,
        /// The object's name.
        name: String,
        /// The API server's words.
        message: String,
    },
    /// The API server cannot be asked.
    #[error("{origin}: cannot ask the API server: {cause}")]
    Unreachable {
        /// The file of the manifest, and which of its documents.
        origin: String,
        /// The error of the request.
        cause: kube::Error,
    },
}

/// Applies them one after the other.
pub async fn all(
    client: &Client,
    documents: &[Document],
    progress: ProgressPrinter,
) -> Result<(), ApplyError> {
    for document in documents {
        let Some(types) = &document.object.types else {
            continue;
        };
        let name = document.object.metadata.name.clone().unwrap_or_default();
        one(client, document, &types.api_version, &types.kind, &name).await?;
        progress.say(
            &format!("{} {name}", types.kind),
            &format!("applied ({})", document.origin),
        );
    }
    Ok(())
}

async fn one(
    client: &Client,
    document: &Document,
    api_version: &str,
    kind: &str,
    name: &str,
) -> Result<(), ApplyError> {
    let begun = Instant::now();
    let origin = || document.origin.clone();
    loop {
        let applied = match served(client, api_version, kind).await {
            Ok((resource, scope)) => apply(client, &document.object, &resource, &scope, name).await,
            Err(error) => Err(error),
        };
        match applied {
            Ok(()) => return Ok(()),
            // A kind that is not served, or not yet, though discovery names it already.
            Err(error) if is_unknown(&error) => {
                if begun.elapsed() >= SERVED_WITHIN {
                    let (kind, api_version) = (kind.to_owned(), api_version.to_owned());
                    return Err(ApplyError::NotServed {
                        origin: origin(),
                        kind,
                        api_version,
                    });
                }
                tokio::time::sleep(ASK_EVERY).await;
            }
            Err(kube::Error::Api(status)) => {
                let (kind, name, message) = (kind.to_owned(), name.to_owned(), status.message.clone());
                return Err(ApplyError::Refused {
                    origin: origin(),
                    kind,
                    name,
                    message,
                });
            }
            Err(cause) => {
                return Err(ApplyError::Unreachable {
                    origin: origin(),
                    cause,
                });
            }
        }
    }
}

async fn served(client: &Client, api_version: &str, kind: &str) -> Result<(ApiResource, Scope), kube::Error> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let (resource, capabilities) = pinned_kind(client, &GroupVersionKind::gvk(group, version, kind)).await?;
    Ok((resource, capabilities.scope))
}

async fn apply(
    client: &Client,
    object: &DynamicObject,
    resource: &ApiResource,
    scope: &Scope,
    name: &str,
) -> Result<(), kube::Error> {
    let api: Api<DynamicObject> = match (scope, &object.metadata.namespace) {
        (Scope::Cluster, _) => Api::all_with(client.clone(), resource),
        (Scope::Namespaced, Some(namespace)) => Api::namespaced_with(client.clone(), namespace, resource),
        (Scope::Namespaced, None) => Api::default_namespaced_with(client.clone(), resource),
    };
    // Strict: a field that is unknown is a mistake of the author's, not something to drop.
    let mut params = PatchParams::apply(FIELD_MANAGER).force();
    params.field_validation = Some(ValidationDirective::Strict);
    api.patch(name, &params, &Patch::Apply(object)).await.map(drop)
}

/// A missing namespace is "not found" too, and stays so.
fn is_unknown(error: &kube::Error) -> bool {
    match error {
        kube::Error::Discovery(_) => true,
        kube::Error::Api(status) => status.code == 404 && !status.message.starts_with("namespaces "),
        _ => false,
    }
}
