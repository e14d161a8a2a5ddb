//! Objects that cannot be read as they are. What such a one says is not known, so nothing is done about it but to say so: what is missing in a
//! reading would be taken out by the next write.

use std::sync::Arc;

use bridge_core::{
    composite::{names::CROSSPLANE_MANAGER, with_condition},
    queue::Priority,
    reasons::{ConditionReason, Reason, UsageReason},
};

use crate::{
    api_error::ApiError,
    composite::CompositeShared,
    event::{EventRecorder, EventType},
    object::{Object, Unreadable},
    reconcile::Next,
    write::Writer,
};

/// The source of the event.
const SOURCE: &str = "crossbridge";

/// A write that failed is tried again after this.
const AGAIN: std::time::Duration = std::time::Duration::from_secs(5);

/// Why nothing is done about an object.
pub(crate) fn cannot_read(object: &Object) -> String {
    let why = object.unreadable().unwrap_or(Unreadable::TooDeep);
    format!(
        "cannot read {} {:?}: {why}",
        object.api.kind.kind(),
        object.name()
    )
}

/// The object, if it can be read.
pub(crate) fn readable(object: Arc<Object>) -> Result<Arc<Object>, ApiError> {
    if object.is_readable() {
        return Ok(object);
    }
    Err(ApiError::Unusable(cannot_read(&object)))
}

/// Which condition says so.
#[derive(Clone, Copy)]
pub(crate) enum Said {
    /// Of a composite resource or a claim.
    Synced,
    /// Of a usage.
    Ready,
}

/// Says so in the status of the object, and leaves it alone until it changes.
pub(crate) async fn report_unreadable(shared: &CompositeShared, object: &Arc<Object>, said: Said) -> Next {
    if !shared.may_act() {
        return Next::at(shared.clock.now() + AGAIN, Priority::DriftPoll);
    }
    let writer = shared
        .writer
        .for_reconcile(&object.key())
        .as_manager(CROSSPLANE_MANAGER);
    match write(shared, &writer, object, said).await {
        Ok(()) => Next::idle(),
        Err(error) => {
            tracing::warn!(object = %object.key(), %error, "failed to write that the object cannot be read, will retry");
            Next::at(shared.clock.now() + AGAIN, Priority::DriftPoll)
        }
    }
}

/// None is written over one that cannot be read.
pub(crate) fn report_unreadable_status(events: &EventRecorder, object: &Object) {
    let message = cannot_read(object);
    tracing::warn!(object = %object.key(), message);
    let reason = ConditionReason::ReconcileError.as_str();
    events.record_as(SOURCE, object, EventType::Warning, reason, &message);
}

async fn write(
    shared: &CompositeShared,
    writer: &Writer,
    object: &Arc<Object>,
    said: Said,
) -> Result<(), ApiError> {
    if !object.has_readable_status() {
        report_unreadable_status(&shared.events, object);
        return Ok(());
    }
    let before = object.status_value();
    let (type_, reason): (_, Reason) = match said {
        Said::Synced => ("Synced", ConditionReason::ReconcileError.into()),
        Said::Ready => ("Ready", UsageReason::Unreadable.into()),
    };
    let (message, now) = (cannot_read(object), shared.clock.now());
    let Some(status) = with_condition(&before, type_, reason, &message, object.generation(), now) else {
        return Ok(());
    };
    let mut reported = Object::clone(object);
    reported.set_status(&status);
    writer.put_status(&reported).await.map(drop)
}
