//! What the user asked for, and values that no log may show.

use std::{collections::BTreeMap, fmt};

use crate::{Document, Violation, check};

/// Secret values by key. `Debug` prints the keys only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(pub BTreeMap<String, Vec<u8>>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.0.keys().map(|key| (key, "redacted")))
            .finish()
    }
}

impl Secrets {
    /// Checks that each key can be a key of a Secret.
    pub(crate) fn check_connection_keys(&self) -> Result<(), Violation> {
        self.0
            .keys()
            .try_for_each(|key| check::secret_key(key, &format!("connection_details[{key:?}]")))
    }
}

/// The desired state of one resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DesiredState {
    /// Complete, and without secrets: an absent field means no opinion.
    pub parameters: Document,
    /// JSON Pointer into `parameters` -> value that was read from a Secret (UTF-8).
    pub sensitive: Secrets,
}

impl DesiredState {
    /// Checks that sensitive values stand at JSON Pointers and are text.
    ///
    /// # Errors
    /// The first key that is none.
    pub fn check(&self) -> Result<(), Violation> {
        self.sensitive.0.iter().try_for_each(|(pointer, value)| {
            let field = format!("sensitive_values[{pointer:?}]");
            check::pointer(pointer, &field)?;
            check::form(std::str::from_utf8(value).is_ok(), "UTF-8 text", &field)
        })
    }
}
