//! What the core is shown of an object of any kind.

use bridge_core::composite::LiveObject;

use crate::{api_error::ApiError, object::Object, shell::cannot_read};

/// What the core is shown of an object.
///
/// # Errors
/// It is nested too deeply: what it says is not known.
pub(crate) fn live(object: &Object) -> Result<LiveObject, ApiError> {
    if !object.is_readable() {
        return Err(ApiError::Unusable(cannot_read(object)));
    }
    Ok(LiveObject::new(object.to_value()))
}
