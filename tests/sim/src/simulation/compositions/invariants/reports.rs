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
    let is_its = |commit: &&Commit| {
        is_composite(text(&commit.new, "/kind")) && text(&commit.new, "/metadata/name") == name
    };
    let mut composites = written.state.history.iter().rev().filter(is_its);
    let repeats = composites.any(|commit| {
        of_type(&commit.new, "Synced")
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
