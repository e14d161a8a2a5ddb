//! What the definitions of all kinds have in common.

use std::time::Duration;

use crossbridge_sdk::{ExternalName, Kind};

/// Name of the plugin, and group of its `ProviderConfig`; the group of a service is `SERVICE.` and this.
pub(crate) const NAME: &str = "aws.crossbridge.dev";

/// Served version of every kind.
pub(crate) const VERSION: &str = "v1alpha1";

/// Deadline of one call: a crash in the middle of a creation that never reached AWS then costs seconds.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The beginning of every kind's definition.
pub(crate) fn kind(group: &str, name: &str, names: ExternalName) -> Kind {
    Kind::new(group, VERSION, name, names)
        .category("aws")
        .call_timeout(CALL_TIMEOUT)
}
