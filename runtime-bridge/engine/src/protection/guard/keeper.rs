//! Keeps the guard in force: by the bridge that leads.

use std::{sync::Arc, time::Duration};

use bridge_core::{
    back_off::policies,
    crd::{MANAGED_BY, MANAGED_BY_LABEL},
    protection::guard::{GuardKind, Trial, binding, names, policy, webhook_configuration},
};
use serde_json::Value;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    Guard, GuardState,
    kept_object::{Brought, KeptObject, admission_api},
    trial::TrialObject,
    webhook::{Webhook, WebhookOptions},
};
use crate::{
    api_error::ApiError,
    engine::Engine,
    lease::Leadership,
    object::ApiType,
    random,
    store::Listener,
    watch::{Subscription, WatchState, Watches},
    write::{Deletion, Propagation, Writer},
};

/// Why its kinds are watched, for people.
const REASON: &str = "they refuse deletions of what is in use";

/// Field manager of what the guard consists of.
const FIELD_MANAGER: &str = "crossbridge.dev/usages";

/// Between two inspections of what is watched, and of what is not.
const INSPECT_WATCHED: Duration = Duration::from_mins(10);
const INSPECT_UNWATCHED: Duration = Duration::from_secs(30);

/// What fails for so long is logged: an API server takes a moment to take up what was written, and each write of ours makes for another attempt.
const REPORTED_AFTER: Duration = Duration::from_secs(5);

/// Where and when the guard is kept.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// The bridge's own namespace.
    pub namespace: String,
    /// The right to write.
    pub leadership: Leadership,
}

/// A guard that is kept until it is dropped. What it consists of stays in the cluster.
pub struct UsageGuard {
    state: watch::Receiver<GuardState>,
    webhook: Option<Arc<Webhook>>,
    _keeper: AbortOnDropHandle<()>,
    _watched: Vec<Subscription>,
}

impl UsageGuard {
    /// By a policy in the API server.
    pub fn policy(engine: &Engine, options: GuardOptions) -> Self {
        Self::start(engine, options, GuardKind::Policy, None)
    }

    /// By a webhook that this process serves, whether it leads or not.
    pub fn webhook(engine: &Engine, options: GuardOptions, webhook: WebhookOptions) -> Self {
        let webhook = Webhook::start(engine, &options.namespace, webhook);
        Self::start(engine, options, GuardKind::Webhook, Some(webhook))
    }

    /// Where the webhook listens; `None`: nowhere, or not yet.
    pub fn webhook_port(&self) -> Option<u16> {
        self.webhook.as_ref()?.port()
    }

    fn start(engine: &Engine, options: GuardOptions, kind: GuardKind, webhook: Option<Arc<Webhook>>) -> Self {
        let changed = webhook
            .as_ref()
            .map_or_else(Arc::default, |webhook| webhook.changed());
        let [policies, bindings, webhooks] = apis();
        let objects = match kind {
            GuardKind::Policy => vec![
                KeptObject::new(policies, names::POLICY),
                KeptObject::new(bindings, names::POLICY),
            ],
            GuardKind::Webhook => vec![KeptObject::new(webhooks, names::WEBHOOK_CONFIGURATION)],
        };
        // Its kinds have no definitions, and nobody else may ask what is served without one.
        engine.watches.need_discovery();
        let watched = objects.iter().map(|object| {
            let (key, notified) = (object.key.clone(), Arc::clone(&changed));
            let listener: Arc<Listener> = Arc::new(move |change: &_| {
                if change.key == key && change.beyond_status() {
                    notified.notify_one();
                }
            });
            engine.subscribe(&object.api, REASON, &listener)
        });
        let watched = watched.collect();
        let message = "nothing was tried yet".to_owned();
        let (state, states) = watch::channel(GuardState::NotProved { message });
        let keeper = Keeper {
            kind,
            writer: engine.writer.as_manager(FIELD_MANAGER),
            watches: Arc::clone(&engine.watches),
            leadership: options.leadership,
            trial: TrialObject::new(&options.namespace),
            term: None,
            state,
            changed,
            objects,
            webhook: webhook.clone(),
            others_removed: false,
            proved: None,
            failures: 0,
            failing: Failing::No,
        };
        Self {
            state: states,
            webhook,
            _keeper: AbortOnDropHandle::new(tokio::spawn(keeper.run())),
            _watched: watched,
        }
    }
}

