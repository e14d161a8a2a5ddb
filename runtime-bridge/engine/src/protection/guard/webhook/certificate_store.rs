//! The Secret with the certificates: shared by all replicas, created by the first, renewed by the one that leads.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bridge_core::{
    back_off::policies,
    crd::{MANAGED_BY, MANAGED_BY_LABEL},
    protection::guard::{Certificates, Pair, names::WEBHOOK_SECRET},
};
use jiff::Timestamp;
use parking_lot::Mutex;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::issue::issue;
use crate::{
    api_error::ApiError,
    clock::Clock,
    engine::Engine,
    object::{ApiType, Key},
    random,
    secret::{SecretError, SecretReader},
    watch::WatchState,
    write::{Merge, Writer},
};

/// The one field of the Secret.
const FIELD: &str = "certificates.json";

/// Between two reads where Secrets cannot be watched.
const READ_AGAIN: Duration = Duration::from_secs(15);
/// Likewise where they are, for safety.
const READ_WATCHED: Duration = Duration::from_mins(10);

/// What was read, and which Secret it stood in.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) certificates: Certificates,
    uid: String,
    version: u64,
}

struct State {
    known: Result<Known, String>,
    /// Of the current pair.
    tls: Option<Arc<ServerConfig>>,
    /// A bundle, and since when the configuration in the cluster has had it.
    trusted: Option<(String, Timestamp)>,
}

pub(super) struct CertificateStore {
    writer: Writer,
    secrets: Arc<SecretReader>,
    clock: Arc<dyn Clock>,
    api: Arc<ApiType>,
    key: Key,
    namespace: String,
    reload: Arc<Notify>,
    /// Others were read.
    changed: Arc<Notify>,
    state: Mutex<State>,
}

impl CertificateStore {
    pub(super) fn new(engine: &Engine, namespace: &str, changed: &Arc<Notify>) -> Self {
        Self {
            writer: engine.writer.clone(),
            secrets: Arc::clone(&engine.secrets),
            clock: Arc::clone(&engine.clock),
            api: Arc::new(ApiType::secrets()),
            key: Key::secret(namespace, WEBHOOK_SECRET),
            namespace: namespace.to_owned(),
            reload: Arc::default(),
            changed: Arc::clone(changed),
            state: Mutex::new(State {
                known: Err("its certificates are not read yet".to_owned()),
                tls: None,
                trusted: None,
            }),
        }
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    /// To be notified when the Secret changes.
    pub(super) fn reload(&self) -> Arc<Notify> {
        Arc::clone(&self.reload)
    }

    /// For the next connection; `None`: there is none yet.
    pub(super) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.state.lock().tls.clone()
    }

    pub(super) fn known(&self) -> Result<Known, String> {
        self.state.lock().known.clone()
    }

    pub(super) fn trusted_since(&self, certificates: &Certificates) -> Option<Timestamp> {
        let bundle = certificates.bundle();
        let state = self.state.lock();
        let (_, since) = state.trusted.as_ref().filter(|(trusted, _)| *trusted == bundle)?;
        Some(*since)
    }

    /// The configuration in the cluster has the bundle of what is known.
    pub(super) fn mark_trusted(&self, now: Timestamp) {
        let mut state = self.state.lock();
        let Ok(known) = &state.known else { return };
        let bundle = known.certificates.bundle();
        if state
            .trusted
            .as_ref()
            .is_none_or(|(trusted, _)| *trusted != bundle)
        {
            state.trusted = Some((bundle, now));
            // Others may be due now.
            self.changed.notify_one();
        }
    }

    /// Reads them whenever they change, and creates them if there are none. Until it is dropped.
    pub(super) async fn follow(self: Arc<Self>, hosts: Vec<String>, life: Duration) {
        let mut failures = 0;
        loop {
            let again = match self.load(&hosts, life).await {
                Ok(()) => {
                    failures = 0;
                    if self.secrets.state() == WatchState::Live {
                        READ_WATCHED
                    } else {
                        READ_AGAIN
                    }
                }
                Err(why) => {
                    failures += 1;
                    tracing::warn!(
                        why,
                        "the certificates of the usage webhook cannot be had, will retry"
                    );
                    let mut state = self.state.lock();
                    // Those that were read count on.
                    if state.known.is_err() {
                        state.known = Err(why);
                    }
                    policies::API.wait(failures, random::fraction())
                }
            };
            tokio::select! {
                biased;
                () = self.reload.notified() => {}
                () = sleep_until(Instant::now() + again) => {}
            }
        }
    }

