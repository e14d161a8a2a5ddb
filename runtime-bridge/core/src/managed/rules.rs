//! The rules of design section 4, each one named predicate. Nearly all were shown to be needed by taking them out: see
//! `crash-traces` in the reliability documents for what happens without each.

use jiff::Timestamp;

use crate::{
    external::{
        Document, Effect, Failure, FailureCode, Observation, Operation, OperationVerb, OutcomeResult,
    },
    kind::{CreateRecovery, Kind, NameSource},
};

use super::{
    diff::differences_by_rules,
    memory::{Found, Looked, Memory},
    names,
    record::{ConfigIdentity, Intent, IntentVerb, Record, Snapshot, Stored},
    status::{OperationReport, Question},
    unanswered,
    world::{Managed, Wish, World},
};

/// For at least so long an absence of what is known to exist is doubted.
const LEAST_DOUBT: std::time::Duration = std::time::Duration::from_secs(5);

/// Whose is it?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// Bears our marker.
    Ours,
    /// Bears a marker that a person has said is ours too.
    Formerly,
    /// Bears none, or the kind holds none.
    Unmarked,
    /// Bears another's.
    Others(String),
}

/// Reads the marker.
pub fn ownership(world: &World, observation: &Observation) -> Ownership {
    match observation.found_marker.as_str() {
        "" => Ownership::Unmarked,
        marker if marker == world.marker => Ownership::Ours,
        marker if marker == world.former_marker() => Ownership::Formerly,
        marker => Ownership::Others(marker.to_owned()),
    }
}

/// By what right an object has an external resource; the greater goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// It is making one of this name.
    Intent,
    /// Its record says so, and is confirmed.
    Record,
    /// The resource bears its marker.
    Marker,
}

/// By what right the object has what was found; `None`: by none, whoever looked first.
pub fn right(world: &World, observation: &Observation) -> Option<Right> {
    if ownership(world, observation) == Ownership::Ours {
        return Some(Right::Marker);
    }
    right_by_record(&world.managed, &observation.external_name)
}

/// What an object's record says of this name: it has the resource, or is making it, and may have made it (trace 40).
pub fn right_by_record(managed: &Managed, name: &str) -> Option<Right> {
    let stored = managed.record();
    let Stored::Ours(record) = &*stored else {
        return None;
    };
    if record.external_name != name {
        return None;
    }
    if managed.confirms(record) {
        return Some(Right::Record);
    }
    (record.create().is_some() && !record.taken).then_some(Right::Intent)
}

/// The other object's record names the same resource, by no lesser right than ours: it has it, or both are making it, and nobody can tell whose
/// it is (trace 45). Looks alone know more where the resource bears a marker.
pub fn is_rival(other: &Managed, name: &str, ours: Option<Right>) -> bool {
    let theirs = right_by_record(other, name);
    theirs.is_some() && theirs >= ours && ours < Some(Right::Record)
}

/// Two wishes that agree in all that cannot be changed speak of the same place, as far as one can tell: in another region, for instance, the same
/// name is another's.
pub fn mean_the_same_place(kind: &Kind, one: &Document, other: &Document) -> bool {
    let parts = |wish, fact| {
        let differences = differences_by_rules(&kind.parameters_schema, &kind.field_rules, wish, fact);
        differences.iter().any(|difference| difference.needs_replacement)
    };
    !parts(one, other) && !parts(other, one)
}

/// The name of what this object is about to make, where it is known beforehand: as long as nothing of it is recorded.
pub fn name_to_make(world: &World, memory: &Memory) -> Option<String> {
    let managed = &world.managed;
    let makes = managed.policies.create && world.kind.capabilities.can_create && managed.deletion.is_none();
    let recorded = match &*managed.record() {
        Stored::Ours(record) => bound(world, record),
        Stored::None => false,
        Stored::Unreadable(_) => true,
    };
    if !makes || recorded {
        return None;
    }
    let Some(Found::Absent(absent)) = memory.looked.as_ref().map(|looked| &looked.found) else {
        return None;
    };
    let annotated = managed.annotation(names::EXTERNAL_NAME);
    match world.kind.external_name.source {
        NameSource::User if annotated.is_empty() => Some(managed.name.clone()),
        NameSource::User => Some(annotated.to_owned()),
        NameSource::Derived => Some(absent.external_name.clone()).filter(|name| !name.is_empty()),
        NameSource::Provider => None,
    }
}

