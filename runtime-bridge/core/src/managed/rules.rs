//! The rules of design section 4, each one named predicate. Nearly all were shown to be needed by taking them out: see
//! `crash-traces` in the reliability documents for what happens without each.

use jiff::Timestamp;

use crate::{
    external::{
        Document, Effect, Failure, FailureCode, Observation, Operation, OperationVerb, OutcomeResult,
    },
    kind::{CreateRecovery, Kind, NameSource},
    rule::Rule,
};

use super::{
    diff::differences_by_rules,
    names,
    reconcile_memory::{LastObservation, ObservedState, ReconcileMemory},
    record::{ConfigIdentity, Intent, Record, RecordedParameters, Stored},
    snapshot::{Managed, ResolvedDesiredState, Snapshot},
    status::{OperationReport, Question},
    unanswered,
};

/// For at least so long an absence of what is known to exist is doubted.
const LEAST_DOUBT: std::time::Duration = std::time::Duration::from_secs(5);

/// Whose is it?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// Bears our marker.
    Owned,
    /// Bears a marker that a person has said is ours too.
    FormerlyOwned,
    /// Bears none, or the kind holds none.
    Unmarked,
    /// Bears another's.
    Foreign(String),
}

/// Reads the marker.
pub fn ownership(snapshot: &Snapshot, observation: &Observation) -> Ownership {
    match observation.found_marker.as_str() {
        "" => Ownership::Unmarked,
        marker if marker == snapshot.marker => Ownership::Owned,
        marker if marker == snapshot.former_marker() => Ownership::FormerlyOwned,
        marker => Ownership::Foreign(marker.to_owned()),
    }
}

/// By what right an object has an external resource; the greater goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnershipClaim {
    /// It is making one of this name.
    Intent,
    /// Its record says so, and is confirmed.
    Record,
    /// The resource bears its marker.
    Marker,
}

/// By what right the object has what was found; `None`: by none, whoever looked first.
pub fn ownership_claim(snapshot: &Snapshot, observation: &Observation) -> Option<OwnershipClaim> {
    if ownership(snapshot, observation) == Ownership::Owned {
        return Some(OwnershipClaim::Marker);
    }
    claim_by_record(&snapshot.managed, &observation.external_name)
}

/// What an object's record says of this name: it has the resource, or is making it, and may have made it (trace 40).
pub fn claim_by_record(managed: &Managed, name: &str) -> Option<OwnershipClaim> {
    let stored = managed.record();
    let Stored::Owned(record) = &*stored else {
        return None;
    };
    if record.external_name != name {
        return None;
    }
    if managed.confirms(record) {
        return Some(OwnershipClaim::Record);
    }
    let creates = record.create().is_some() && !record.name_conflict;
    (creates && !Rule::OthersCreationIsNotAdopted.is_off()).then_some(OwnershipClaim::Intent)
}

/// The other object's record names the same resource, by no lesser right than ours: it has it, or both are making it, and nobody can tell whose
/// it is (trace 45). Looks alone know more where the resource bears a marker.
pub fn is_conflicting(other: &Managed, name: &str, ours: Option<OwnershipClaim>) -> bool {
    let theirs = claim_by_record(other, name);
    let is_greater = theirs > ours || theirs == ours && !Rule::NeitherOfTwoCreators.is_off();
    theirs.is_some() && is_greater && ours < Some(OwnershipClaim::Record)
}

/// Two wishes that agree in all that cannot be changed speak of the same place, as far as one can tell: in another region, for instance, the same
/// name is another's.
pub fn denote_same_resource(kind: &Kind, one: &Document, other: &Document) -> bool {
    let parts = |desired, fact| {
        let differences = differences_by_rules(&kind.parameters_schema, &kind.field_rules, desired, fact);
        differences.iter().any(|difference| difference.needs_replacement)
    };
    Rule::FixedFieldsSeparate.is_off() || !parts(one, other) && !parts(other, one)
}

