//! Whether a deletion moves.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{ObjectId, live::ObjectState, snapshot::Snapshot};

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

/// How far an object is on its way out.
fn stage(seen: &ObjectState) -> String {
    match seen {
        // A composite resource among them, or a controller that says how far it is, moves by what it reports.
        ObjectState::Exists(object) => format!(
            "{} {} {} {}",
            object.uid(),
            object.is_deleting(),
            object.finalizers().collect::<Vec<_>>().join(","),
            object.deletion_report().unwrap_or_default()
        ),
        ObjectState::Absent => "absent".to_owned(),
        ObjectState::KindGone => "kind gone".to_owned(),
        // Why may differ each time.
        ObjectState::Unknown(_) => "unknown".to_owned(),
    }
}