impl Guard for UsageGuard {
    fn changes(&self) -> watch::Receiver<GuardState> {
        self.state.clone()
    }

    fn notes_attempts(&self) -> bool {
        self.webhook.is_some()
    }
}

/// Whether the guard fails, and whether that was logged.
#[derive(Debug, Clone, Copy)]
enum Failing {
    No,
    Since(Instant),
    Logged,
}

fn apis() -> [Arc<ApiType>; 3] {
    [
        admission_api("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
        admission_api(
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
        ),
        admission_api(
            "ValidatingWebhookConfiguration",
            "validatingwebhookconfigurations",
        ),
    ]
}

struct Keeper {
    kind: GuardKind,
    writer: Writer,
    watches: Arc<Watches>,
    leadership: Leadership,
    trial: TrialObject,
    /// The time of leading in which it last did something; another process may have led since.
    term: Option<u64>,
    state: watch::Sender<GuardState>,
    changed: Arc<Notify>,
    objects: Vec<KeptObject>,
    webhook: Option<Arc<Webhook>>,
    /// Since this process leads: the guard of the other kind was removed.
    others_removed: bool,
    /// Uid and generation of each object that was in place when the trial was refused.
    proved: Option<Vec<(String, i64)>>,
    failures: u32,
    failing: Failing,
}

/// Why the guard is not in force, and when to go on if not by the back-off.
struct Problem {
    message: String,
    not_before: Option<Instant>,
    /// Nothing is known to have changed: what was proved stays so.
    is_transient: bool,
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self {
            message,
            not_before: None,
            is_transient: false,
        }
    }
}

impl Keeper {
    async fn run(mut self) {
        let mut leads = self.leadership.watch();
        loop {
            leads.borrow_and_update();
            let again = self.step().await;
            tokio::select! {
                biased;
                // What failed before says nothing of what is there now.
                () = self.changed.notified() => self.failures = 0,
                Ok(()) = leads.changed() => {}
                () = tokio::time::sleep_until(again) => {}
            }
        }
    }

    /// Until when nothing is to be done, unless something changes.
    async fn step(&mut self) -> Instant {
        let now = Instant::now();
        if !self.leadership.leads() {
            self.failures = 0;
            self.failing = Failing::No;
            let message = "the bridge that leads keeps the guard, and knows whether it is in force";
            self.report(GuardState::NotProved {
                message: message.to_owned(),
            });
            return now + INSPECT_WATCHED;
        }
        let term = Some(self.leadership.term());
        if self.term != term {
            self.term = term;
            self.others_removed = false;
            self.proved = None;
            self.trial.begin_term();
        }
        match self.keep().await {
            Ok(until) => {
                self.failures = 0;
                self.failing = Failing::No;
                self.report(GuardState::Proved);
                until
            }
            Err(problem) => {
                self.failures = self.failures.saturating_add(1);
                self.failing = match self.failing {
                    Failing::No => Failing::Since(now),
                    Failing::Since(since) if now.duration_since(since) >= REPORTED_AFTER => {
                        let why = &problem.message;
                        tracing::warn!(why, "deletions of what is in use may not be refused, will retry");
                        Failing::Logged
                    }
                    failing => failing,
                };
                if self.proved.is_none() || !problem.is_transient {
                    self.proved = None;
                    self.report(GuardState::NotProved {
                        message: problem.message,
                    });
                }
                let wait = policies::GUARD.wait(self.failures, random::fraction());
                problem.not_before.unwrap_or(now + wait)
            }
        }
    }

    fn report(&self, state: GuardState) {
        self.state.send_if_modified(|known| {
            let is_new = *known != state;
            if is_new {
                if state == GuardState::Proved {
                    tracing::info!("deletions of what is in use are refused");
                }
                *known = state;
            }
            is_new
        });
    }

