//! A Kubernetes object, as a bridge calls a plugin on its behalf.

use std::time::Duration;

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_proto::v1alpha1::resource_service_client::ResourceServiceClient;
use serde_json::Value;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use super::answer::{Ended, Look};
use super::{PATIENCE, World, document};

/// A Kubernetes object as a bridge speaks of it.
#[derive(Clone)]
pub struct Object<'w> {
    pub(super) world: &'w World,
    pub resource_type: wire::ResourceType,
    pub config: wire::ConfigContext,
    pub external_name: String,
    pub marker: String,
    pub former_marker: String,
    pub provider_state: String,
    pub wish: Value,
    pub token: String,
    pub timeout: Duration,
}

impl Object<'_> {
    fn client(&self) -> ResourceServiceClient<Channel> {
        ResourceServiceClient::new(self.world.channel.clone())
    }

    fn target(&self) -> wire::Target {
        wire::Target {
            resource_type: Some(self.resource_type.clone()),
            config: Some(self.config.clone()),
            owner: Some(wire::ObjectRef {
                namespace: "default".to_owned(),
                name: "thing".to_owned(),
                uid: "uid-1".to_owned(),
                generation: 1,
            }),
            external_name: self.external_name.clone(),
            ownership_marker: self.marker.clone(),
            former_marker: self.former_marker.clone(),
            provider_state: self.provider_state.clone(),
        }
    }

    fn desired(&self) -> wire::DesiredState {
        wire::DesiredState {
            parameters: Some(document(&self.wish)),
            ..Default::default()
        }
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(self.timeout);
        request
    }

    pub async fn look(&self) -> Look {
        self.try_look().await.expect("the look is processed")
    }

    pub async fn try_look(&self) -> Result<Look, Status> {
        let request = wire::ObserveRequest {
            target: Some(self.target()),
            desired: Some(self.desired()),
        };
        let answer = self.client().observe(self.request(request)).await?;
        Ok(answer.into_inner().result.expect("a look has a result"))
    }

    /// What was found; panics if nothing was.
    pub async fn found(&self) -> wire::Observation {
        match self.look().await {
            Look::Observation(observation) => observation,
            other => panic!("nothing was found: {other:?}"),
        }
    }

    /// The name under which nothing was found; panics if something was.
    pub async fn absent(&self) -> String {
        match self.look().await {
            Look::Absent(absent) => absent.external_name,
            other => panic!("it is not absent: {other:?}"),
        }
    }

    /// Why it could not be looked at; panics if it could.
    pub async fn look_failure(&self) -> wire::Failure {
        match self.look().await {
            Look::Failure(failure) => failure,
            other => panic!("the look did not fail: {other:?}"),
        }
    }

    pub async fn create(&self) -> wire::Outcome {
        self.create_call(false).await
    }

    /// After a creation whose end is unknown.
    pub async fn create_again(&self) -> wire::Outcome {
        self.create_call(true).await
    }

    async fn create_call(&self, outcome_unknown: bool) -> wire::Outcome {
        let request = wire::CreateRequest {
            target: Some(self.target()),
            desired: Some(self.desired()),
            client_request_token: self.token.clone(),
            outcome_unknown,
        };
        let answer = self.client().create(self.request(request)).await;
        outcome(answer, |answer| answer.outcome)
    }

    pub async fn update(&self) -> wire::Outcome {
        self.update_if("").await
    }

    pub async fn update_if(&self, etag: &str) -> wire::Outcome {
        let request = wire::UpdateRequest {
            target: Some(self.target()),
            desired: Some(self.desired()),
            changed_paths: Vec::new(),
            etag: etag.to_owned(),
        };
        let answer = self.client().update(self.request(request)).await;
        outcome(answer, |answer| answer.outcome)
    }

    pub async fn delete(&self) -> wire::Outcome {
        self.delete_if("").await
    }

    pub async fn delete_if(&self, etag: &str) -> wire::Outcome {
        let request = wire::DeleteRequest {
            target: Some(self.target()),
            desired: Some(self.desired()),
            etag: etag.to_owned(),
        };
        let answer = self.client().delete(self.request(request)).await;
        outcome(answer, |answer| answer.outcome)
    }

    pub async fn poll(&self, handle: &str) -> wire::Outcome {
        self.try_poll(handle).await.expect("the poll is processed")
    }

    pub async fn try_poll(&self, handle: &str) -> Result<wire::Outcome, Status> {
        let request = wire::PollOperationRequest {
            target: Some(self.target()),
            handle: handle.to_owned(),
            desired: Some(self.desired()),
        };
        let answer = self.client().poll_operation(self.request(request)).await?;
        Ok(answer.into_inner().outcome.expect("an answer has an outcome"))
    }

    /// Takes the name of an outcome, and polls its operation, if there is one, until it ends. Returns the end, and how many polls it
    /// took.
    pub async fn follow(&mut self, mut outcome: wire::Outcome) -> (wire::Outcome, usize) {
        let mut polls = 0;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            if !outcome.external_name.is_empty() {
                self.external_name.clone_from(&outcome.external_name);
            }
            let Some(Ended::Operation(operation)) = &outcome.result else {
                return (outcome, polls);
            };
            assert!(
                tokio::time::Instant::now() < deadline,
                "the operation does not end: {operation:?}"
            );
            let handle = operation.handle.clone();
            tokio::time::sleep(Duration::from_millis(5)).await;
            outcome = self.poll(&handle).await;
            polls += 1;
        }
    }
}

fn outcome<T>(
    answer: Result<Response<T>, Status>,
    take: impl FnOnce(T) -> Option<wire::Outcome>,
) -> wire::Outcome {
    take(answer.expect("the call is processed").into_inner()).expect("an answer has an outcome")
}
