//! What the user asked for.

use crossbridge_types::Secrets;
use serde_json::{Map, Value};

/// The complete desired state. `Debug` prints no sensitive value.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Desired<P> {
    /// Typed. An absent field means no opinion; sensitive fields are always absent.
    pub parameters: P,
    /// The parameters as the JSON that came.
    pub json: Map<String, Value>,
    pub(crate) sensitive: Secrets,
}

/// A desired state that may be incomplete: what is only observed has no required fields, and a deletion must not stop at one that fits the
/// type no longer. `parameters` is `None` then; `json` has what there is.
pub type Known<P> = Desired<Option<P>>;

impl<P> Desired<P> {
    /// The value of a sensitive field, by its JSON Pointer: `/masterPassword`.
    pub fn sensitive(&self, pointer: &str) -> Option<&str> {
        let value = self.sensitive.0.get(pointer)?;
        // It came as text.
        std::str::from_utf8(value).ok()
    }
}