    async fn load(&self, hosts: &[String], life: Duration) -> Result<(), String> {
        let read = || self.secrets.read(&self.namespace, WEBHOOK_SECRET);
        let secret = match read().await {
            Err(SecretError::NotFound { .. }) => {
                self.create(hosts, life).await?;
                read().await
            }
            secret => secret,
        };
        let secret = secret.map_err(|error| error.to_string())?;
        let text = secret.data.0.get(FIELD).map(Vec::as_slice).unwrap_or_default();
        let parsed = serde_json::from_slice::<Certificates>(text).map_err(|error| error.to_string());
        let parsed =
            parsed.and_then(|certificates| Ok((server_config(&certificates.current)?, certificates)));
        let (tls, certificates) = parsed.map_err(|why| {
            format!(
                "the Secret {}/{WEBHOOK_SECRET} holds no certificates of the bridge ({why}); delete it to have new ones created",
                self.namespace
            )
        })?;
        self.take_in(
            Known {
                certificates,
                uid: secret.uid.clone(),
                version: secret.version,
            },
            tls,
        );
        Ok(())
    }

    fn take_in(&self, known: Known, tls: Arc<ServerConfig>) {
        let mut state = self.state.lock();
        if let Ok(before) = &state.known
            && before.uid == known.uid
            && before.version >= known.version
        {
            return;
        }
        state.known = Ok(known);
        state.tls = Some(tls);
        drop(state);
        self.changed.notify_one();
    }

    /// Another replica may be faster.
    async fn create(&self, hosts: &[String], life: Duration) -> Result<(), String> {
        let pair = issue(hosts, self.clock.now(), life)?;
        let data = data(&Certificates::new(pair))?;
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "crossbridge.dev/usage-webhook",
            "metadata": {"name": WEBHOOK_SECRET, "labels": {MANAGED_BY_LABEL: MANAGED_BY}},
            "data": data,
        });
        let created = self
            .writer
            .create_document(&self.api, Some(&self.namespace), &secret)
            .await;
        match created {
            Ok(_) | Err(ApiError::AlreadyExists(_)) => Ok(()),
            Err(error) => Err(format!(
                "cannot create the Secret {}/{WEBHOOK_SECRET}: {error}",
                self.namespace
            )),
        }
    }

    /// Replaces them, if nobody did so meanwhile.
    pub(super) async fn write(&self, known: &Known, certificates: Certificates) -> Result<(), String> {
        let merge = Merge {
            uid: &known.uid,
            version: Some(known.version),
            change: json!({"metadata": {}, "data": data(&certificates)?}),
        };
        let written = self.writer.merge(&self.api, &self.key, merge).await;
        let written = written.map_err(|error| {
            format!(
                "cannot write the Secret {}/{WEBHOOK_SECRET}: {error}",
                self.namespace
            )
        })?;
        let tls = server_config(&certificates.current)?;
        tracing::info!(
            until = %certificates.current.validity.until, has_successor = certificates.next.is_some(),
            "renewed the certificates of the usage webhook"
        );
        let known = Known {
            certificates,
            uid: written.uid().to_owned(),
            version: written.resource_version(),
        };
        self.take_in(known, tls);
        Ok(())
    }
}

fn data(certificates: &Certificates) -> Result<Value, String> {
    let text = serde_json::to_string(certificates).map_err(|error| error.to_string())?;
    Ok(json!({FIELD: STANDARD.encode(text)}))
}

/// TLS 1.3 alone. Who asks is not authenticated: nothing is answered that a usage does not say.
fn server_config(pair: &Pair) -> Result<Arc<ServerConfig>, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let certificate =
        CertificateDer::from_pem_slice(pair.certificate.as_bytes()).map_err(|error| text(&error))?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).map_err(|error| text(&error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| text(&error))?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .map_err(|error| text(&error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
