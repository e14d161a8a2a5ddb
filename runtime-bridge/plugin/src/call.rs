//! The calls, each bounded by an absolute deadline.

use std::{future::Future, sync::Arc};

use bridge_core::{
    external::{Answer, CallError, Config, DesiredState, Failure, Look, Target},
    kind::DiffMode,
};
use crossbridge_proto::{
    checked::OperationVerb,
    v1alpha1::{plugin_service_client::PluginServiceClient, resource_service_client::ResourceServiceClient},
};
use jiff::Timestamp;
use prost::Message;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tonic::{Request, Response, Status, transport::Channel};

use crate::{
    HandshakeError, Options, Supervision,
    answer::{self, Answered},
    channel::Channels,
    guard::Guarded,
    handshake::{Handshake, MOST_ANSWER_BYTES},
    observer::{CallObserver, CallRecord, Told},
    request,
    send::send,
    state::State,
    status,
    supervision::Now,
};

/// A plugin, as many tasks share it. Clones are the same plugin.
#[derive(Clone)]
pub struct Plugin {
    channels: Channels,
    state: watch::Receiver<State>,
    doubts: Arc<Notify>,
    observer: Arc<dyn CallObserver>,
    now: Now,
}

impl Plugin {
    /// Shakes hands and fetches every kind, each question bounded by 5 s. Calls work while the [`Supervision`] is not run; a
    /// restart is then not noticed.
    pub async fn connect(options: Options) -> Result<(Self, Supervision), HandshakeError> {
        let channels = Channels::new(&options.endpoint, options.tls.as_ref())?;
        Self::connect_by(channels, options).await
    }

    /// The same over a channel that exists, and is never made anew: a simulation has no sockets.
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
        let (state, watched) = watch::channel(State::new(handshake.all(None).await?));
        let doubts = Arc::new(Notify::new());
        let plugin = Self {
            channels,
            state: watched,
            doubts: Arc::clone(&doubts),
            observer: options.observer,
            now: Arc::clone(&options.now),
        };
        let supervision = Supervision {
            handshake,
            state,
            doubts,
            check_every: options.check_every,
            now: options.now,
        };
        Ok((plugin, supervision))
    }

    /// What is known of the plugin, now and whenever it changes.
    pub fn state(&self) -> watch::Receiver<State> {
        self.state.clone()
    }

    /// Look.
    pub async fn observe(
        &self,
        target: &Target,
        desired: &DesiredState,
        deadline: Timestamp,
    ) -> Result<Look, CallError> {
        let request = request::observe(target, desired)?;
        let mut client = self.resources(deadline);
        self.call(
            "Observe",
            Some(target),
            request,
            deadline,
            |answer| answer::look(answer, self.compares(target)),
            |request| async move { client.observe(request).await },
        )
        .await
    }

    /// Make one. `token` was stored beforehand; `outcome_unknown`: an earlier call with it may have had an effect.
    pub async fn create(
        &self,
        target: &Target,
        desired: &DesiredState,
        token: &str,
        outcome_unknown: bool,
        deadline: Timestamp,
    ) -> Answer {
        let request = request::create(target, desired, token, outcome_unknown)?;
        let mut client = self.resources(deadline);
        self.call(
            "Create",
            Some(target),
            request,
            deadline,
            |answer| answer::outcome(answer, Some(OperationVerb::Create), &target.external_name),
            |request| async move { client.create(request).await },
        )
        .await
    }

    /// Change it in place.
    pub async fn update(
        &self,
        target: &Target,
        desired: &DesiredState,
        changed_paths: &[String],
        etag: &str,
        deadline: Timestamp,
    ) -> Answer {
        let request = request::update(target, desired, changed_paths, etag)?;
        let mut client = self.resources(deadline);
        self.call(
            "Update",
            Some(target),
            request,
            deadline,
            |answer| answer::outcome(answer, Some(OperationVerb::Update), &target.external_name),
            |request| async move { client.update(request).await },
        )
        .await
    }

    /// Remove it.
    pub async fn delete(
        &self,
        target: &Target,
        desired: &DesiredState,
        etag: &str,
        deadline: Timestamp,
    ) -> Answer {
        let request = request::delete(target, desired, etag)?;
        let mut client = self.resources(deadline);
        self.call(
            "Delete",
            Some(target),
            request,
            deadline,
            |answer| answer::outcome(answer, Some(OperationVerb::Delete), &target.external_name),
            |request| async move { client.delete(request).await },
        )
        .await
    }

    /// Follow an operation.
    pub async fn poll(
        &self,
        target: &Target,
        handle: &str,
        desired: &DesiredState,
        deadline: Timestamp,
    ) -> Answer {
        let request = request::poll(target, handle, desired)?;
        let mut client = self.resources(deadline);
        self.call(
            "PollOperation",
            Some(target),
            request,
            deadline,
            |answer| answer::outcome(answer, None, &target.external_name),
            |request| async move { client.poll_operation(request).await },
        )
        .await
    }

    /// Are these settings usable, and whom does the upstream take us for?
    pub async fn check_config(
        &self,
        config: &Config,
        deadline: Timestamp,
    ) -> Result<Result<String, Failure>, CallError> {
        let request = request::check_config(config);
        let mut client =
            PluginServiceClient::new(self.channels.now()).max_decoding_message_size(MOST_ANSWER_BYTES);
        self.call(
            "CheckConfig",
            None,
            request,
            deadline,
            answer::config_checked,
            |request| async move { client.check_config(request).await },
        )
        .await
    }

    /// Does the plugin compare wish and fact itself, for this kind?
    fn compares(&self, target: &Target) -> bool {
        let served = &self.state.borrow().served;
        let kind = served
            .kinds
            .iter()
            .find(|kind| kind.resource_type == target.resource_type);
        kind.is_some_and(|kind| kind.capabilities.diff_mode == DiffMode::Plugin)
    }

    fn resources(&self, deadline: Timestamp) -> ResourceServiceClient<Guarded> {
        let channel = self.channels.now().until(deadline, Arc::clone(&self.now));
        ResourceServiceClient::new(channel).max_decoding_message_size(MOST_ANSWER_BYTES)
    }

    /// One call, counted: sent only before its deadline and with a free place, its answer checked.
    async fn call<Q, A, T, F>(
        &self,
        method: &'static str,
        target: Option<&Target>,
        request: Q,
        deadline: Timestamp,
        check: impl FnOnce(A) -> Answered<T>,
        call: impl FnOnce(Request<Q>) -> F,
    ) -> Result<T, CallError>
    where
        Q: Message,
        T: Told,
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let begun = Instant::now();
        let state = self.state.borrow().clone();
        let result = send(&state, &self.now, request, deadline, check, call).await;
        let code = match &result {
            Ok(_) => "OK",
            Err(CallError::Refused { code, .. } | CallError::Unknown { code, .. }) => code,
        };
        if status::casts_doubt(code) {
            self.doubts.notify_one();
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
            told: &result.as_ref().map_or_else(Told::told, Told::told),
            took: begun.elapsed(),
        });
        result
    }
}