/// Another object of ours has what was found, and it does not bear our marker.
pub fn rival<'w>(world: &'w World, observation: &Observation) -> Option<&'w str> {
    let unmarked = ownership(world, observation) != Ownership::Ours;
    world.rival.as_deref().filter(|_| unmarked)
}

/// Nothing of a call can happen after this.
pub fn over_at(world: &World, deadline: Timestamp) -> Timestamp {
    deadline + world.margin()
}

/// A look that began later than this tells the truth about a create with this deadline.
pub fn settles_at(world: &World, deadline: Timestamp) -> Timestamp {
    over_at(world, deadline) + world.kind.capabilities.consistency_window
}

/// Absence settles an unanswered create only if the look *began* after its time (traces 1 to 4).
pub fn absence_settles(world: &World, deadline: Timestamp, looked: &Looked) -> bool {
    matches!(looked.found, Found::Absent(_)) && looked.began > settles_at(world, deadline)
}

/// After this answer the call does nothing more. A plugin that cannot tell the effect has given up, not the upstream (trace 35).
pub fn nothing_more_comes(result: &OutcomeResult) -> bool {
    match result {
        OutcomeResult::Completed(_) | OutcomeResult::Operation(_) => true,
        OutcomeResult::Failure(failure) => failure.effect == Effect::None,
    }
}

/// This process wrote the intent, or tried to, and never began its call: there is nothing to recover (trace 37).
pub fn never_sent(memory: &Memory, intent: &Intent) -> bool {
    memory.unsent.contains(&intent.token) && intent.attempt == 0
}

/// One call at a time: until then a recorded call may still run, so no new intent is written and no Delete sent (trace 12).
/// An answer to this process ends attempt 0; of later ones an earlier attempt may still be on its way.
pub fn may_still_run_until(world: &World, record: &Record, memory: &Memory) -> Option<Timestamp> {
    let ended = |intent: &Intent| {
        memory
            .answered
            .as_ref()
            .is_some_and(|((token, attempt), deadline)| {
                *token == intent.token && *attempt == 0 && *deadline == intent.deadline
            })
    };
    let deadline = match &record.intent {
        Some(intent) if intent.attempt == 0 && ended(intent) => None,
        Some(intent) if never_sent(memory, intent) => None,
        Some(intent) => Some(intent.deadline),
        None => record.deadline,
    };
    deadline
        .map(|deadline| over_at(world, deadline))
        .filter(|over| *over > world.now)
}

/// The create is confirmed: by metadata, or by the status that names its token.
pub fn confirmed(world: &World, record: &Record) -> bool {
    world.managed.confirms(record)
}

/// What an unanswered create may have made is looked for where it was wished for, though a wish that was edited since may mean another
/// place, a region for instance (trace 33). `None`: the wish is still the recorded one, or is not known whole.
pub fn looked_for_as_recorded<'i>(intent: &'i Intent, wish: &Wish) -> Option<&'i Document> {
    match &intent.parameters {
        Snapshot::Whole(recorded) => Some(recorded).filter(|recorded| **recorded != wish.parameters),
        Snapshot::Digest(_) => None,
    }
}

/// A repeat must carry the same request, to the same place, while the token is retained (traces 9 to 11). It may make something, so that a
/// policy that forbids this forbids the repeat; a deletion has to learn what there is to delete.
pub fn token_may_be_repeated(world: &World, record: &Record, intent: &Intent, wish: &Wish) -> bool {
    let capabilities = &world.kind.capabilities;
    let retained = match intent.started_at.checked_add(capabilities.token_retention) {
        Ok(end) => over_at(world, intent.deadline.max(world.now + world.kind.timeouts.call)) < end,
        Err(_) => true, // For ever.
    };
    let allowed = world.managed.policies.create || world.managed.deletion.is_some();
    world.recovers_by(CreateRecovery::ClientToken)
        && retained
        && allowed
        && request_is_the_same(world, record, intent, wish)
}

/// The recorded request can still be sent as it was: parameters, and the config, whose id is part of a request by the contract. Secrets are not:
/// a token is repeated with those of today (trace 50).
pub fn request_is_the_same(world: &World, record: &Record, intent: &Intent, wish: &Wish) -> bool {
    let parameters = match &intent.parameters {
        Snapshot::Whole(_) => true,
        Snapshot::Digest(digest) => *digest == wish.digest,
    };
    let config = world.config.as_ref();
    let config = config.is_ok_and(|config| config.id == record.config.id) && same_place(world, record);
    parameters && config
}

