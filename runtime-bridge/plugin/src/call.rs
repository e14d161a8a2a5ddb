//! The calls, each bounded by an absolute deadline.

use std::{future::Future, sync::Arc};

use async_trait::async_trait;
use bridge_core::{
    external::{
        Answer, Call, CallError, Config, DesiredState, Failure, ObserveResult, Outcome, Target, Verb,
    },
    kind::Kind,
    port::{External, Permit},
};
use bridge_transport::{Channels, Guarded, LargeAnswer, LargeAnswers, Now};
use crossbridge_proto::v1alpha1::{
    CheckConfigRequest, CreateRequest, DeleteRequest, ObserveRequest, PollOperationRequest, UpdateRequest,
    plugin_service_client::PluginServiceClient, resource_service_client::ResourceServiceClient,
};
use crossbridge_types::{Violation, limits};
use jiff::Timestamp;
use prost::Message;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
    task::block_in_place,
    time::{Instant, timeout},
};
use tonic::{Request, Response, Status, transport::Channel};

use crate::{
    HandshakeError, Options, Supervision,
    answer::{self, Answered},
    handshake::Handshake,
    observer::{CallObserver, CallRecord, Describe},
    secrets::SentSecrets,
    send::{self, send},
    state::PluginState,
    status,
};

const KIB: usize = 1 << 10;

/// A plugin, as many tasks share it: the bridge calls it through [`External`]. Clones are the same plugin.
#[derive(Clone)]
pub struct Plugin {
    channels: Channels,
    state: watch::Receiver<PluginState>,
    recheck: Arc<Notify>,
    observer: Arc<dyn CallObserver>,
    now: Now,
    max_answer_bytes: usize,
    large_observations: LargeAnswers,
    /// Of the calls that change something: whatever is observed takes no place of theirs, as an answer that comes too late is not known.
    large_outcomes: LargeAnswers,
    /// One for each large answer that a reconcile may hold to its end.
    room: Arc<Semaphore>,
    /// One for each KiB of observations that are kept from one reconcile to the next.
    kept: Arc<Semaphore>,
    /// One: so many cores compute with its large answers.
    core: Arc<Semaphore>,
}

impl Plugin {
    /// Shakes hands and fetches every kind, each question bounded by 5 s. Calls work while the [`Supervision`] is not run; a
    /// restart is then not noticed.
    pub async fn connect(options: Options) -> Result<(Self, Supervision), HandshakeError> {
        let channels = Channels::new(&options.endpoint, options.tls.as_ref())?;
        Self::connect_by(channels, options).await
    }

    /// The same over a channel that exists, and is never replaced: a simulation has no sockets.
    pub async fn connect_over(
        channel: Channel,
        options: Options,
    ) -> Result<(Self, Supervision), HandshakeError> {
        Self::connect_by(Channels::fixed(channel), options).await
    }

    async fn connect_by(channels: Channels, options: Options) -> Result<(Self, Supervision), HandshakeError> {
        let handshake = Handshake {
            channels: channels.clone(),
            endpoint: options.endpoint.to_string(),
            bridge_version: options.bridge_version,
        };
        let (state, watched) = watch::channel(PluginState::new(handshake.all(None).await?));
        let recheck = Arc::new(Notify::new());
        let plugin = Self {
            channels,
            state: watched,
            recheck: Arc::clone(&recheck),
            observer: options.observer,
            now: Arc::clone(&options.now),
            max_answer_bytes: options.max_answer_bytes,
            large_observations: LargeAnswers::new(limits::LARGE_ANSWERS, limits::LARGE_ANSWER),
            large_outcomes: LargeAnswers::new(limits::LARGE_ANSWERS, limits::LARGE_ANSWER),
            room: Arc::new(Semaphore::new(limits::LARGE_ANSWERS)),
            kept: Arc::new(Semaphore::new(limits::KEPT_OBSERVATIONS / KIB)),
            core: Arc::new(Semaphore::new(1)),
        };
        let supervision = Supervision {
            handshake,
            state,
            recheck,
            check_every: options.check_every,
            now: options.now,
        };
        Ok((plugin, supervision))
    }

    /// What is known of the plugin, now and whenever it changes.
    pub fn state(&self) -> watch::Receiver<PluginState> {
        self.state.clone()
    }

    /// The kind of a target, as the plugin publishes it now.
    fn kind(&self, target: &Target) -> Option<Arc<Kind>> {
        let served = Arc::clone(&self.state.borrow().served);
        let mut kinds = served.kinds.iter();
        kinds
            .find(|kind| kind.resource_type == target.resource_type)
            .map(Arc::clone)
    }

