//! Connection details: read for functions, and published for legacy composite resources.

use std::{collections::BTreeSet, sync::Arc};

use bridge_core::{
    composite::{
        Composite, Publication, PublishedSecret, RunFailure, SecretName, SecretVersions, WriteFailure,
        WriteFailureKind, own_secret, secret_of,
    },
    external::Secrets,
    function::{Observed, SecretData},
};
use futures::{StreamExt, stream};

use super::{objects::failure, reconciler::CompositeReconciler, secret_users::key};
use crate::{
    object::{Key, Object},
    secret::SecretError,
    write::{PublishError, Published},
};

/// Reads under way at once for one composite resource.
const READS: usize = 16;

impl CompositeReconciler {
    /// What is known of the Secrets that count for a composite resource, whose changes are its turn from now on.
    pub(super) fn see_secrets(&self, user: &Key, secrets: BTreeSet<SecretName>) -> SecretVersions {
        self.shared.secret_users.set(user, secrets.clone());
        let version = |secret: &SecretName| self.shared.secrets.version(&key(secret));
        secrets
            .into_iter()
            .map(|secret| {
                let version = version(&secret);
                (secret, version)
            })
            .collect()
    }

    /// The same with connection details. Of each object only those count that are in a Secret which it controls: whoever makes it may name any Secret.
    pub(super) async fn with_connection_details(
        &self,
        observed: Arc<Observed>,
    ) -> Result<Arc<Observed>, RunFailure> {
        let xr = Composite::parse(observed.composite.object.clone(), self.terms().scope);
        let own = own_secret(&xr).map(|secret| (None, xr.uid().to_owned(), secret));
        let composed = observed.resources.iter().filter_map(|(name, resource)| {
            let uid = resource.object["metadata"]["uid"].as_str()?;
            Some((Some(name.clone()), uid.to_owned(), secret_of(&resource.object)?))
        });
        let named: Vec<_> = own.into_iter().chain(composed).collect();
        if named.is_empty() {
            return Ok(observed);
        }
        let details: Vec<_> = stream::iter(named)
            .map(|(name, uid, secret)| async move { (name, self.controlled(&secret, &uid).await) })
            .buffer_unordered(READS)
            .collect()
            .await;
        let mut observed = Observed::clone(&observed);
        for (name, details) in details {
            let (resource, of) = match &name {
                None => (Some(&mut observed.composite), "the composite resource".to_owned()),
                Some(name) => (
                    observed.resources.get_mut(name),
                    format!("composed resource {name:?}"),
                ),
            };
            let details = details.map_err(|error| RunFailure::ConnectionDetails {
                of,
                why: error.to_string(),
            })?;
            if let Some(resource) = resource {
                resource.connection_details = details;
            }
        }
        Ok(Arc::new(observed))
    }

    /// What is in a Secret that the object with this uid controls.
    async fn controlled(&self, secret: &SecretName, uid: &str) -> Result<SecretData, SecretError> {
        match self.shared.secrets.read(&secret.namespace, &secret.name).await {
            Ok(secret) if secret.controller.as_deref() == Some(uid) => Ok(SecretData(secret.data.0.clone())),
            Ok(_) | Err(SecretError::NotFound { .. }) => Ok(SecretData::default()),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn publish(
        &self,
        xr: &Object,
        publication: &Publication,
    ) -> Result<PublishedSecret, WriteFailure> {
        let data = Secrets(publication.data.0.clone());
        let secrets = &self.shared.connection_secrets;
        match secrets.publish(xr, &key(&publication.secret), &data).await {
            Ok((published, version)) => Ok(PublishedSecret {
                version,
                changed: published != Published::Unchanged,
            }),
            Err(PublishError::Api(error)) => Err(failure(&error)),
            Err(foreign @ (PublishError::NotControlled { .. } | PublishError::Uncontrolled { .. })) => {
                Err(WriteFailure {
                    kind: WriteFailureKind::Rejected,
                    message: foreign.to_string(),
                })
            }
        }
    }
}
