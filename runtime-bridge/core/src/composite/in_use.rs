//! What of a composite resource is in use, and may not be deleted yet, whoever else refuses it.

use super::{
    ObjectId,
    facts::Facts,
    live::{LiveObject, ObjectState},
    rules,
};
use crate::{
    protection::{NamedObject, Usage, UsageView, cycle, describe, is_usage},
    rule::Rule,
};

/// Why it is not known what is in use: until it is, nothing is deleted.
pub(super) fn unlisted<'a>(of: &Facts<'a>) -> Option<&'a str> {
    if Rule::UsagesAreKnownFirst.is_off() {
        return None;
    }
    of.snapshot.in_use.unknown.as_deref()
}

/// The first usage, by title, that protects an object; `None`: it is not in use.
pub(super) fn usage_of<'a>(of: &'a Facts, id: &ObjectId, object: &LiveObject) -> Option<&'a UsageView> {
    if Rule::InUseIsNotDeleted.is_off() {
        return None;
    }
    let usages = of.snapshot.in_use.usages.iter();
    usages
        .filter(|usage| usage.protects(id, object))
        .min_by(|a, b| a.title.cmp(&b.title))
}

/// Usages that form a cycle with this one, for people; empty: there is none.
pub(super) fn cycle_of(of: &Facts, usage: &UsageView) -> String {
    describe(&cycle(usage, &of.snapshot.in_use.usages))
}

/// It goes by itself once another composed object that is left has gone: what uses it, or, where it is a usage, the using object of that.
pub(super) fn waits_for_another(of: &Facts, left: &[ObjectId], id: &ObjectId, object: &LiveObject) -> bool {
    let is_left = |by: &NamedObject| {
        left.iter().any(|other| {
            let seen = of.seen(other);
            other != id && matches!(seen, Some(ObjectState::Exists(object)) if by.is(other, object.uid()))
        })
    };
    if is_usage(&id.group, &id.kind) {
        let usage = UsageView::of(&Usage(object.clone()));
        return object.is_deleting() && usage.by.as_ref().is_some_and(is_left);
    }
    let usages = of.snapshot.in_use.usages.iter();
    let mut usages = usages.filter(|usage| usage.protects(id, object)).peekable();
    // One of a using object elsewhere is for a person to see.
    usages.peek().is_some() && usages.all(|usage| usage.by.as_ref().is_some_and(is_left))
}

/// With the composite resource: all else goes first, as what this usage is used by waits for it.
pub(super) fn goes_last(of: &Facts, id: &ObjectId, object: &LiveObject) -> bool {
    let Some(own) = own_usage(of, id, object) else {
        return false;
    };
    if own.is_deleting || Rule::OwnUsageGoesLast.is_off() {
        return false;
    }
    of.ids().any(|(other, _)| {
        let Some(ObjectState::Exists(object)) = of.seen(&other) else {
            return false;
        };
        other != *id
            && rules::is_ours(of.snapshot, &other)
            && own_usage(of, &other, object).is_none()
            && !is_protected_by_own(of, &other, object)
    })
}

/// A usage that this composite resource composed, and whose using object is the composite resource or waits for it.
fn own_usage(of: &Facts, id: &ObjectId, object: &LiveObject) -> Option<UsageView> {
    if !is_usage(&id.group, &id.kind) {
        return None;
    }
    let usage = UsageView::of(&Usage(object.clone()));
    let xr = &of.snapshot.xr;
    let waits = |by: &NamedObject| {
        by.uid
            .as_deref()
            .is_some_and(|uid| uid == xr.uid() || of.snapshot.in_use.ancestors.contains(uid))
    };
    usage.by.as_ref().is_some_and(waits).then_some(usage)
}

fn is_protected_by_own(of: &Facts, id: &ObjectId, object: &LiveObject) -> bool {
    of.ids().any(|(other, _)| {
        let Some(ObjectState::Exists(usage)) = of.seen(&other) else {
            return false;
        };
        own_usage(of, &other, usage).is_some_and(|usage| usage.protects(id, object))
    })
}
