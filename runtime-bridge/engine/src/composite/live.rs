//! What the core is shown of an object of any kind.

use bridge_core::composite::LiveObject;

use crate::{api_error::ApiError, object::Object, shell::too_deep};

/// What the core is shown of an object.
///
/// # Errors
/// It is nested too deeply: what it says is not known.
pub(crate) fn live(object: &Object) -> Result<LiveObject, ApiError> {
    if !object.is_readable() {
        return Err(ApiError::Unusable(too_deep(object)));
    }
    Ok(LiveObject {
        object: object.to_value(),
    })
}
