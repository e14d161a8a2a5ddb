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

use super::{objects::failure, reconciler::CompositeReconciler, secret_users::key};
use crate::{
    api_error::ApiError,
    object::{Key, Object},
    secret::SecretError,
    write::{PublishError, Published},
};

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

    /// The same with connection details. Of a composite resource only those count that it publishes itself: whoever makes one may name any Secret.
    pub(super) async fn with_connection_details(
        &self,
        observed: Arc<Observed>,
    ) -> Result<Arc<Observed>, RunFailure> {
        let xr = Composite::parse(observed.composite.object.clone(), self.terms().scope);
        let mut named = Vec::new();
        for (name, resource) in &observed.resources {
            named.extend(secret_of(&resource.object).map(|secret| (name.clone(), secret)));
        }
        let own = own_secret(&xr);
        if named.is_empty() && own.is_none() {
            return Ok(observed);
        }
        let mut observed = Observed::clone(&observed);
        if let Some(secret) = own {
            let details = self
                .shared
                .connection_secrets
                .controlled(&key(&secret), xr.uid())
                .await;
            let details = details.map_err(|error| failed("the composite resource".to_owned(), &error))?;
            observed.composite.connection_details = SecretData(details.unwrap_or_default());
        }
        for (name, secret) in named {
            let details = match self.shared.secrets.read(&secret.namespace, &secret.name).await {
                Ok(secret) => SecretData(secret.data.0.clone()),
                Err(SecretError::NotFound { .. }) => continue,
                Err(error) => return Err(failed(format!("composed resource {name:?}"), &error)),
            };
            if let Some(resource) = observed.resources.get_mut(&name) {
                resource.connection_details = details;
            }
        }
        Ok(Arc::new(observed))
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

    /// What nobody may delete is left to the garbage collector.
    pub(super) async fn delete_secret(&self, xr: &Object, secret: &SecretName) -> Result<(), ApiError> {
        let secrets = &self.shared.connection_secrets;
        match secrets.delete_controlled(&key(secret), xr.uid()).await {
            Err(error) if error.is_refusal() => {
                tracing::warn!(object = %xr.key(), %secret, %error, "the connection Secret is left to the garbage collector");
                Ok(())
            }
            done => done,
        }
    }
}

fn failed(of: String, error: &dyn std::error::Error) -> RunFailure {
    RunFailure::ConnectionDetails {
        of,
        why: error.to_string(),
    }
}