    fn resources(&self, deadline: Timestamp, large: &LargeAnswer) -> ResourceServiceClient<Guarded> {
        let channel = self.channels.now().until(deadline, Arc::clone(&self.now));
        let channel = channel
            .at_most(self.max_answer_bytes + send::FRAMES)
            .counted(large.clone());
        ResourceServiceClient::new(channel).max_decoding_message_size(self.max_answer_bytes)
    }

    fn plugin_service(&self, deadline: Timestamp) -> PluginServiceClient<Guarded> {
        let channel = self.channels.now().until(deadline, Arc::clone(&self.now));
        let channel = channel.at_most(send::MOST_RECEIVED);
        PluginServiceClient::new(channel).max_decoding_message_size(limits::ANSWER)
    }

    /// Waits until the plugin takes one call more: only one that takes a single call at a time lets any wait here.
    async fn begin_call(
        &self,
        state: &PluginState,
        deadline: Timestamp,
    ) -> Result<OwnedSemaphorePermit, CallError> {
        let in_flight = Arc::clone(&state.in_flight);
        if let Ok(permit) = Arc::clone(&in_flight).try_acquire_owned() {
            return Ok(permit);
        }
        match timeout(send::left(&self.now, deadline)?, in_flight.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(status::not_sent(
                "the plugin takes no further call, and none ended before the deadline".into(),
            )),
        }
    }

    /// A permit as any other, or the one that is kept: the caller may hold one already, and must not wait for itself.
    async fn acquire_for_own_question(&self) -> Permit {
        let reserved = Arc::clone(&self.state.borrow().reserved);
        tokio::select! {
            biased;
            permit = self.acquire() => permit,
            Ok(permit) = reserved.acquire_owned() => Permit::holding(permit),
        }
    }

    /// One at a time. In a simulation there is one thread alone.
    async fn compute<T>(&self, work: impl FnOnce() -> T) -> T {
        let _turn = one_of(&self.core).await;
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::MultiThread => block_in_place(work),
            _ => work(),
        }
    }

    /// A call that may change something, by the method that serves it.
    async fn send_call<Q, A, F>(
        &self,
        method: &'static str,
        call: &Call,
        send: impl FnOnce(ResourceServiceClient<Guarded>, Request<Q>) -> F,
    ) -> Answer
    where
        Q: Message + for<'a> TryFrom<&'a Call, Error = Violation>,
        Outcome: TryFrom<A, Error = Violation>,
        F: Future<Output = Result<Response<A>, Status>>,
    {
        call.check()
            .map_err(|violation| status::not_sent(violation.to_string()))?;
        let request = Q::try_from(call).map_err(|violation| status::not_sent(violation.to_string()))?;
        // Counts until the answer is parsed: that is when it takes most.
        let large = self.large_outcomes.one();
        let client = self.resources(call.deadline, &large);
        let secrets = SentSecrets::of(&call.target.config, Some(&call.desired));
        let answer = self
            .call(
                About {
                    method,
                    target: Some(&call.target),
                    large: Some(&large),
                },
                request,
                call.deadline,
                |answer| {
                    let outcome = answer::outcome(answer, call, self.kind(&call.target).as_deref(), || {
                        self.recheck.notify_one();
                    });
                    outcome.map(|outcome| secrets.hide_in_answer(outcome))
                },
                |request| send(client, request),
            )
            .await;
        answer.map_err(|error| secrets.hide_in_error(error))
    }

    /// One call, reported to the observer: sent only before its deadline, its answer checked. `check` takes the secrets out, too, as the observer keeps
    /// some words of an answer.
    async fn call<Q, A, T, F>(
        &self,
        about: About<'_>,
        request: Q,
        deadline: Timestamp,
        check: impl FnOnce(A) -> Answered<T>,
        call: impl FnOnce(Request<Q>) -> F,
    ) -> Result<T, CallError>
    where
        Q: Message,
        T: Describe,
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let About {
            method,
            target,
            large,
        } = about;
        let state = self.state.borrow().clone();
        let _in_flight = self.begin_call(&state, deadline).await?;
        let begun = Instant::now();
        let result = match send(&state, &self.now, request, deadline, call).await {
            Ok(answer) if large.is_some_and(LargeAnswer::is_large) => {
                self.compute(|| send::checked(answer, check)).await
            }
            Ok(answer) => send::checked(answer, check),
            Err(error) => Err(error),
        };
        let code = match &result {
            Ok(_) => "OK",
            Err(CallError::Rejected { code, .. } | CallError::Unknown { code, .. }) => code,
            Err(CallError::Unreachable { .. }) => status::NOT_SENT,
        };
        if status::triggers_recheck(code) {
            self.recheck.notify_one();
        }
        let kind = target
            .map(|target| target.resource_type.to_string())
            .unwrap_or_default();
        self.observer.ended(&CallRecord {
            plugin: &state.served.info.name,
            method,
            kind: &kind,
            owner: target.map_or("", |target| &target.owner.uid),
            code,
            described: &result
                .as_ref()
                .map_or_else(Describe::described, Describe::described),
            took: begun.elapsed(),
        });
        result
    }
}