/// The config still means the place that the record speaks of: elsewhere, absence means nothing.
pub fn same_place(world: &World, record: &Record) -> bool {
    world
        .config
        .as_ref()
        .is_ok_and(|config| record.config.shares_names_with(&ConfigIdentity::of(config)))
}

/// The config acts in another account than the one that the record speaks of, as far as both are told. What is found there is not ours, unless
/// it bears our marker; nor is anything asked there about an operation of ours (trace 34).
pub fn in_another_account(world: &World, record: &Record) -> bool {
    let config = world.config.as_ref();
    config.is_ok_and(|config| record.config.acts_as_another(&ConfigIdentity::of(config)))
}

/// Found in another account, and nothing says that it is ours.
pub fn found_in_another_account(world: &World, record: &Record, observation: &Observation) -> bool {
    let marked = matches!(
        ownership(world, observation),
        Ownership::Ours | Ownership::Formerly
    );
    bound(world, record) && !marked && in_another_account(world, record)
}

/// `EFFECT_NONE` settles an intent only as the answer to attempt 0 while no other exists, or to one *alone* whose request itself was refused
/// (traces 6, 7, 25).
pub fn refusal_settles(intent: &Intent, attempt: u32, failure: &Failure) -> bool {
    failure.effect == Effect::None
        && attempt == intent.attempt
        && (attempt == 0 || (intent.alone && refuses_the_request(failure.code)))
}

/// The end of the recorded operation settles only if it was that of attempt 0 while no other exists, or of one *alone* (traces 23, 24): an
/// attempt that is still on its way may find the token free again.
pub fn failed_operation_settles(intent: &Intent, handle: &str, failure: &Failure) -> bool {
    let of_attempt = intent
        .operation
        .as_ref()
        .filter(|operation| operation.handle == handle)
        .map(|operation| operation.attempt);
    failure.code == FailureCode::OperationFailed
        && failure.effect == Effect::None
        && of_attempt == Some(intent.attempt)
        && (intent.attempt == 0 || intent.alone)
}

/// A repeat refused like this ends the token's turn: the next recovery's is next. Not found: what it made is gone again.
pub fn ends_the_turn(attempt: u32, failure: &Failure) -> bool {
    attempt > 0
        && failure.effect == Effect::None
        && (refuses_the_request(failure.code)
            || matches!(
                failure.code,
                FailureCode::AlreadyExists | FailureCode::TokenReused | FailureCode::NotFound
            ))
}

fn refuses_the_request(code: FailureCode) -> bool {
    matches!(
        code,
        FailureCode::InvalidSpec | FailureCode::ImmutableField | FailureCode::Unsupported
    )
}

/// A known name that reads as absent is believed only if a later look, begun after the consistency window, finds it absent too (trace 29).
pub fn absence_confirmed(world: &World, memory: &Memory, looked: &Looked) -> bool {
    matches!(looked.found, Found::Absent(_))
        && memory
            .absent_since
            .is_some_and(|first| looked.began > absence_believed_after(world, first))
}

/// Only an observation that begins later confirms an absence first seen at `first`: a moment's 404 is none, whatever the kind declares
/// (trace 47).
pub fn absence_believed_after(world: &World, first: Timestamp) -> Timestamp {
    first + world.kind.capabilities.consistency_window.max(LEAST_DOUBT)
}

/// A Delete needs an intent where a successor can have the same name (traces 13, 31). A marker protects another object's, if the upstream
/// compares and deletes in one step, and never the replacement, which is of the same object (trace 43).
pub fn delete_needs_intent(world: &World) -> bool {
    !world.cloud_named()
}

/// The policy, or a person, lets the object go without its resource.
pub fn is_to_be_left(world: &World) -> bool {
    let managed = &world.managed;
    let marked = managed.annotation(names::ORPHAN) == managed.uid;
    managed.deletion.is_some() && (!managed.policies.delete || marked || !world.kind.capabilities.can_delete)
}

