//! What all stories share: the plugin, configs, the book, hands on the processes.

use std::{sync::Arc, time::Duration};

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{Kind, PluginInfo};

use crate::{
    always::Watch,
    assertion::Assertion,
    book::Book,
    client::Client,
    endpoint::Endpoint,
    fixtures::{ConfigFixture, Fixtures},
    hands::Hands,
    registry::Registry,
    secrets::Canaries,
    verdict::{Judgement, Stop, Verdict},
};

/// Subject of the verdicts on the plugin as a whole.
pub(crate) const PLUGIN: &str = "plugin";

/// What all stories share.
#[derive(Debug, Clone)]
pub(crate) struct Bench {
    pub client: Client,
    pub endpoint: Endpoint,
    /// What the plugin says of itself; `None` until it was asked.
    pub info: Option<Arc<PluginInfo>>,
    pub kinds: Arc<Vec<Arc<Kind>>>,
    /// Those that are judged.
    pub chosen: Arc<Vec<Arc<Kind>>>,
    pub fixtures: Arc<Fixtures>,
    /// Credentials that no upstream can know, where there are any at all.
    pub made_up_config: Option<Arc<ConfigFixture>>,
    pub hands: Arc<Hands>,
    pub registry: Arc<Registry>,
    pub book: Arc<Book>,
    /// Longest wait for an operation of a kind that gives no limit.
    pub patience: Duration,
}

impl Bench {
    /// The same, with a client whose verdicts are about this kind.
    pub(crate) fn watching(&self, kind: &Kind, canaries: Canaries) -> Self {
        let keys = kind.connection_keys.iter().map(|key| key.name.clone()).collect();
        let watch = Watch {
            book: Arc::clone(&self.book),
            subject: kind.resource_type.kind.clone(),
            canaries,
            connection_keys: Some(keys),
        };
        Self {
            client: Client::new(self.client.channel(), watch),
            ..self.clone()
        }
    }

    /// The same, with a client whose verdicts are about the plugin as a whole: a kind may publish what no other answer may hold.
    pub(crate) fn watching_plugin(&self) -> Self {
        let watch = Watch {
            book: Arc::clone(&self.book),
            subject: PLUGIN.to_owned(),
            canaries: Canaries::default(),
            connection_keys: None,
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
        self.book.judge(assertion, self.subject(), judgement);
    }

    pub(crate) fn note(&self, assertion: &'static Assertion, verdict: Verdict) {
        self.book.note(assertion, self.subject(), verdict);
    }

    /// Whether it is known by now that it does not hold. What builds on it then tells nothing.
    pub(crate) fn has_failed(&self, assertion: &Assertion) -> bool {
        matches!(
            self.book.verdict(assertion, self.subject()),
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
            .ok_or_else(|| Stop::blocked("the plugin did not say what it is"))
    }
}

/// Secrets of a config.
pub(crate) fn canaries_of(config: &ConfigFixture, canaries: &mut Canaries) {
    for (key, value) in &config.credentials {
        canaries.add(&format!("credential {key:?}"), value.as_bytes());
    }
}

/// The same keys with other values.
pub(crate) fn made_up(config: &ConfigFixture) -> Option<ConfigFixture> {
    if config.credentials.is_empty() {
        return None;
    }
    let mut bad = config.clone();
    for value in bad.credentials.values_mut() {
        *value = format!("made-up-{}", uuid::Uuid::new_v4().simple());
    }
    Some(bad)
}