/// What a call is about.
struct About<'a> {
    method: &'static str,
    /// `None`: a config.
    target: Option<&'a Target>,
    /// How its answer counts among the large ones; `None`: it does not.
    large: Option<&'a LargeAnswer>,
}

/// A permit of a semaphore, as soon as one is free.
async fn one_of(semaphore: &Arc<Semaphore>) -> Permit {
    // They are never closed.
    let permit = Arc::clone(semaphore).acquire_owned().await;
    permit.map_or_else(|_| Permit::unlimited(), Permit::holding)
}

#[async_trait]
impl External for Plugin {
    fn try_acquire(&self) -> Option<Permit> {
        let permits = Arc::clone(&self.state.borrow().permits);
        permits.try_acquire_owned().ok().map(Permit::holding)
    }

    async fn acquire(&self) -> Permit {
        let permits = Arc::clone(&self.state.borrow().permits);
        one_of(&permits).await
    }

    fn try_acquire_room(&self) -> Option<Permit> {
        let room = Arc::clone(&self.room);
        room.try_acquire_owned().ok().map(Permit::holding)
    }

    async fn acquire_room(&self) -> Permit {
        one_of(&self.room).await
    }

    fn try_keep(&self, bytes: usize) -> Option<Permit> {
        let kib = u32::try_from(bytes.div_ceil(KIB)).ok()?;
        let kept = Arc::clone(&self.kept).try_acquire_many_owned(kib);
        kept.ok().map(Permit::holding)
    }

    async fn compute(&self, work: &mut (dyn FnMut() + Send)) {
        self.compute(work).await;
    }

    async fn observe(
        &self,
        target: &Target,
        desired: &DesiredState,
        deadline: Timestamp,
    ) -> Result<ObserveResult, CallError> {
        let request = ObserveRequest::of(target, desired)
            .map_err(|violation| status::not_sent(violation.to_string()))?;
        let large = self.large_observations.one();
        let mut client = self.resources(deadline, &large);
        let secrets = SentSecrets::of(&target.config, Some(desired));
        let result = self
            .call(
                About {
                    method: "Observe",
                    target: Some(target),
                    large: Some(&large),
                },
                request,
                deadline,
                |answer| {
                    let kind = self.kind(target);
                    let observed = answer::observed(answer, &target.external_name, kind.as_deref(), || {
                        self.recheck.notify_one();
                    });
                    observed.map(|observed| secrets.hide_in_answer(observed))
                },
                |request| async move { client.observe(request).await },
            )
            .await;
        result.map_err(|error| secrets.hide_in_error(error))
    }

    async fn execute(&self, call: &Call) -> Answer {
        match call.verb {
            Verb::Create => {
                self.send_call(
                    "Create",
                    call,
                    |mut client, request: Request<CreateRequest>| async move { client.create(request).await },
                )
                .await
            }
            Verb::Update => {
                self.send_call(
                    "Update",
                    call,
                    |mut client, request: Request<UpdateRequest>| async move { client.update(request).await },
                )
                .await
            }
            Verb::Delete => {
                self.send_call(
                    "Delete",
                    call,
                    |mut client, request: Request<DeleteRequest>| async move { client.delete(request).await },
                )
                .await
            }
            Verb::Poll => {
                self.send_call(
                    "PollOperation",
                    call,
                    |mut client, request: Request<PollOperationRequest>| async move {
                        client.poll_operation(request).await
                    },
                )
                .await
            }
            Verb::Observe => Err(status::not_sent(
                "a call to observe is no call that may change something".into(),
            )),
        }
    }

    async fn check_config(
        &self,
        config: &Config,
        deadline: Timestamp,
    ) -> Result<Result<String, Failure>, CallError> {
        let request = CheckConfigRequest {
            config: Some(config.into()),
        };
        let left = send::left(&self.now, deadline)?;
        let Ok(_permit) = timeout(left, self.acquire_for_own_question()).await else {
            return Err(status::not_sent(
                "no other call of the plugin ended before the deadline".into(),
            ));
        };
        let mut client = self.plugin_service(deadline);
        let secrets = SentSecrets::of(config, None);
        let verdict = self
            .call(
                About {
                    method: "CheckConfig",
                    target: None,
                    large: None,
                },
                request,
                deadline,
                |answer| Ok(secrets.hide_in_answer(answer::config_checked(answer)?)),
                |request| async move { client.check_config(request).await },
            )
            .await;
        verdict.map_err(|error| secrets.hide_in_error(error))
    }
}