/// The name of what this object is about to make, where it is known beforehand: as long as nothing of it is recorded.
pub fn name_to_create(snapshot: &Snapshot, memory: &ReconcileMemory) -> Option<String> {
    let managed = &snapshot.managed;
    let makes =
        managed.policies.create && snapshot.kind.capabilities.can_create && managed.deletion.is_none();
    let recorded = match &*managed.record() {
        Stored::Owned(record) => bound(snapshot, record),
        Stored::None => false,
        Stored::Unreadable(_) => true,
    };
    if !makes || recorded {
        return None;
    }
    let Some(ObservedState::Absent(absent)) = memory
        .last_observation
        .as_ref()
        .map(|last_observation| &last_observation.found)
    else {
        return None;
    };
    let annotated = managed.annotation(names::EXTERNAL_NAME);
    match snapshot.kind.external_name.source {
        NameSource::User if annotated.is_empty() => Some(managed.name.clone()),
        NameSource::User => Some(annotated.to_owned()),
        NameSource::Derived => Some(absent.external_name.clone()).filter(|name| !name.is_empty()),
        NameSource::Provider => None,
    }
}

/// Another object of ours has what was found, and it does not bear our marker.
pub fn conflicting_object<'w>(snapshot: &'w Snapshot, observation: &Observation) -> Option<&'w str> {
    let unmarked = ownership(snapshot, observation) != Ownership::Owned;
    snapshot.conflicting_object.as_deref().filter(|_| unmarked)
}

/// Nothing of a call can happen after this.
pub fn effects_end_at(snapshot: &Snapshot, deadline: Timestamp) -> Timestamp {
    if Rule::CallsHaveMargin.is_off() {
        return deadline;
    }
    deadline + snapshot.margin()
}

/// A look that began later than this tells the truth about a create with this deadline.
pub fn resolves_at(snapshot: &Snapshot, deadline: Timestamp) -> Timestamp {
    let end = effects_end_at(snapshot, deadline);
    if Rule::WindowFollowsDeadline.is_off() {
        return end;
    }
    end + snapshot.kind.capabilities.consistency_window
}

/// Absence settles an unanswered create only if the look *began* after its time (traces 1 to 4).
pub fn absence_resolves(
    snapshot: &Snapshot,
    deadline: Timestamp,
    last_observation: &LastObservation,
) -> bool {
    let began = if Rule::ObservationBeginCounts.is_off() {
        snapshot.now
    } else {
        last_observation.began
    };
    matches!(last_observation.found, ObservedState::Absent(_))
        && (Rule::AbsenceResolvesAfterTime.is_off() || began > resolves_at(snapshot, deadline))
}

/// After this answer the call does nothing more. A plugin that cannot tell the effect has given up, not the upstream (trace 35).
pub fn is_terminal(result: &OutcomeResult) -> bool {
    match result {
        OutcomeResult::Completed(_) | OutcomeResult::Operation(_) => true,
        OutcomeResult::Failure(failure) => {
            failure.effect == Effect::None || Rule::UnknownEffectEndsNothing.is_off()
        }
    }
}

/// This process wrote the intent, or tried to, and never began its call: there is nothing to recover (trace 37).
pub fn is_certainly_unsent(memory: &ReconcileMemory, intent: &Intent) -> bool {
    let is_first = intent.attempt == 0 || Rule::FirstAttemptAloneIsUnsent.is_off();
    memory.unsent.contains(&intent.token) && is_first && !Rule::UnsentIsClosed.is_off()
}

/// One call at a time: until then a recorded call may still run, so no new intent is written and no Delete sent (trace 12).
/// An answer to this process ends attempt 0; of later ones an earlier attempt may still be on its way.
pub fn may_still_run_until(
    snapshot: &Snapshot,
    record: &Record,
    memory: &ReconcileMemory,
) -> Option<Timestamp> {
    let ended = |intent: &Intent| {
        memory
            .answered
            .as_ref()
            .is_some_and(|((token, attempt), deadline)| {
                *token == intent.token && *attempt == 0 && *deadline == intent.deadline
            })
    };
    let deadline = match &record.intent {
        Some(_) if Rule::AnswerEndsFirstAttempt.is_off() => None,
        Some(intent) if intent.attempt == 0 && ended(intent) => None,
        Some(intent) if is_certainly_unsent(memory, intent) => None,
        Some(intent) => Some(intent.deadline),
        None => record.deadline,
    };
    deadline
        .map(|deadline| effects_end_at(snapshot, deadline))
        .filter(|over| !Rule::OneCallAtATime.is_off() && *over > snapshot.now)
}

