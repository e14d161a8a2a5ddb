//! The kinds of usages.

use std::sync::Arc;

use bridge_core::{
    protection::names::{GROUP, LEGACY_GROUP},
    watch_plan::GroupKind,
};

use crate::{
    object::ApiType,
    watch::{Unresolved, WatchState, Watches},
};

/// `Usage`, `ClusterUsage` and the legacy `Usage`, in the version in which they are read and written.
pub fn usage_kinds() -> [Arc<ApiType>; 3] {
    let api = |group: &str, kind: &str, plural: &str, namespaced| {
        Arc::new(ApiType {
            kind: GroupKind::new(group, kind),
            version: "v1beta1".to_owned(),
            plural: plural.to_owned(),
            namespaced,
        })
    };
    [
        api(GROUP, "Usage", "usages", true),
        api(GROUP, "ClusterUsage", "clusterusages", false),
        api(LEGACY_GROUP, "Usage", "usages", false),
    ]
}

/// Why it is not known which usages there are; `None`: the store holds all that there are. Those that the bridge has no right to see, as for a moment after
/// a start, are unknown where something bears their label (`is_marked`); where nothing does, there are none.
pub(crate) fn unknown_usages(watches: &Watches, is_marked: bool) -> Option<String> {
    usage_kinds().iter().find_map(|api| {
        let kind = &api.kind;
        let is_other_version = || {
            matches!(
                watches.resolve(&api.api_version(), kind.kind()),
                Err(Unresolved::OtherVersion(_))
            )
        };
        let state = watches.state(kind);
        let is_forbidden = matches!(state, WatchState::Forbidden(_));
        if watches.is_complete(kind) || (is_forbidden && !is_marked) || is_other_version() {
            return None;
        }
        Some(match state {
            WatchState::Syncing(why) | WatchState::Gone(why) | WatchState::Forbidden(why) => {
                format!("{kind}: {why}")
            }
            // In the meantime it was completed.
            WatchState::Live => format!("{kind}: just listed"),
        })
    })
}
