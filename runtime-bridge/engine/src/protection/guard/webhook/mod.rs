//! The guard that this process serves: every replica answers, from its own index of usages.

mod certificate_store;
mod index;
mod issue;
mod respond;
mod server;

use std::{net::IpAddr, sync::Arc, time::Duration};

use bridge_core::protection::guard::{CertificateStep, Reach};
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};
use tokio_util::task::AbortOnDropHandle;

use self::{certificate_store::CertificateStore, index::UsageIndex, respond::Responder};
use crate::{clock::Clock, engine::Engine, lease::Leadership, store::Listener, watch::Subscription};

/// Between two attempts to listen.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// How the webhook is served.
#[derive(Debug, Clone)]
pub struct WebhookOptions {
    /// Where it listens.
    pub address: IpAddr,
    /// Likewise; 0: at a free port.
    pub port: u16,
    /// How API servers reach it. Port 0 of a host: where it listens.
    pub reach: Reach,
    /// How long a certificate counts. It is renewed after two thirds of that.
    pub certificate_life: Duration,
}

/// A webhook that is served until it is dropped.
pub(super) struct Webhook {
    options: WebhookOptions,
    clock: Arc<dyn Clock>,
    certificates: Arc<CertificateStore>,
    listening: Arc<Mutex<Result<u16, String>>>,
    changed: Arc<Notify>,
    _tasks: [AbortOnDropHandle<()>; 2],
    _watched: Subscription,
}

impl Webhook {
    pub(super) fn start(engine: &Engine, namespace: &str, options: WebhookOptions) -> Arc<Self> {
        let changed = Arc::new(Notify::new());
        let store = CertificateStore::new(engine, namespace, &changed);
        let certificates = Arc::new(store);
        let index = UsageIndex::watch(engine);
        let responder = Arc::new(Responder::new(engine, index, namespace));
        let listening = Arc::new(Mutex::new(Err("it does not listen yet".to_owned())));

        let (key, reload) = (certificates.key().clone(), certificates.reload());
        let listener: Arc<Listener> = Arc::new(move |change: &_| {
            if change.key == key {
                reload.notify_one();
            }
        });
        let api = Arc::new(crate::object::ApiType::secrets());
        let watched = engine.subscribe(&api, "the certificates of the usage webhook", &listener);
        let host = options.reach.hosts();
        let loading = Arc::clone(&certificates).follow(host, options.certificate_life);
        let serving = serve(
            options.clone(),
            Arc::clone(&listening),
            Arc::clone(&changed),
            Arc::clone(&certificates),
            responder,
        );
        Arc::new(Self {
            clock: Arc::clone(&engine.clock),
            certificates,
            listening,
            changed,
            _tasks: [tokio::spawn(loading), tokio::spawn(serving)].map(AbortOnDropHandle::new),
            _watched: watched,
            options,
        })
    }

    /// Notified when it listens, and when other certificates were read.
    pub(super) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    /// Where it listens.
    pub(super) fn port(&self) -> Option<u16> {
        self.listening.lock().as_ref().ok().copied()
    }

    /// Renews them, if it is time. Answers how the webhook is reached, who is to be trusted, and when it is time again.
    pub(super) async fn keep_certificates(
        &self,
        leadership: &Leadership,
    ) -> Result<(Reach, String, Instant), String> {
        let port = self
            .listening
            .lock()
            .clone()
            .map_err(|why| format!("the usage webhook is not served: {why}"))?;
        let reach = match &self.options.reach {
            Reach::Host { host, port: 0 } => Reach::Host {
                host: host.clone(),
                port,
            },
            reach => reach.clone(),
        };
        let hosts = reach.hosts();
        loop {
            let known = self.certificates.known()?;
            let now = self.clock.now();
            let since = self.certificates.trusted_since(&known.certificates);
            let next = match known.certificates.step(&hosts, now, since) {
                CertificateStep::Keep(until) => {
                    let wait = until.duration_since(now);
                    let due = Instant::now() + Duration::try_from(wait).unwrap_or_default();
                    return Ok((reach, known.certificates.bundle(), due));
                }
                CertificateStep::Prepare => {
                    let pair = issue::issue(&hosts, now, self.options.certificate_life)?;
                    known.certificates.clone().prepared(pair)
                }
                CertificateStep::Promote => known.certificates.clone().promoted(),
            };
            if !leadership.leads() {
                return Err("this process does not lead any more".to_owned());
            }
            self.certificates.write(&known, next).await?;
        }
    }

    /// The configuration in the cluster has what [`Webhook::keep_certificates`] answered last.
    pub(super) fn mark_trusted(&self) {
        self.certificates.mark_trusted(self.clock.now());
    }
}

/// Until it is dropped.
async fn serve(
    options: WebhookOptions,
    listening: Arc<Mutex<Result<u16, String>>>,
    changed: Arc<Notify>,
    certificates: Arc<CertificateStore>,
    responder: Arc<Responder>,
) {
    let listener = loop {
        match server::bind(options.address, options.port).await {
            Ok(listener) => break listener,
            Err(why) => {
                tracing::error!(why, "the usage webhook is not served, will retry");
                *listening.lock() = Err(why);
                changed.notify_one();
                sleep(LISTEN_AGAIN).await;
            }
        }
    };
    match listener.local_addr() {
        Ok(address) => {
            tracing::info!(%address, "usage webhook");
            *listening.lock() = Ok(address.port());
        }
        Err(error) => *listening.lock() = Err(error.to_string()),
    }
    changed.notify_one();
    server::serve(listener, certificates, responder).await;
}
