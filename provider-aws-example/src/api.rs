//! Requests to AWS, and what its errors mean.

mod class;
mod error;

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use crossbridge_sdk::{Deadline, Effect};

pub(crate) use class::ErrorClass;
pub(crate) use error::ApiError;

/// Kept back of the deadline, so that our own answer, which knows the effect, comes before the SDK's for calls that ran out of time.
const RESPONSE_MARGIN: Duration = Duration::from_millis(100);

/// A request on its way. Boxed, as the SDK's own futures are many kilobytes.
pub(crate) type Request<'a, T> = Pin<Box<dyn Future<Output = Result<T, ApiError>> + Send + 'a>>;

/// The error of any operation of any AWS service.
pub(crate) trait ServiceError: ProvideErrorMetadata + Error + Send + 'static {}

impl<E: ProvideErrorMetadata + Error + Send + 'static> ServiceError for E {}

/// The requests that one call sends, one after another. Knows how much time is left, and whether any of them has changed something, on
/// which the effect of a failure depends.
#[derive(Debug)]
pub(crate) struct Requests {
    deadline: Deadline,
    changed: AtomicBool,
    /// The region that they go to, if it is not the config's own: the account may not be enabled there.
    elsewhere: Option<String>,
}

impl Requests {
    pub(crate) fn new(deadline: Deadline) -> Self {
        Self {
            deadline,
            changed: AtomicBool::new(false),
            elsewhere: None,
        }
    }

    /// The same, which go to this region, and not to that of the config.
    pub(crate) fn elsewhere(self, region: Option<String>) -> Self {
        Self {
            elsewhere: region,
            ..self
        }
    }

    /// A request that changes nothing. `action` is its name in an IAM policy: `s3:GetBucketTagging`.
    pub(crate) fn read<'a, T: 'a, E: ServiceError>(
        &'a self,
        action: &'static str,
        request: impl Future<Output = Result<T, SdkError<E, HttpResponse>>> + Send + 'a,
    ) -> Request<'a, T> {
        Box::pin(async move {
            self.bounded(action, request)
                .await
                .map_err(|error| error.with_effect(self.effect()))
        })
    }

    /// A request that changes something. `action` is its name in an IAM policy: `s3:PutBucketTagging`.
    pub(crate) fn write<'a, T: 'a, E: ServiceError>(
        &'a self,
        action: &'static str,
        request: impl Future<Output = Result<T, SdkError<E, HttpResponse>>> + Send + 'a,
    ) -> Request<'a, T> {
        Box::pin(async move {
            match self.bounded(action, request).await {
                Ok(response) => {
                    self.changed.store(true, Ordering::Relaxed);
                    Ok(response)
                }
                Err(error) if error.is_without_effect() || self.has_changed() => {
                    Err(error.with_effect(self.effect()))
                }
                Err(error) => Err(error.with_effect(Effect::Unknown)),
            }
        })
    }

    /// Whether a request of this call has changed something.
    pub(crate) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// The effect of a call that fails now, if its last request has done nothing.
    pub(crate) fn effect(&self) -> Effect {
        if self.has_changed() {
            Effect::Partial
        } else {
            Effect::None
        }
    }

    /// Dropping the request when time is up ends it: nothing is sent after the deadline.
    async fn bounded<T, E: ServiceError>(
        &self,
        action: &'static str,
        request: impl Future<Output = Result<T, SdkError<E, HttpResponse>>>,
    ) -> Result<T, ApiError> {
        let time = self.deadline.remaining().saturating_sub(RESPONSE_MARGIN);
        if time.is_zero() {
            return Err(ApiError::deadline_passed(action));
        }
        match tokio::time::timeout(time, request).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(ApiError::from_sdk(action, &error).in_region(self.elsewhere.as_deref())),
            Err(_) => Err(ApiError::timed_out(action, time)),
        }
    }
}
