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

/// The store holds all usages that there are, or that the bridge has the right to see.
pub(crate) fn are_usages_known(watches: &Watches) -> bool {
    usage_kinds().iter().all(|api| {
        let kind = &api.kind;
        let is_other_version = || {
            matches!(
                watches.resolve(&api.api_version(), kind.kind()),
                Err(Unresolved::OtherVersion(_))
            )
        };
        watches.is_complete(kind)
            || matches!(watches.state(kind), WatchState::Forbidden(_))
            || is_other_version()
    })
}
