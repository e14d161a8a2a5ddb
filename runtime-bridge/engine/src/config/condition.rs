//! The condition that tells what became of a config.

use bridge_core::{
    managed::{ConditionValue, Status},
    reasons::ConditionReason,
};
use jiff::Timestamp;

use super::ConfigError;
use crate::object::Object;

/// The config with its condition `Ready` as it should be, by the identity that it gives or the error; `None`: it is so already.
pub(super) fn reported(
    config: &Object,
    identity: Result<&str, &ConfigError>,
    now: Timestamp,
) -> Option<Object> {
    let says = match identity {
        Ok(identity) => ConditionValue {
            status: true,
            reason: ConditionReason::Usable.as_str().to_owned(),
            message: if identity.is_empty() {
                String::new()
            } else {
                format!("authenticated as {identity}")
            },
        },
        Err(error) => ConditionValue::no(error.reason(), error.to_string()),
    };
    let before = Status::read(config.status_value());
    let mut status = before.clone();
    status.set("Ready", &says, config.generation(), now);
    if status == before {
        return None;
    }
    let mut reported = config.clone();
    reported.set_status(&status.write());
    Some(reported)
}