/// The create is confirmed: by metadata, or by the status that names its token.
pub fn confirmed(snapshot: &Snapshot, record: &Record) -> bool {
    snapshot.managed.confirms(record)
}

/// What an unanswered create may have made is looked for where it was wished for, though a wish that was edited since may mean another
/// place, a region for instance (trace 33). `None`: the wish is still the recorded one, or is not known whole.
pub fn observed_as_recorded<'i>(intent: &'i Intent, desired: &ResolvedDesiredState) -> Option<&'i Document> {
    match &intent.parameters {
        RecordedParameters::Whole(recorded) => {
            let is_other = *recorded != desired.parameters && !Rule::CreateObservedAsRecorded.is_off();
            is_other.then_some(recorded)
        }
        RecordedParameters::Digest(_) => None,
    }
}

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

/// The config still means the place that the record speaks of: elsewhere, absence means nothing.
pub fn same_location(snapshot: &Snapshot, record: &Record) -> bool {
    snapshot.config.as_ref().is_ok_and(|config| {
        Rule::AbsenceElsewhereMeansNothing.is_off()
            || record.config.shares_names_with(&ConfigIdentity::of(config))
    })
}

/// The config acts in another account than the one that the record speaks of, as far as both are told. What is found there is not ours, unless
/// it bears our marker; nor is anything asked there about an operation of ours (trace 34).
pub fn in_another_account(snapshot: &Snapshot, record: &Record) -> bool {
    let config = snapshot.config.as_ref();
    config.is_ok_and(|config| record.config.acts_as_another(&ConfigIdentity::of(config)))
}

/// Found in another account, and nothing says that it is ours.
pub fn found_in_another_account(snapshot: &Snapshot, record: &Record, observation: &Observation) -> bool {
    let marked = matches!(
        ownership(snapshot, observation),
        Ownership::Owned | Ownership::FormerlyOwned
    );
    let is_foreign = bound(snapshot, record) && !marked && in_another_account(snapshot, record);
    is_foreign && !Rule::OtherAccountIsForeign.is_off()
}

/// `EFFECT_NONE` settles an intent only as the answer to attempt 0 while no other exists, or to one *alone* whose request itself was refused
/// (traces 6, 7, 25).
pub fn rejection_resolves(intent: &Intent, attempt: u32, failure: &Failure) -> bool {
    failure.effect == Effect::None
        && attempt == intent.attempt
        && (Rule::NoEffectResolvesFirstAttempt.is_off()
            || attempt == 0
            || (intent.exclusive && rejects_request(failure.code)))
}

/// The end of the recorded operation settles only if it was that of attempt 0 while no other exists, or of one *alone* (traces 23, 24): an
/// attempt that is still on its way may find the token free again.
pub fn failed_operation_resolves(intent: &Intent, handle: &str, failure: &Failure) -> bool {
    let of_attempt = intent
        .operation
        .as_ref()
        .filter(|operation| operation.handle == handle)
        .map(|operation| operation.attempt);
    let speaks_of_it = match failure.code {
        FailureCode::OperationFailed => true,
        FailureCode::OperationExpired if Rule::ExpiredOperationResolvesNothing.is_off() => true,
        _ => Rule::OperationFailedSpeaksAlone.is_off(),
    };
    let is_of_newest = Rule::OperationOfNewestAttemptResolves.is_off() || of_attempt == Some(intent.attempt);
    let is_alone = Rule::OperationOfRepeatResolvesNothing.is_off() || intent.attempt == 0 || intent.exclusive;
    speaks_of_it && failure.effect == Effect::None && is_of_newest && is_alone
}

/// A repeat refused like this ends the token's turn: the next recovery's is next. Not found: what it made is gone again.
pub fn exhausts_token(attempt: u32, failure: &Failure) -> bool {
    !Rule::RejectedRepeatExhaustsToken.is_off()
        && attempt > 0
        && failure.effect == Effect::None
        && (rejects_request(failure.code)
            || matches!(
                failure.code,
                FailureCode::AlreadyExists | FailureCode::TokenReused | FailureCode::NotFound
            ))
}

fn rejects_request(code: FailureCode) -> bool {
    matches!(
        code,
        FailureCode::InvalidSpec | FailureCode::ImmutableField | FailureCode::Unsupported
    )
}

