//! A plugin: its kinds, its config, its limits.

use std::{collections::BTreeSet, future::Future};

use crossbridge_types::{self as types, DEFAULT_CONCURRENT_CALLS, DEFAULT_MESSAGE_BYTES, PluginInfo};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::{
    Config, ConfigCall, CredentialKey, Failure, Resource, ServeError,
    kind::{
        PublishedKind,
        schema::{self, SchemaOf},
    },
    serve,
    served::{Kinds, Served, ServedKind},
    service::{CheckConfig, Declared},
};

/// Contract packages that this SDK speaks.
const CONTRACT_VERSIONS: [&str; 1] = ["v1alpha1"];

/// A plugin: its kinds, what configures it, and the limits under which it is served.
#[must_use]
pub struct Plugin {
    name: String,
    version: String,
    kinds: Vec<Result<Box<dyn ServedKind>, String>>,
    settings: Option<SchemaOf>,
    check_settings: fn(&Config) -> Result<(), Failure>,
    check_config: Option<CheckConfig>,
    credential_keys: Vec<CredentialKey>,
    max_concurrent_calls: usize,
    max_message_bytes: usize,
}

impl Plugin {
    /// A plugin without kinds. The name is a DNS subdomain of at most 63 bytes that stays the same for ever: `s3.aws.example.org`. The
    /// version is a semantic one: `env!("CARGO_PKG_VERSION")`.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            kinds: Vec::new(),
            settings: None,
            check_settings: |_| Ok(()),
            check_config: None,
            credential_keys: Vec::new(),
            max_concurrent_calls: DEFAULT_CONCURRENT_CALLS,
            max_message_bytes: DEFAULT_MESSAGE_BYTES,
        }
    }

    /// Serves this kind; a mistake in its declarations surfaces when the plugin starts.
    #[track_caller]
    pub fn resource<R: Resource>(mut self, resource: R) -> Self {
        let served = PublishedKind::of::<R>()
            .map(|published| Box::new(Served::new(resource, published)) as Box<dyn ServedKind>);
        self.kinds.push(served);
        self
    }

    /// The type of the settings that a `ProviderConfig` holds; [`Config::settings`](crate::Config::settings) reads them.
    pub fn settings<S: JsonSchema + DeserializeOwned>(mut self) -> Self {
        self.settings = Some(schema::structural::<S>);
        self.check_settings = |config| config.settings::<S>().map(drop);
        self
    }

    /// A credential that the plugin understands.
    pub fn credential(mut self, key: CredentialKey) -> Self {
        self.credential_keys.push(key);
        self
    }

    /// Tries a config, changing nothing, and reports whom the upstream takes us for: account, subscription, project; empty if it does not
    /// report it. Without it, every config whose settings can be read is good.
    pub fn check_config<F, A>(mut self, check: F) -> Self
    where
        F: Fn(ConfigCall) -> A + Send + Sync + 'static,
        A: Future<Output = Result<String, Failure>> + Send + 'static,
    {
        self.check_config = Some(Box::new(move |call| Box::pin(check(call))));
        self
    }

    /// Calls that are worked on at once; more wait. Unset: 256.
    pub fn max_concurrent_calls(mut self, calls: usize) -> Self {
        self.max_concurrent_calls = calls;
        self
    }

    /// The largest message that is taken, in bytes. Unset: 4 MiB.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// Serves at the endpoint that `PROVIDER_PLUGIN_ENDPOINT` names until SIGTERM or SIGINT; then lets running calls end, and returns.
    ///
    /// The process ends 5 s later at most, with code 0, whatever still runs in it: the runtime would wait without end for a blocking call that hangs.
    ///
    /// # Errors
    /// A mistake in the plugin's declarations, or an endpoint that cannot be served.
    pub async fn serve(self) -> Result<(), ServeError> {
        let endpoint = serve::endpoint_of_environment()?;
        let stop = serve::stop_signal()?;
        self.serve_at(&endpoint, stop).await?;
        serve::end_in_time();
        Ok(())
    }

    /// Serves at this endpoint (`unix:///path`, `http://127.0.0.1:port`, `https://host:port`) until `stop` resolves; then lets running
    /// calls end, and returns.
    ///
    /// # Errors
    /// A mistake in the plugin's declarations, or an endpoint that cannot be served.
    pub async fn serve_at(
        self,
        endpoint: &str,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let declared = self.declared().map_err(ServeError::Declaration)?;
        serve::serve(declared, endpoint, stop).await
    }

    /// Puts the declarations together and checks them.
    pub(crate) fn declared(self) -> Result<Declared, String> {
        let mut kinds = Kinds::new();
        for kind in self.kinds {
            let kind = kind?;
            let resource_type = kind.published().rules.resource_type.clone();
            let source = kind.published().source.clone();
            if let Some(other) = kinds.insert(resource_type.clone(), kind) {
                let other = &other.published().source;
                return Err(format!(
                    "kind {resource_type} is registered twice: by {other}, and by {source}"
                ));
            }
        }
        check_required_examples(&kinds)?;
        let config_schema = self
            .settings
            .map(|schema| schema())
            .transpose()
            .map_err(|problem| format!("the type of the settings: {problem}"))?;
        if self.max_concurrent_calls == 0 || self.max_message_bytes == 0 {
            return Err("a plugin that takes no calls, or no bytes, serves no caller".to_owned());
        }
        let info = PluginInfo {
            name: self.name,
            version: self.version,
            contract_versions: CONTRACT_VERSIONS.map(str::to_owned).to_vec(),
            lists_external: kinds.values().any(|kind| kind.published().listable),
            instance_id: uuid::Uuid::new_v4().to_string(),
            max_concurrent_calls: self.max_concurrent_calls,
            max_message_bytes: self.max_message_bytes,
            config_schema: config_schema.map(serde_json::Value::Object),
            credential_keys: self
                .credential_keys
                .into_iter()
                .map(|key| types::CredentialKey {
                    name: key.name,
                    description: key.description,
                    required: key.required,
                })
                .collect(),
        };
        // The bridge's own check, before it meets this plugin.
        info.check()
            .map_err(|violation| format!("the plugin's {violation}"))?;
        if kinds.is_empty() {
            return Err("the plugin has no kind: Plugin::resource registers one".to_owned());
        }
        Ok(Declared {
            info,
            kinds,
            check_settings: self.check_settings,
            check_config: self.check_config,
        })
    }
}

/// An example can only require one that is there.
fn check_required_examples(kinds: &Kinds) -> Result<(), String> {
    let names: BTreeSet<String> = kinds
        .values()
        .map(|kind| &kind.published().rules)
        .flat_map(|rules| {
            let kind = &rules.resource_type.kind;
            rules
                .examples
                .iter()
                .map(move |example| format!("{kind}/{}", example.name))
        })
        .collect();
    for PublishedKind { rules, source, .. } in kinds.values().map(|kind| kind.published()) {
        for example in &rules.examples {
            if let Some(missing) = example
                .requires
                .iter()
                .find(|required| !names.contains(*required))
            {
                return Err(format!(
                    "kind {}: example {:?} requires {missing:?}, which no kind has ({source})",
                    rules.resource_type.kind, example.name
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "plugin_tests.rs"]
mod tests;
