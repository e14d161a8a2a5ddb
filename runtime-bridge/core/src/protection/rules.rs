//! The rules of usages: each a predicate over facts.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    decision::ReplayPolicy,
    facts::{Facts, Fate},
    mark::Mark,
    names,
    snapshot::{ControllerState, Subject},
    usage::Side,
};
use crate::{composite::LiveObject, rule::Rule};

/// What is deleted within this time is deleted together.
const BULK: Duration = Duration::from_secs(2);

/// Kubernetes stores times in whole seconds.
const WHOLE_SECOND: Duration = Duration::from_secs(1);

/// What a usage that is being deleted does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Course {
    /// It goes.
    Goes,
    /// It depends on what a read past the store shows.
    Reads(Subject),
    /// It waits until the using resource is gone.
    WaitsForUsing,
    /// It waits until this time: the using resource may be deleted together with it.
    WaitsForBulk(Timestamp),
    /// It waits, as nothing is known of something.
    WaitsForKnowledge(String),
}

/// The snapshot shows what the API server held of the usage in this term, and not what a cache had kept from before.
pub(super) fn is_verified(of: &Facts) -> bool {
    of.memory.verified.as_deref() == Some(of.snapshot.usage.resource_version())
        || Rule::UsageIsVerified.is_off()
}

/// It names another object than before, and can turn to it as soon as the former one is let go.
pub(super) fn leaves_former(of: &Facts) -> bool {
    let record = of.snapshot.usage.record();
    let names_another = of
        .found()
        .zip(record)
        .is_some_and(|((now, _), record)| record.of.reference.id(None) != now.id(None));
    names_another && of.has_using() && !matches!(of.fate(Side::Used), Fate::Nothing | Fate::Gone)
}

/// What a usage that is being deleted does: decided by who controls it, and never by a label or a name.
pub(super) fn course(of: &Facts) -> Course {
    let (lives, began) = match of.fate(Side::Using) {
        Fate::Nothing | Fate::Gone => return Course::Goes,
        Fate::Exists(_, object) => (Ok(object), object.deletion_began()),
        Fate::Unseen => (Err(None), None),
        Fate::Unknown(why) => (Err(Some(why)), None),
    };
    let unread = |why: Option<&str>| match why {
        Some(why) => Course::WaitsForKnowledge(format!("cannot get using resource: {why}")),
        None => Course::Reads(Subject::Resource(Side::Using)),
    };
    match of.controller() {
        Some(ControllerState::Lives) if !Rule::DecomposedUsageLeaves.is_off() => Course::Goes,
        None => Course::Reads(Subject::Controller),
        Some(ControllerState::Unknown(why)) => {
            Course::WaitsForKnowledge(format!("cannot get its controller: {why}"))
        }
        Some(ControllerState::Lives | ControllerState::Going { .. } | ControllerState::Gone) => {
            if is_parent(of) || Rule::UsageOutlivesUsing.is_off() {
                return Course::Goes;
            }
            lives.map_or_else(unread, |_| Course::WaitsForUsing)
        }
        Some(ControllerState::None) => match lives {
            _ if is_parent(of) || Rule::BulkDeletionKeepsOrder.is_off() => Course::Goes,
            Err(why) => unread(why),
            Ok(_) => bulk(of, began),
        },
    }
}

/// What uses the resource waits for the usage, or for the used resource, to go.
fn is_parent(of: &Facts) -> bool {
    let using = of.snapshot.usage.using_uid();
    using.is_some_and(|uid| of.snapshot.ancestors.contains(&uid)) && !Rule::ParentIsNotWaitedFor.is_off()
}

/// Of two that are deleted together the usage goes last. `using`: since when the using resource is being deleted.
fn bulk(of: &Facts, using: Option<Timestamp>) -> Course {
    let Some(own) = of.snapshot.usage.deletion_began() else {
        return Course::Goes;
    };
    if let Some(using) = using {
        let apart = using.duration_since(own).unsigned_abs();
        return if apart <= BULK {
            Course::WaitsForUsing
        } else {
            Course::Goes
        };
    }
    let over = own + BULK + WHOLE_SECOND;
    if of.snapshot.now < over {
        Course::WaitsForBulk(over)
    } else if of.memory.using_lived.is_some_and(|read| read >= over) {
        Course::Goes
    } else {
        Course::Reads(Subject::Resource(Side::Using))
    }
}

/// That nothing owns the used resource any more counts only when a read past the caches shows it: else what a live owner has would be deleted.
pub(super) fn owner_is_unread(of: &Facts) -> bool {
    of.snapshot.owner == ControllerState::Gone
        && (of.memory.ownerless.is_none() || of.memory.ownerless.as_deref() != of.used_version())
        && !Rule::OwnerIsReadLive.is_off()
        && !Rule::ReplayBelongsToTeardown.is_off()
}

/// How a refused deletion is to be done now; `None`: it is not.
pub(super) fn replay(of: &Facts, object: &LiveObject) -> Option<ReplayPolicy> {
    let is_last =
        of.snapshot.others.iter().all(|other| other.is_deleting) && Mark::of(object).held_by.is_empty();
    if !of.snapshot.usage.replays_deletion() || !is_last || object.is_deleting() {
        return None;
    }
    if Rule::ReplayBelongsToTeardown.is_off() {
        return Some(ReplayPolicy::Background);
    }
    match of.snapshot.owner {
        ControllerState::Going { orphans: false } | ControllerState::Gone => {
            return Some(ReplayPolicy::Background);
        }
        ControllerState::None
        | ControllerState::Lives
        | ControllerState::Going { orphans: true }
        | ControllerState::Unknown(_) => {}
    }
    let policy = ReplayPolicy::parse(object.annotation(names::ATTEMPT)?)?;
    let at: Timestamp = object.annotation(names::ATTEMPTED_AT)?.parse().ok()?;
    let own = of.snapshot.usage.deletion_began()?;
    let using = match of.fate(Side::Using) {
        Fate::Exists(_, using) => using.deletion_began(),
        _ => None,
    };
    let began = using.map_or(own, |using| using.min(own));
    // A deletion that was refused before this usage existed asked for something else. Times are of whole seconds.
    let created = of.snapshot.usage.created()?;
    let window = of.snapshot.settings.replay_window;
    let is_of_this_teardown = at + WHOLE_SECOND >= created && at + window + WHOLE_SECOND >= began;
    is_of_this_teardown.then_some(policy)
}