/// A known name that reads as absent is believed only if a later look, begun after the consistency window, finds it absent too (trace 29).
pub fn absence_confirmed(
    snapshot: &Snapshot,
    memory: &ReconcileMemory,
    last_observation: &LastObservation,
) -> bool {
    let began = if Rule::SecondAbsenceBeganAfterWindow.is_off() {
        snapshot.now
    } else {
        last_observation.began
    };
    matches!(last_observation.found, ObservedState::Absent(_))
        && memory.absent_since.is_some_and(|first| {
            Rule::AbsenceNeedsConfirmation.is_off() || began > absence_believed_after(snapshot, first)
        })
}

/// Only an observation that begins later confirms an absence first seen at `first`: a moment's 404 is none, whatever the kind declares
/// (trace 47).
pub fn absence_believed_after(snapshot: &Snapshot, first: Timestamp) -> Timestamp {
    let window = snapshot.kind.capabilities.consistency_window;
    if Rule::MomentaryAbsenceIsDoubted.is_off() {
        return first + window;
    }
    first + window.max(LEAST_DOUBT)
}

/// A Delete needs an intent where a successor can have the same name (traces 13, 31). A marker protects another object's, if the upstream
/// compares and deletes in one step, and never the replacement, which is of the same object (trace 43).
pub fn delete_needs_intent(snapshot: &Snapshot) -> bool {
    let by_marker = Rule::MarkerReplacesNoIntent.is_off() && snapshot.recovers_by(CreateRecovery::Marker);
    !snapshot.is_named_upstream() && !by_marker && !Rule::DeleteOfNameNeedsIntent.is_off()
}

/// The policy, or a person, lets the object go without its resource.
pub fn may_be_orphaned(snapshot: &Snapshot) -> bool {
    let managed = &snapshot.managed;
    let marked = managed.annotation(names::ORPHAN) == managed.uid;
    managed.deletion.is_some()
        && (!managed.policies.delete || marked || !snapshot.kind.capabilities.can_delete)
}

/// Where a Delete is not recorded, one of a former process may still execute for as long as a call may, from when nobody sends one any more:
/// until then nothing is let go without its resource (trace 38).
pub fn unrecorded_delete_may_run_until(
    snapshot: &Snapshot,
    record: &Record,
    memory: &ReconcileMemory,
) -> Option<Timestamp> {
    let begun =
        !delete_needs_intent(snapshot) && confirmed(snapshot, record) && snapshot.managed.shows_deleting();
    let since = memory.leaving_since.unwrap_or(snapshot.now);
    Some(effects_end_at(snapshot, since + snapshot.kind.timeouts.call))
        .filter(|over| begun && *over > snapshot.now && !Rule::OrphanWaitsForUnrecordedDelete.is_off())
}

/// An unmarked resource under the recorded name is ours while our create of it is unanswered, unless the creating request would have
/// marked it (traces 20, 21, 27).
pub fn unmarked_is_owned(snapshot: &Snapshot, record: &Record) -> bool {
    let is_free = Rule::ConflictOfRepeatIsRecorded.is_off() || !record.name_conflict;
    let bears_none = Rule::UnmarkedIsNotOurWork.is_off() || !snapshot.recovers_by(CreateRecovery::Marker);
    record.create().is_some() && is_free && bears_none
}

/// What was found can be what our unanswered create has made. What only a person says is ours was there before: it is adopted when nothing of
/// the create can come any more (trace 36).
pub fn may_be_its_work(snapshot: &Snapshot, record: &Record, observation: &Observation) -> bool {
    match ownership(snapshot, observation) {
        Ownership::Owned => true,
        Ownership::Unmarked => unmarked_is_owned(snapshot, record),
        Ownership::FormerlyOwned | Ownership::Foreign(_) => Rule::AdoptedIsNotOurWork.is_off(),
    }
}

