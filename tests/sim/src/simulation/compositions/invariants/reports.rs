//! What composite resources and claims say of themselves.

use bridge_core::composite::names::RELEASE;
use fake_kube::state::Commit;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Written, about};
use crate::simulation::{
    compositions::{
        manifests::Kind,
        state::{controller, is_composite, is_deleting},
    },
    invariants::text,
};

/// What a claim says that waits for nothing in particular.
const WAITING: &str = "Claim is waiting for composite resource to become Ready";
/// Nothing is blocked that has not stood still for so long.
const STALL: SignedDuration = SignedDuration::from_secs(10);

/// A claim that waits says nothing of its composite resource that this has not said itself, bit for bit.
pub(super) fn claims_only_repeat_their_composites(written: &Written) -> Option<String> {
    let claim = reported(written)?;
    if written.commit.resource.0 != Kind::Purchase.plural() {
        return None;
    }
    let ready = of_type(claim, "Ready").filter(|ready| ready["reason"] == "Waiting")?;
    let says = text(ready, "/message");
    let name = text(claim, "/spec/resourceRef/name");
    let anew = format!("composite resource {name:?} is being deleted, and is created anew when it is gone");
    if says == WAITING || says == anew {
        return None;
    }
    let repeats = composites_of(written).any(|composite| {
        of_type(composite, "Synced")
            .is_some_and(|synced| synced["status"] == "False" && synced["message"] == says)
    });
    (!repeats).then(|| format!("{} says {says:?}, and {name} never said so", about(claim)))
}

/// What holds a deletion up is said with the uid by which it can be left behind, no sooner than ten seconds after the deletion began.
pub(super) fn blocked_says_why(written: &Written) -> Option<String> {
    let composite = reported(written).filter(|object| is_composite(text(object, "/kind")))?;
    let blocked = of_type(composite, "DeletionBlocked").filter(|blocked| blocked["status"] == "True")?;
    let says = text(blocked, "/message");
    let wrong = |why: &str| Some(format!("{} is blocked, {why}: {says:?}", about(composite)));
    if !is_deleting(composite) {
        return wrong("and is not being deleted");
    }
    let began = time(composite, "/metadata/deletionTimestamp");
    let (Some(began), Some(since)) = (began, time(blocked, "/lastTransitionTime")) else {
        return wrong("and does not say since when");
    };
    if since < began + STALL {
        return wrong("and is not being deleted for long");
    }
    let Some((_, released)) = says.rsplit_once(&format!("{RELEASE}=")) else {
        // That usages cannot be listed is no fault of an object.
        let is_unlisted = blocked["reason"] == "Unreachable";
        return if is_unlisted {
            None
        } else {
            wrong("and does not say what to do")
        };
    };
    let released = released.split('.').next().unwrap_or_default();
    let own = text(composite, "/metadata/uid");
    let is_composed = |commit: &Commit| {
        commit.new["metadata"]["uid"] == released
            && controller(&commit.new).is_some_and(|owner| owner["uid"] == own)
    };
    let is_known = released == format!("all/{own}") || written.state.history.iter().rev().any(is_composed);
    if is_known {
        return None;
    }
    wrong("and names nothing that it composed")
}

/// A claim that says that its deletion is blocked repeats what its composite resource says of itself, or says what keeps it from asking for that
/// one's deletion, and where to look.
pub(super) fn a_blocked_claim_says_why(written: &Written) -> Option<String> {
    let claim = reported(written)?;
    if written.commit.resource.0 != Kind::Purchase.plural() {
        return None;
    }
    let blocked = of_type(claim, "DeletionBlocked").filter(|blocked| blocked["status"] == "True")?;
    let uid = composites_of(written)
        .next()
        .map(|newest| text(newest, "/metadata/uid"));
    let mut of_newest =
        composites_of(written).filter(|composite| Some(text(composite, "/metadata/uid")) == uid);
    if of_newest.any(|composite| of_type(composite, "DeletionBlocked") == Some(blocked)) {
        return None;
    }
    let says = text(blocked, "/message");
    let wrong = |why: &str| Some(format!("{} is blocked, {why}: {says:?}", about(claim)));
    if !is_deleting(claim) {
        return wrong("and is not being deleted");
    }
    let began = time(claim, "/metadata/deletionTimestamp");
    let (Some(began), Some(since)) = (began, time(blocked, "/lastTransitionTime")) else {
        return wrong("and does not say since when");
    };
    if since < began + STALL {
        return wrong("and is not being deleted for long");
    }
    if says.starts_with("cannot delete connection Secret ") {
        return None;
    }
    let name = text(claim, "/spec/resourceRef/name");
    if !says.contains(&format!("composite resource {name:?}")) || !says.contains("kubectl get ") {
        return wrong("and does not say by what, or where to look");
    }
    let named = says
        .split_once("(uid ")
        .and_then(|(_, rest)| rest.split_once(')'));
    match named {
        Some((named, _)) if Some(named) != uid => wrong("by another one than exists"),
        _ => None,
    }
}

/// What the claim refers to, as it was at any time; the newest is first.
fn composites_of<'a>(written: &Written<'a>) -> impl Iterator<Item = &'a Value> {
    let name = text(&written.commit.new, "/spec/resourceRef/name");
    let commits = written.state.history.iter().rev().map(|commit| &commit.new);
    commits
        .filter(move |object| is_composite(text(object, "/kind")) && text(object, "/metadata/name") == name)
}

/// What a bridge has written.
fn reported<'a>(written: &Written<'a>) -> Option<&'a Value> {
    written.request.map(|_| &written.commit.new)
}

fn of_type<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    text(object, pointer).parse().ok()
}
