//! What all suites share: the plugin, configs, the verdict log, control over the processes.

use std::{sync::Arc, time::Duration};

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{Kind, PluginInfo};

use crate::{
    assertion::Assertion,
    client::Client,
    endpoint::Endpoint,
    fixtures::{ConfigFixture, Fixtures},
    process_control::ProcessControl,
    registry::Registry,
    response_rules::ResponseRules,
    secrets::Canaries,
    verdict::{Judgement, Stop, Verdict},
    verdict_log::VerdictLog,
};

/// Subject of the verdicts on the plugin as a whole.
pub(crate) const PLUGIN: &str = "plugin";

/// What all suites share.
#[derive(Debug, Clone)]
pub(crate) struct RunContext {
    pub client: Client,
    pub endpoint: Endpoint,
    /// The response to `GetPluginInfo`; `None` before it was received.
    pub info: Option<Arc<PluginInfo>>,
    pub kinds: Arc<Vec<Arc<Kind>>>,
    /// Those that are judged.
    pub chosen: Arc<Vec<Arc<Kind>>>,
    pub fixtures: Arc<Fixtures>,
    /// Credentials that no upstream can know, where there are any at all.
    pub invalid_credentials_config: Option<Arc<ConfigFixture>>,
    pub process_control: Arc<ProcessControl>,
    pub registry: Arc<Registry>,
    pub verdict_log: Arc<VerdictLog>,
    /// Longest wait for an operation of a kind that gives no limit.
    pub operation_timeout: Duration,
}

impl RunContext {
    /// The same, with a client whose verdicts are about this kind.
    pub(crate) fn for_kind(&self, kind: &Kind, canaries: Canaries) -> Self {
        let keys = kind.connection_keys.iter().map(|key| key.name.clone()).collect();
        let watch = ResponseRules {
            verdict_log: Arc::clone(&self.verdict_log),
            subject: kind.resource_type.kind.clone(),
            canaries,
            connection_keys: Some(keys),
            process_control: Arc::clone(&self.process_control),
        };
        Self {
            client: Client::new(self.client.channel(), watch),
            ..self.clone()
        }
    }

    /// The same, with a client whose verdicts are about the plugin as a whole: a kind may publish what no other answer may hold.
    pub(crate) fn for_plugin(&self) -> Self {
        let watch = ResponseRules {
            verdict_log: Arc::clone(&self.verdict_log),
            subject: PLUGIN.to_owned(),
            canaries: Canaries::default(),
            connection_keys: None,
            process_control: Arc::clone(&self.process_control),
        };
        Self {
            client: Client::new(self.client.channel(), watch),
            ..self.clone()
        }
    }

    pub(crate) fn subject(&self) -> &str {
        &self.client.watch().subject
    }

    pub(crate) fn judge(&self, assertion: &'static Assertion, judgement: Judgement) {
        self.verdict_log.judge(assertion, self.subject(), judgement);
    }

    pub(crate) fn note(&self, assertion: &'static Assertion, verdict: Verdict) {
        self.verdict_log.note(assertion, self.subject(), verdict);
    }

    /// Whether it is known by now that it does not hold. Whatever depends on it shows nothing then.
    pub(crate) fn has_failed(&self, assertion: &Assertion) -> bool {
        matches!(
            self.verdict_log.verdict(assertion, self.subject()),
            Some(Verdict::Failed(_))
        )
    }

    pub(crate) fn not_applicable(&self, assertion: &'static Assertion, why: &str) {
        self.note(assertion, Verdict::NotApplicable(why.to_owned()));
    }

    /// The config that works.
    pub(crate) fn config(&self) -> wire::ConfigContext {
        self.fixtures.config.context("conformance", "1")
    }

    pub(crate) fn info(&self) -> Result<&PluginInfo, Stop> {
        self.info
            .as_deref()
            .ok_or_else(|| Stop::blocked("the plugin did not answer GetPluginInfo with valid information"))
    }
}

/// Secrets of a config.
pub(crate) fn canaries_of(config: &ConfigFixture, canaries: &mut Canaries) {
    for (key, value) in &config.credentials {
        canaries.add(&format!("credential {key:?}"), value.as_bytes());
    }
}

/// The same keys with other values.
pub(crate) fn with_invalid_credentials(config: &ConfigFixture) -> Option<ConfigFixture> {
    if config.credentials.is_empty() {
        return None;
    }
    let mut bad = config.clone();
    for value in bad.credentials.values_mut() {
        *value = format!("made-up-{}", uuid::Uuid::new_v4().simple());
    }
    Some(bad)
}