/// Until then absence, and an empty marker, may only mean that what was made cannot be seen yet. A name from the upstream is confirmed by a
/// write that says when.
pub fn visible_at(snapshot: &Snapshot, record: &Record) -> Option<Timestamp> {
    let of_call = record.create().map(|intent| intent.deadline).max(record.deadline);
    let of_call = of_call.filter(|_| !Rule::HiddenAfterCall.is_off());
    let window = snapshot.kind.capabilities.consistency_window;
    let confirmed = || {
        let succeeded = snapshot.managed.annotated_time(names::CREATE_SUCCEEDED);
        let counts = snapshot.is_named_upstream() && !window.is_zero();
        let succeeded = succeeded.filter(|_| counts && !Rule::HiddenAfterConfirmation.is_off())?;
        // The annotation has whole seconds.
        Some(succeeded + std::time::Duration::from_secs(1) + snapshot.settings.clock_skew + window)
    };
    of_call
        .map(|deadline| resolves_at(snapshot, deadline))
        .max(confirmed())
}

/// The name by which recovery looks. A cloud-named kind that is found by its marker looks by nothing else: an older name would find, or miss,
/// an older resource (trace 14). Without a marker it is the name that an answer to this very create told.
pub fn recovery_name(snapshot: &Snapshot, record: &Record) -> String {
    let by_marker = snapshot.is_named_upstream() && snapshot.recovers_by(CreateRecovery::Marker);
    if by_marker && !Rule::RecoveryObservesByMarkerAlone.is_off() {
        String::new()
    } else {
        record.external_name.clone()
    }
}

/// A look from before the intent says nothing of the create.
pub fn observation_is_about(last_observation: &LastObservation, intent: &Intent) -> bool {
    last_observation.recorded.as_ref() == Some(&(intent.token.clone(), intent.attempt))
}

/// Absence of the name that was looked by settles the create. A name that an answer told speaks of that attempt alone.
pub fn absence_is_conclusive(snapshot: &Snapshot, intent: &Intent, by_marker: bool, by_name: bool) -> bool {
    let is_its_name =
        Rule::ReportedNameIsOfItsAttempt.is_off() || !snapshot.is_named_upstream() || intent.attempt == 0;
    Rule::UnobservableKindIsNotAbsent.is_off() || by_marker || by_name && is_its_name
}

/// A call that needs no intent follows only a guarded write, or a live read, of this pass (trace 11): its deadline counts from there. Half of its
/// time must be left, or it would be cut short for nothing; where reads take so long each time, it makes do with what there is.
pub fn precondition_valid_until(snapshot: &Snapshot, memory: &ReconcileMemory) -> Option<Timestamp> {
    let call = snapshot.kind.timeouts.call;
    if Rule::UpdateNeedsVerification.is_off() {
        return Some(snapshot.now + call);
    }
    let (_, began) = memory
        .verified
        .as_ref()
        .filter(|(version, _)| *version == snapshot.managed.resource_version)?;
    let enough = if memory.verifications > 1 {
        call / 8
    } else {
        call / 2
    };
    Some(*began + call).filter(|deadline| *deadline > snapshot.now + enough)
}

/// An operation that a look found may be followed as if it were ours: a creation's handle lives in the record alone, a removal that nobody here
/// asked for is waited for, and what moves only when polled is driven on only where its verb is wished for (trace 41).
pub fn may_adopt_operation(snapshot: &Snapshot, operation: &Operation) -> bool {
    let deleting = snapshot.managed.deletion.is_some();
    match operation.verb {
        OperationVerb::Create => false,
        OperationVerb::Update => !operation.poll_driven || (snapshot.managed.policies.update && !deleting),
        OperationVerb::Delete => deleting || Rule::UndesiredRemovalIsNotDriven.is_off(),
    }
}

/// The intent was written by this process in this pass: now, and only now, its call may go (traces 1, 11).
pub fn is_just_recorded(memory: &ReconcileMemory, intent: &Intent) -> bool {
    memory
        .may_send
        .as_ref()
        .is_some_and(|(token, attempt)| *token == intent.token && *attempt == intent.attempt)
        || Rule::CreateFollowsItsIntent.is_off()
}

/// The poll that drives an operation on may go: its intent was just rewritten, and nobody wrote since, under the same token (trace 31).
pub fn may_drive(snapshot: &Snapshot, memory: &ReconcileMemory, intent: &Intent) -> bool {
    let version = memory.verified.as_ref().map(|(version, _)| version);
    is_just_recorded(memory, intent) && version == Some(&snapshot.managed.resource_version)
}

/// Deletion adopts nothing: what we neither made, nor were making, nor confirmed is ours only if it bears our marker (trace 27).
pub fn bound(snapshot: &Snapshot, record: &Record) -> bool {
    Rule::DeletionAdoptsNothing.is_off() || confirmed(snapshot, record) || record.intent.is_some()
}