/// Where a Delete is not recorded, one of a former process may still execute for as long as a call may, from when nobody sends one any more:
/// until then nothing is let go without its resource (trace 38).
pub fn unrecorded_delete_may_run_until(world: &World, record: &Record, memory: &Memory) -> Option<Timestamp> {
    let begun = !delete_needs_intent(world) && confirmed(world, record) && world.managed.shows_deleting();
    let since = memory.leaving_since.unwrap_or(world.now);
    Some(over_at(world, since + world.kind.timeouts.call)).filter(|over| begun && *over > world.now)
}

/// An unmarked resource under the recorded name is ours while our create of it is unanswered, unless the creating request would have
/// marked it (traces 20, 21, 27).
pub fn unmarked_is_ours(world: &World, record: &Record) -> bool {
    record.create().is_some() && !record.taken && !world.recovers_by(CreateRecovery::Marker)
}

/// What was found can be what our unanswered create has made. What only a person says is ours was there before: it is adopted when nothing of
/// the create can come any more (trace 36).
pub fn may_be_its_work(world: &World, record: &Record, observation: &Observation) -> bool {
    match ownership(world, observation) {
        Ownership::Ours => true,
        Ownership::Unmarked => unmarked_is_ours(world, record),
        Ownership::Formerly | Ownership::Others(_) => false,
    }
}

/// Until then absence, and an empty marker, may only mean that what was made cannot be seen yet. A name from the upstream is confirmed by a
/// write that says when.
pub fn visible_at(world: &World, record: &Record) -> Option<Timestamp> {
    let of_call = record.create().map(|intent| intent.deadline).max(record.deadline);
    let window = world.kind.capabilities.consistency_window;
    let confirmed = || {
        let succeeded = world.managed.annotated_time(names::CREATE_SUCCEEDED);
        let succeeded = succeeded.filter(|_| world.cloud_named() && !window.is_zero())?;
        // The annotation has whole seconds.
        Some(succeeded + std::time::Duration::from_secs(1) + world.settings.clock_skew + window)
    };
    of_call
        .map(|deadline| settles_at(world, deadline))
        .max(confirmed())
}

/// The name by which recovery looks. A cloud-named kind that is found by its marker looks by nothing else: an older name would find, or miss,
/// an older resource (trace 14). Without a marker it is the name that an answer to this very create told.
pub fn name_to_recover_by(world: &World, record: &Record) -> String {
    if world.cloud_named() && world.recovers_by(CreateRecovery::Marker) {
        String::new()
    } else {
        record.external_name.clone()
    }
}

/// A look from before the intent says nothing of the create.
pub fn look_is_about(looked: &Looked, intent: &Intent) -> bool {
    looked.recorded.as_ref() == Some(&(intent.token.clone(), intent.attempt))
}

/// Absence of the name that was looked by settles the create. A name that an answer told speaks of that attempt alone.
pub fn absence_speaks_of_all(world: &World, intent: &Intent, by_marker: bool, by_name: bool) -> bool {
    by_marker || by_name && (!world.cloud_named() || intent.attempt == 0)
}

/// A call that needs no intent follows only a guarded write, or a live read, of this pass (trace 11): its deadline counts from there. Half of its
/// time must be left, or it would be cut short for nothing; where reads take so long each time, it makes do with what there is.
pub fn proven_until(world: &World, memory: &Memory) -> Option<Timestamp> {
    let call = world.kind.timeouts.call;
    let (_, began) = memory
        .proven
        .as_ref()
        .filter(|(version, _)| *version == world.managed.resource_version)?;
    let enough = if memory.proofs > 1 { call / 8 } else { call / 2 };
    Some(*began + call).filter(|deadline| *deadline > world.now + enough)
}

/// An operation that a look found may be followed as if it were ours: a creation's handle lives in the record alone, a removal that nobody here
/// asked for is waited for, and what moves only when polled is driven on only where its verb is wished for (trace 41).
pub fn may_be_taken_up(world: &World, operation: &Operation) -> bool {
    let deleting = world.managed.deletion.is_some();
    match operation.verb {
        OperationVerb::Create => false,
        OperationVerb::Update => !operation.poll_driven || (world.managed.policies.update && !deleting),
        OperationVerb::Delete => deleting,
    }
}

/// The intent was written by this process in this pass: now, and only now, its call may go (traces 1, 11).
pub fn just_recorded(memory: &Memory, intent: &Intent) -> bool {
    memory
        .may_send
        .as_ref()
        .is_some_and(|(token, attempt)| *token == intent.token && *attempt == intent.attempt)
}