    async fn keep(&mut self) -> Result<Instant, Problem> {
        let (wanted, due) = self.wanted().await?;
        let mut in_place = Vec::new();
        for (object, wanted) in self.objects.iter_mut().zip(&wanted) {
            let leadership = &self.leadership;
            let brought = object.bring(&self.writer, wanted, || leadership.leads()).await;
            match brought.map_err(|error| unkept(object, &error))? {
                Brought::InPlace(uid, generation) => in_place.push((uid, generation)),
                Brought::NotBefore(at) => {
                    return Err(Problem {
                        message: format!(
                            "{} was changed after the bridge wrote it, and is put back later: find out who changes it",
                            object.key
                        ),
                        not_before: Some(at),
                        is_transient: false,
                    });
                }
            }
        }
        if let Some(webhook) = &self.webhook {
            webhook.mark_trusted();
        }
        // A policy refuses before any webhook is asked, so that none is proved beside it: it goes once the webhook is in place. The webhook goes once
        // the policy is in force. Of several API servers one may drop the policy a moment before it knows the webhook.
        if self.kind == GuardKind::Webhook {
            self.remove_others().await;
        }
        if self.proved.as_ref() != Some(&in_place) {
            if let Trial::NotProved(why) = self.trial.run(&self.writer, self.kind).await {
                return Err(why.into());
            }
            self.proved = Some(in_place);
        }
        self.remove_others().await;
        let is_watched = |object: &KeptObject| self.watches.state(&object.api.kind) == WatchState::Live;
        let inspect = if self.objects.iter().all(is_watched) {
            INSPECT_WATCHED
        } else {
            INSPECT_UNWATCHED
        };
        let removed = self.trial.remove(&self.writer).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "failed to remove the ConfigMap of the trial, will retry");
            Some(Instant::now() + INSPECT_UNWATCHED)
        });
        let inspect = Instant::now() + inspect;
        Ok([due, removed].into_iter().flatten().fold(inspect, Instant::min))
    }

    /// The objects as they should be, and when they are to be others.
    async fn wanted(&self) -> Result<(Vec<Value>, Option<Instant>), Problem> {
        let Some(webhook) = &self.webhook else {
            return Ok((vec![policy(), binding()], None));
        };
        let (reach, bundle, due) = webhook.keep_certificates(&self.leadership).await?;
        Ok((vec![webhook_configuration(&reach, &bundle)], Some(due)))
    }

    /// One guard is enough, and a webhook that nobody answers any more would refuse in its own words.
    async fn remove_others(&mut self) {
        if self.others_removed {
            return;
        }
        self.others_removed = true;
        let [policies, bindings, webhooks] = apis();
        let others = match self.kind {
            GuardKind::Policy => vec![KeptObject::new(webhooks, names::WEBHOOK_CONFIGURATION)],
            GuardKind::Webhook => vec![
                KeptObject::new(bindings, names::POLICY),
                KeptObject::new(policies, names::POLICY),
            ],
        };
        for KeptObject { api, key, .. } in &others {
            let removed = async {
                let found = self.writer.get_live(api, key).await?;
                if found.label(MANAGED_BY_LABEL) != Some(MANAGED_BY) || !self.leadership.leads() {
                    return Ok(());
                }
                let deletion = Deletion {
                    uid: found.uid(),
                    version: None,
                    propagation: Propagation::Background,
                };
                self.writer.delete(api, key, deletion).await?;
                tracing::info!(object = %key, "removed the other guard of usages");
                Ok(())
            };
            match removed.await {
                Ok(()) | Err(ApiError::NotFound(_) | ApiError::NotServed(_)) => {}
                Err(error) => {
                    tracing::warn!(object = %key, %error, "failed to remove the other guard of usages: delete it by hand");
                }
            }
        }
    }
}

/// What is wrong with an object, for people.
fn unkept(object: &KeptObject, error: &ApiError) -> Problem {
    let (kind, key) = (object.api.kind.kind(), &object.key);
    let message = match error {
        ApiError::NotServed(_) if kind.starts_with("ValidatingAdmissionPolicy") => format!(
            "the API server does not serve {kind} in admissionregistration.k8s.io/v1, as Kubernetes does from 1.30 on: run with \
             --usage-guard=webhook"
        ),
        ApiError::Forbidden(why) => format!(
            "the bridge may not read or write {key}: {why}. Apply what `runtime-bridge rbac --compositions` prints"
        ),
        error => format!("cannot write {key}: {error}"),
    };
    Problem {
        message,
        not_before: None,
        is_transient: error.is_transient() || matches!(error, ApiError::Conflict(_)),
    }
}