/// What reads as absent is gone only after an answered Delete as well (trace 15). What never had a name cannot be deleted.
pub fn absence_ends_the_removal(memory: &ReconcileMemory, name: &str) -> bool {
    Rule::DeletionNeedsAnswerAndAbsence.is_off() || memory.delete_answered.is_some() || name.is_empty()
}

/// The record keeps the name that was sent or confirmed (trace 18).
pub fn name_was_changed(snapshot: &Snapshot, record: &Record) -> bool {
    let sent = !record.external_name.is_empty() || record.create().is_some();
    let is_other = snapshot.managed.annotation(names::EXTERNAL_NAME) != record.external_name;
    sent && is_other && !Rule::ChangedNameStops.is_off()
}

/// An operation is about the resource that the record speaks of, not about a former one, whose name and handle may be the same (trace 54).
pub fn is_of_the_recorded_resource(record: &Record, operation: &OperationReport) -> bool {
    // What was found by its marker alone is not in the record by name.
    let named = !record.external_name.is_empty() && !operation.external_name.is_empty();
    let same_name = !named || operation.external_name == record.external_name;
    Rule::OperationOfOwnResource.is_off() || operation.incarnation == record.incarnation && same_name
}

/// Which of the object's external resources is created next.
pub fn next_incarnation(record: Option<&Record>) -> u32 {
    record.map_or(0, |record| record.incarnation.saturating_add(1))
}

/// Taken from under our create: not ours until it bears our marker, or a person says so (trace 17).
pub fn needs_confirmation(snapshot: &Snapshot, record: Option<&Record>, observation: &Observation) -> bool {
    let word = snapshot.managed.annotation(names::ADOPT);
    let said = !word.is_empty() && (word == observation.found_marker || word == observation.external_name);
    let name_conflict = record.is_some_and(|record| record.name_conflict);
    !Rule::ConflictIsRecorded.is_off()
        && name_conflict
        && !said
        && ownership(snapshot, observation) != Ownership::Owned
}

/// An answer counts only for the question that was drawn for this token and attempt (trace 30).
pub fn question_is_about(question: &Question, intent: &Intent) -> bool {
    Rule::AnswerMatchesQuestion.is_off()
        || question.token == intent.token && question.attempt == intent.attempt
}

/// The create gives connection details that the upstream tells once, and somebody wants them.
pub fn has_one_time_details(snapshot: &Snapshot) -> bool {
    snapshot.managed.wants_connection_secret && snapshot.kind.connection_keys.iter().any(|key| key.one_time)
}

/// For people: what is lost, and what can be done.
pub fn lost_connection_details(kind: &Kind) -> String {
    let keys = kind.connection_keys.iter().filter(|key| key.one_time);
    let keys: Vec<&str> = keys.map(|key| key.name.as_str()).collect();
    format!(
        "the answer that carried {} was lost, and they are given once; unless the connection Secret holds them already, have new ones made in the external system, or delete this object and make another",
        keys.join(", ")
    )
}

/// A person is asked when nothing can come any more (trace 30).
pub fn may_ask_person(snapshot: &Snapshot, memory: &ReconcileMemory, intent: &Intent) -> bool {
    Rule::PersonAskedAfterTime.is_off()
        || snapshot.now > resolves_at(snapshot, unanswered::create_ends(snapshot, memory, intent))
}

/// Of an intent that ends: with a repeat among its attempts, or polls that drove it, an earlier call may still run, and its deadline stays.
pub fn remaining_deadline(intent: &Intent) -> Option<Timestamp> {
    let driven = intent
        .operation
        .as_ref()
        .is_some_and(|operation| operation.poll_driven);
    let keeps = !Rule::RepeatedIntentKeepsDeadline.is_off() && (intent.attempt > 0 || driven);
    keeps.then_some(intent.deadline)
}

/// An answer that comes late does not take the place of a newer attempt's operation (trace 24).
pub fn has_newer_operation(intent: &Intent, attempt: u32) -> bool {
    intent
        .operation
        .as_ref()
        .is_some_and(|operation| !Rule::NewerOperationStays.is_off() && operation.attempt > attempt)
}