/// The poll that drives an operation on may go: its intent was just rewritten, and nobody wrote since, under the same token (trace 31).
pub fn may_drive(world: &World, memory: &Memory, intent: &Intent) -> bool {
    let version = memory.proven.as_ref().map(|(version, _)| version);
    just_recorded(memory, intent) && version == Some(&world.managed.resource_version)
}

/// Deletion adopts nothing: what we neither made, nor were making, nor confirmed is ours only if it bears our marker (trace 27).
pub fn bound(world: &World, record: &Record) -> bool {
    confirmed(world, record) || record.intent.is_some()
}

/// What reads as absent is gone only after an answered Delete as well (trace 15). What never had a name cannot be deleted.
pub fn absence_ends_the_removal(memory: &Memory, name: &str) -> bool {
    memory.delete_answered.is_some() || name.is_empty()
}

/// A removal that moves only when polled, and has lost its intent, is begun anew: polls without one are not safe, and nothing else moves it
/// (traces 31, 32).
pub fn removal_is_lost(world: &World, intent: Option<&Intent>) -> bool {
    let held = intent.is_some_and(|intent| intent.verb == IntentVerb::Delete);
    delete_needs_intent(world) && !held
}

/// The record keeps the name that was sent or confirmed (trace 18).
pub fn name_was_changed(world: &World, record: &Record) -> bool {
    let sent = !record.external_name.is_empty() || record.create().is_some();
    sent && world.managed.annotation(names::EXTERNAL_NAME) != record.external_name
}

/// An operation is about the resource that the record speaks of, not about a former one, whose name and handle may be the same (trace 54).
pub fn is_of_the_recorded_resource(record: &Record, operation: &OperationReport) -> bool {
    // What was found by its marker alone is not in the record by name.
    let named = !record.external_name.is_empty() && !operation.external_name.is_empty();
    let same_name = !named || operation.external_name == record.external_name;
    operation.incarnation == record.incarnation && same_name
}

/// Which of the object's external resources is created next.
pub fn next_incarnation(record: Option<&Record>) -> u32 {
    record.map_or(0, |record| record.incarnation.saturating_add(1))
}

/// Taken from under our create: not ours until it bears our marker, or a person says so (trace 17).
pub fn needs_a_word(world: &World, record: Option<&Record>, observation: &Observation) -> bool {
    let word = world.managed.annotation(names::ADOPT);
    let said = !word.is_empty() && (word == observation.found_marker || word == observation.external_name);
    let taken = record.is_some_and(|record| record.taken);
    taken && !said && ownership(world, observation) != Ownership::Ours
}

/// An answer counts only for the question that was drawn for this token and attempt (trace 30).
pub fn question_is_about(question: &Question, intent: &Intent) -> bool {
    question.token == intent.token && question.attempt == intent.attempt
}

/// The create gives connection details that the upstream tells once, and somebody wants them.
pub fn gives_details_once(world: &World) -> bool {
    world.managed.wants_connection_secret && world.kind.connection_keys.iter().any(|key| key.one_time)
}

/// For people: what is lost, and what can be done.
pub fn lost_details(kind: &Kind) -> String {
    let keys = kind.connection_keys.iter().filter(|key| key.one_time);
    let keys: Vec<&str> = keys.map(|key| key.name.as_str()).collect();
    format!(
        "the answer that carried {} was lost, and they are given once; unless the connection Secret holds them already, have new ones made in the external system, or delete this object and make another",
        keys.join(", ")
    )
}

/// A person is asked when nothing can come any more (trace 30).
pub fn may_be_asked(world: &World, intent: &Intent) -> bool {
    world.now > settles_at(world, unanswered::create_ends(world, intent))
}

/// Of an intent that ends: with a repeat among its attempts, or polls that drove it, an earlier call may still run, and its deadline stays.
pub fn deadline_that_stays(intent: &Intent) -> Option<Timestamp> {
    let driven = intent
        .operation
        .as_ref()
        .is_some_and(|operation| operation.poll_driven);
    (intent.attempt > 0 || driven).then_some(intent.deadline)
}

/// An answer that comes late does not take the place of a newer attempt's operation (trace 24).
pub fn holds_a_newer_operation(intent: &Intent, attempt: u32) -> bool {
    intent
        .operation
        .as_ref()
        .is_some_and(|operation| operation.attempt > attempt)
}
