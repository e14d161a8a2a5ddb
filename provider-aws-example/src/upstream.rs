//! The steps of a call to AWS, and what AWS answers to them.

mod class;
mod refusal;

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use crossbridge_sdk::{Deadline, Effect};

pub(crate) use class::Class;
pub(crate) use refusal::Refusal;

/// Kept back of the deadline, so that our own answer, which knows the effect, comes before the one for calls that were cut.
const FOR_THE_ANSWER: Duration = Duration::from_millis(100);

/// What a request of the AWS SDK gives.
pub(crate) type Answer<T, E> = Result<T, SdkError<E, HttpResponse>>;

/// A request on its way. Boxed, as the SDK's own futures are many kilobytes.
pub(crate) type Step<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// An error of any operation of any service.
pub(crate) trait AwsError: ProvideErrorMetadata + Error + Send + 'static {}

impl<E: ProvideErrorMetadata + Error + Send + 'static> AwsError for E {}

/// The requests that one call makes, one after another. Knows how long there is, and whether any of them has changed
/// something: a failure's effect depends on it.
#[derive(Debug)]
pub(crate) struct Steps {
    deadline: Deadline,
    changed: AtomicBool,
}

impl Steps {
    pub(crate) fn new(deadline: Deadline) -> Self {
        Self {
            deadline,
            changed: AtomicBool::new(false),
        }
    }

    /// A request that changes nothing. `what` is its name in a policy: `s3:GetBucketTagging`.
    pub(crate) fn read<'a, T: 'a, E: AwsError>(
        &'a self,
        what: &'static str,
        request: impl Future<Output = Answer<T, E>> + Send + 'a,
    ) -> Step<'a, T> {
        Box::pin(async move {
            self.bounded(what, request)
                .await
                .map_err(|refusal| refusal.with_effect(self.effect()))
        })
    }

    /// A request that changes something.
    pub(crate) fn change<'a, T: 'a, E: AwsError>(
        &'a self,
        what: &'static str,
        request: impl Future<Output = Answer<T, E>> + Send + 'a,
    ) -> Step<'a, T> {
        Box::pin(async move {
            match self.bounded(what, request).await {
                Ok(done) => {
                    self.changed.store(true, Ordering::Relaxed);
                    Ok(done)
                }
                Err(refusal) if refusal.is_certain() || self.has_changed() => {
                    Err(refusal.with_effect(self.effect()))
                }
                Err(refusal) => Err(refusal.with_effect(Effect::Unknown)),
            }
        })
    }

    /// Whether a step of this call has changed something.
    pub(crate) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// What is true of the steps before, if the one at hand has done nothing.
    pub(crate) fn effect(&self) -> Effect {
        if self.has_changed() {
            Effect::Partial
        } else {
            Effect::None
        }
    }

    /// Dropping the request when time is up ends it: nothing is begun after the deadline.
    async fn bounded<T, E: AwsError>(
        &self,
        what: &'static str,
        request: impl Future<Output = Answer<T, E>>,
    ) -> Result<T, Refusal> {
        let time = self.deadline.remaining().saturating_sub(FOR_THE_ANSWER);
        if time.is_zero() {
            return Err(Refusal::no_time(what));
        }
        match tokio::time::timeout(time, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(Refusal::of(what, &error)),
            Err(_) => Err(Refusal::timed_out(what, time)),
        }
    }
}
