//! Whether a deletion moves.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{ObjectId, live::ObjectState, names, snapshot::Snapshot};

/// What is left of a composite resource that is being deleted, and since when it is the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Movement {
    left: BTreeMap<ObjectId, String>,
    /// Since when.
    pub since: Timestamp,
    /// It has changed since this process saw it first.
    pub has_moved: bool,
}

impl Movement {
    /// After another look; `None`: the composite resource stays.
    pub fn next(former: Option<Self>, snapshot: &Snapshot) -> Option<Self> {
        if !snapshot.xr.is_deleting() {
            return None;
        }
        let known = former.as_ref().map(|former| &former.left);
        let stage = |(id, seen): (&ObjectId, &ObjectState)| {
            // Not to be read is no movement.
            let before = known.and_then(|known| known.get(id));
            let before = before.filter(|_| matches!(seen, ObjectState::Unknown(_)));
            (id.clone(), before.cloned().unwrap_or_else(|| stage(seen)))
        };
        let left: BTreeMap<ObjectId, String> = snapshot.seen.iter().map(stage).collect();
        match former {
            Some(former) if former.left == left => Some(former),
            former => Some(Self {
                left,
                since: snapshot.now,
                has_moved: former.is_some(),
            }),
        }
    }
}

/// How far an object is on its way out. What its conditions say in words is left out: a message that counts attempts would move for ever.
fn stage(seen: &ObjectState) -> String {
    match seen {
        ObjectState::Exists(object) => {
            let ready = object.condition("Ready");
            let text = |field: &str| ready.and_then(|ready| ready[field].as_str()).unwrap_or_default();
            // But for a composite resource, which names what is left of it there, and has nothing else to show it by.
            let is_composite = object.finalizers().any(|held| held == names::FINALIZER);
            format!(
                "{} {} {} {} {} {}",
                object.uid(),
                object.is_deleting(),
                object.finalizers().collect::<Vec<_>>().join(","),
                text("status"),
                text("reason"),
                object
                    .deletion_report()
                    .filter(|_| is_composite)
                    .unwrap_or_default()
            )
        }
        ObjectState::Absent => "absent".to_owned(),
        ObjectState::KindGone => "kind gone".to_owned(),
        // Why may differ each time.
        ObjectState::Unknown(_) => "unknown".to_owned(),
    }
}
