//! Why a config cannot be used.

use bridge_core::{
    external::{CallError, Failure},
    managed::Problem,
    reasons::{ProblemReason, Reason},
};

use super::HostError;
use crate::{api_error::ApiError, object::Key, secret::SecretError};

/// Why a config cannot be used. Texts hold no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The managed resource does not say which.
    #[error("spec.providerConfigRef is invalid: {why}")]
    InvalidReference {
        /// What is wrong with it.
        why: String,
    },
    /// There is none of that name.
    #[error(
        "{} does not exist: create it, or name another in spec.providerConfigRef",
        named(config)
    )]
    NotFound {
        /// Which.
        config: Key,
    },
    /// The API server.
    #[error("cannot read {}: {source}", named(config))]
    NotRead {
        /// Which.
        config: Key,
        /// Why not.
        source: ApiError,
    },
    /// Its settings or credentials are not of the form that they must have.
    #[error("{} is invalid: {why}", named(config))]
    Invalid {
        /// Which.
        config: Key,
        /// What is wrong with it.
        why: String,
    },
    /// The Secret that it names cannot be read.
    #[error("{} cannot get its credentials: {source}{}", named(config), to_create(source))]
    Secret {
        /// Which config.
        config: Key,
        /// Why not.
        source: SecretError,
    },
    /// The Secret lacks the key.
    #[error(
        "{} refers to key {key:?} of the Secret {secret}, which has no such key: add it, or correct spec.credentials",
        named(config)
    )]
    SecretKeyMissing {
        /// Which config.
        config: Key,
        /// `namespace/name` of the Secret.
        secret: String,
        /// The key.
        key: String,
    },
    /// The variable or file cannot be read.
    #[error(
        "{} cannot get its credentials from where the bridge runs: {source}",
        named(config)
    )]
    Host {
        /// Which config.
        config: Key,
        /// Why not.
        source: HostError,
    },
    /// A config of a namespace names a variable or file of the bridge.
    #[error(
        "{} takes its credentials from where the bridge runs, which a config of a namespace may do only if the bridge was \
         started with --namespaced-host-credentials: use a Secret, or a ClusterProviderConfig",
        named(config)
    )]
    HostForbidden {
        /// Which config.
        config: Key,
    },
    /// A config of a namespace leaves the identity to the plugin.
    #[error(
        "{} gives the plugin no credentials, so that it would act as itself, which a config of a namespace may do only if the \
         bridge was started with --namespaced-ambient-credentials: use a Secret with credentials, or a ClusterProviderConfig",
        named(config)
    )]
    AmbientForbidden {
        /// Which config.
        config: Key,
    },
    /// A config of a namespace says where calls go.
    #[error(
        "{} sets settings.endpoint, which a config of a namespace may do only if the bridge was started with \
         --namespaced-endpoints: leave it out, or use a ClusterProviderConfig",
        named(config)
    )]
    EndpointForbidden {
        /// Which config.
        config: Key,
    },
    /// The plugin needs a credential that is not there.
    #[error(
        "{} is missing credential {name:?}, which the plugin needs: {keys}",
        named(config)
    )]
    CredentialMissing {
        /// Which config.
        config: Key,
        /// The first that is missing.
        name: String,
        /// What is there instead.
        keys: String,
    },
    /// The plugin, or the external system, does not accept it.
    #[error(
        "{} is invalid: {}{}; correct its settings or credentials",
        named(config),
        failure.message.trim_end_matches('.'),
        in_brackets(&failure.upstream_code)
    )]
    Rejected {
        /// Which config.
        config: Key,
        /// Why not.
        failure: Box<Failure>,
    },
    /// The plugin could not be asked.
    #[error("{} could not be checked: {source}", named(config))]
    NotChecked {
        /// Which config.
        config: Key,
        /// Why not.
        source: CallError,
    },
    /// The plugin was asked, and could not tell: its upstream is away, throttles, or took too long.
    #[error("{} could not be checked: {}{}", named(config), failure.message.trim_end_matches('.'), in_brackets(&failure.upstream_code))]
    NotDecided {
        /// Which.
        config: Key,
        /// Why not.
        failure: Box<Failure>,
    },
}

/// Kind and name, as people write them.
fn named(config: &Key) -> String {
    let kind = config.kind().kind();
    match config.namespace() {
        Some(namespace) => format!("{kind} {namespace}/{}", config.name()),
        None => format!("{kind} {}", config.name()),
    }
}

/// What to do about a Secret.
fn to_create(source: &SecretError) -> &'static str {
    match source {
        SecretError::NotFound { .. } => ": create it, or name another in spec.credentials",
        SecretError::Api { .. } => "",
    }
}

/// What the upstream calls it: people search for that.
fn in_brackets(code: &str) -> String {
    if code.is_empty() {
        String::new()
    } else {
        format!(" ({code})")
    }
}

impl ConfigError {
    /// A stable word: a condition's reason.
    pub fn reason(&self) -> Reason {
        let reason = match self {
            Self::InvalidReference { .. } => ProblemReason::InvalidProviderConfigReference,
            Self::NotFound { .. } => ProblemReason::ProviderConfigNotFound,
            Self::NotRead { .. } => ProblemReason::ProviderConfigNotRead,
            Self::Invalid { .. } => ProblemReason::InvalidProviderConfig,
            Self::Secret { source, .. } => source.reason(),
            Self::SecretKeyMissing { .. } => ProblemReason::SecretKeyMissing,
            Self::Host { source, .. } => source.reason(),
            Self::HostForbidden { .. } | Self::AmbientForbidden { .. } => {
                ProblemReason::CredentialsSourceForbidden
            }
            Self::EndpointForbidden { .. } => ProblemReason::EndpointForbidden,
            Self::CredentialMissing { .. } => ProblemReason::CredentialMissing,
            Self::Rejected { failure, .. } => return Reason::of_plugin(&failure.reason),
            Self::NotChecked { .. } | Self::NotDecided { .. } => ProblemReason::ProviderConfigNotChecked,
        };
        reason.into()
    }
}

impl ConfigError {
    /// What an object that refers to the config is told. Of a config of the cluster, which objects of every namespace refer to, where its
    /// credentials lie is its own condition's to say.
    fn of_object(&self) -> String {
        match self {
            Self::Secret { config, .. }
            | Self::SecretKeyMissing { config, .. }
            | Self::Host { config, .. }
                if config.namespace().is_none() =>
            {
                format!(
                    "{} cannot read its credentials: its condition Ready says why",
                    named(config)
                )
            }
            Self::CredentialMissing { config, name, .. } if config.namespace().is_none() => {
                format!(
                    "{} has no credential {name:?}, which the plugin needs",
                    named(config)
                )
            }
            _ => self.to_string(),
        }
    }
}

impl From<&ConfigError> for Problem {
    fn from(error: &ConfigError) -> Self {
        Self {
            reason: error.reason().into(),
            message: error.of_object(),
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_core::watch_plan::GroupKind;

    use super::*;

    #[test]
    fn where_the_credentials_of_the_cluster_lie_is_not_told_to_tenants() {
        let missing = |namespace: Option<&str>| {
            let kind = GroupKind::new("example.org", "Config");
            let error = ConfigError::Secret {
                config: Key::new(kind, namespace, "default"),
                source: SecretError::NotFound {
                    namespace: "operators".to_owned(),
                    name: "keys".to_owned(),
                },
            };
            Problem::from(&error)
        };
        let reported = missing(None);
        assert_eq!(reported.reason, "SecretNotFound");
        assert!(!reported.message.contains("operators"), "{reported:?}");
        assert!(missing(Some("team")).message.contains("operators/keys"));
    }
}
