//! The end of a usage.

use std::time::Duration;

use super::super::{
    decision::{Action, Replay},
    facts::{Facts, Fate},
    outcome::{Flow, NEXT, act, report_and_rest, rest},
    rules::{self, Course},
    snapshot::Subject,
    standing::{due_mark, due_unmark},
    usage::Side,
};
use crate::rule::Rule;

/// What is not known, or not watched, is looked at again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

fn is_deleting(of: &Facts) -> bool {
    of.snapshot.usage.is_deleting()
}

pub(in super::super) fn rest_without_finalizer(of: &Facts) -> Flow {
    if is_deleting(of) && !of.snapshot.usage.has_finalizer() {
        return rest(None);
    }
    NEXT
}

/// As long as it has to stay it protects.
pub(in super::super) fn wait(of: &Facts) -> Flow {
    if !is_deleting(of) {
        return NEXT;
    }
    let now = of.snapshot.now;
    let again = Some(now + LOOK_AGAIN);
    let wake = match rules::course(of) {
        Course::Goes => return NEXT,
        Course::Reads(subject) if of.unread().is_none() => return act(Action::Observe(subject)),
        Course::Reads(_) => of.memory.failed_read.as_ref().map(|(until, _)| *until),
        Course::WaitsForBulk(until) => Some(until),
        Course::WaitsForKnowledge(_) => again,
        Course::WaitsForUsing => of.snapshot.is_unwatched.then(|| now + LOOK_AGAIN),
    };
    // One that Crossplane made holds the label without saying so.
    if let Some(write) = due_mark(of).filter(|_| !of.is_held_back()) {
        if !rules::is_verified(of) {
            return act(Action::VerifyResourceVersion);
        }
        return act(Action::Mark(Box::new(write)));
    }
    report_and_rest(of, wake)
}

/// The used object first: whatever becomes of the usage later, nothing is left of it there.
pub(in super::super) fn leave(of: &Facts) -> Flow {
    if !is_deleting(of) || Rule::UsageOutlivesLabel.is_off() {
        return NEXT;
    }
    let_go(of)
}

/// It names another object than before: the former one is let go first, as the usage has the uid of one.
pub(in super::super) fn leave_former(of: &Facts) -> Flow {
    if rules::leaves_former(of) {
        let_go(of)
    } else {
        NEXT
    }
}

/// Takes the label off the used object, as far as it is of this usage.
fn let_go(of: &Facts) -> Flow {
    match of.fate(Side::Used) {
        Fate::Nothing | Fate::Gone => NEXT,
        Fate::Unseen if of.unread().is_none() => act(Action::Observe(Subject::Resource(Side::Used))),
        Fate::Unseen => report_and_rest(of, of.memory.failed_read.as_ref().map(|(until, _)| *until)),
        Fate::Unknown(_) => report_and_rest(of, Some(of.snapshot.now + LOOK_AGAIN)),
        Fate::Exists(reference, object) => {
            let Some(write) = due_unmark(of, reference, object) else {
                return NEXT;
            };
            if of.is_held_back() {
                return report_and_rest(of, of.memory.failed.as_ref().map(|failed| failed.retry_at));
            }
            act(Action::Mark(Box::new(write)))
        }
    }
}

/// A deletion that was refused is done before the usage goes: afterwards nobody would know of it.
pub(in super::super) fn replay(of: &Facts) -> Flow {
    if !is_deleting(of) {
        return NEXT;
    }
    let Fate::Exists(reference, object) = of.fate(Side::Used) else {
        return NEXT;
    };
    let Some(policy) = rules::replay(of, object) else {
        return NEXT;
    };
    if rules::owner_is_unread(of) {
        return match of.memory.failed_read.as_ref().filter(|_| of.unread().is_some()) {
            Some((until, _)) => report_and_rest(of, Some(*until)),
            None => act(Action::Observe(Subject::Owner)),
        };
    }
    if of.is_held_back() {
        return report_and_rest(of, of.memory.failed.as_ref().map(|failed| failed.retry_at));
    }
    act(Action::Replay(Replay {
        reference: reference.clone(),
        uid: object.uid().to_owned(),
        resource_version: object.resource_version().to_owned(),
        policy,
    }))
}

pub(in super::super) fn remove_finalizer(of: &Facts) -> Flow {
    if is_deleting(of) {
        return act(Action::RemoveFinalizer);
    }
    NEXT
}
