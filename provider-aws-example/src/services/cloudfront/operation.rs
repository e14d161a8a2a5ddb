//! Operations on distributions: AWS deploys each change to all edge locations, which takes minutes.

pub(super) mod poll;

use crossbridge_sdk::{Failure, Operation, OperationVerb, Outcome};

use super::kind::Distribution;
use super::read::{ObservedDistribution, observation};
use crate::context::CallContext;
use crate::operation_handle::{NoDetails, OperationHandle};

/// The handle of an operation on a distribution.
pub(super) type DistributionHandle = OperationHandle<NoDetails>;

/// An operation that goes on.
pub(super) fn operation(context: &CallContext<'_>, id: &str, verb: OperationVerb) -> Operation {
    let handle = DistributionHandle::new(verb, id, NoDetails {});
    Operation::new(verb, handle.encode()).poll_after(context.poll_interval)
}

/// The outcome of a creation or an update: completed once the change is deployed.
pub(super) fn deployment(
    context: &CallContext<'_>,
    observed: &ObservedDistribution,
    verb: OperationVerb,
) -> Result<Outcome<Distribution>, Failure> {
    if observed.is_deployed() {
        return Ok(Outcome::observed(observation(context, observed)?));
    }
    let operation = operation(context, observed.id(), verb)
        .phase("Deploying")
        .message("AWS is deploying it to all edge locations");
    Ok(observed.name_outcome(Outcome::operation(operation)))
}

/// The outcome of a deletion that goes on. It advances only when it is polled.
pub(super) fn deletion(context: &CallContext<'_>, id: &str) -> Outcome<Distribution> {
    let operation = operation(context, id, OperationVerb::Delete)
        .poll_driven()
        .phase("Disabling")
        .message("it is disabled, and deleted once that is deployed to all edge locations");
    Outcome::operation(operation).external_name(id)
}
