//! Whether a create may be sent once more under its token.

use jiff::Timestamp;

use super::{location::same_location, time::effects_end_at};
use crate::managed::{
    reconcile_memory::ReconcileMemory,
    record::{Intent, Record, RecordedParameters},
    snapshot::{ResolvedDesiredState, Snapshot},
};
use crate::{kind::CreateRecovery, rule::Rule};

/// A repeat must carry the same request, to the same place, while the token is retained (traces 9 to 11). It may make something, so that a
/// policy that forbids this forbids the repeat; a deletion has to learn what there is to delete.
pub fn token_may_be_repeated(
    snapshot: &Snapshot,
    record: &Record,
    intent: &Intent,
    desired: &ResolvedDesiredState,
) -> bool {
    let capabilities = &snapshot.kind.capabilities;
    let retained = match intent.started_at.checked_add(capabilities.token_retention) {
        Ok(end) => {
            let last = intent.deadline.max(snapshot.now + snapshot.kind.timeouts.call);
            effects_end_at(snapshot, last) < end || Rule::RepeatWithinRetention.is_off() && snapshot.now < end
        }
        Err(_) => true, // For ever.
    };
    let allowed = Rule::PolicyForbidsRepeat.is_off()
        || snapshot.managed.policies.create
        || snapshot.managed.deletion.is_some();
    snapshot.recovers_by(CreateRecovery::ClientToken)
        && retained
        && allowed
        && request_is_the_same(snapshot, record, intent, desired)
}

/// The recorded request can still be sent as it was: parameters, and the config, whose id is part of a request by the contract. Secrets are not:
/// a token is repeated with those of today (trace 50).
pub fn request_is_the_same(
    snapshot: &Snapshot,
    record: &Record,
    intent: &Intent,
    desired: &ResolvedDesiredState,
) -> bool {
    let parameters = match &intent.parameters {
        RecordedParameters::Whole(_) => true,
        RecordedParameters::Digest(digest) => *digest == desired.digest,
    };
    let config = snapshot.config.as_ref();
    let config = config.is_ok_and(|config| config.id == record.config.id) && same_location(snapshot, record);
    parameters && config
}

/// The record knows with which secrets the call goes, or that nobody knows any more which of several the resource holds.
pub fn secrets_are_recorded(record: &Record, intent: &Intent, desired: &ResolvedDesiredState) -> bool {
    let unknown = intent.attempt > 0 && record.sensitive_digest.is_empty();
    unknown || record.sensitive_digest == desired.sensitive_digest
}

/// This process was answered that the create had its effect: another repeat would tell it nothing new.
pub fn created_at(memory: &ReconcileMemory, intent: &Intent) -> Option<Timestamp> {
    let (attempt, at) = memory.created.as_ref()?;
    attempt.is_of(intent).then_some(*at)
}
