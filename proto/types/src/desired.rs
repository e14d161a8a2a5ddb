//! What the user asked for, and values that no log may show.

use std::{collections::BTreeMap, fmt};

use crate::{Document, Kind, Rule, Violation, check, limits};

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
    /// Checks that each key can be a key of a Secret, and that all can be written into one.
    ///
    /// # Errors
    /// They are too large together, or the first key that cannot.
    pub fn check_connection_details(&self) -> Result<(), Violation> {
        const FIELD: &str = "connection_details";
        let length = self.0.iter().map(|(key, value)| key.len() + value.len()).sum();
        let limit = limits::CONNECTION_DETAILS;
        if length > limit {
            return Err(Violation::new(FIELD, Rule::TooLong { length, limit }));
        }
        self.0
            .keys()
            .try_for_each(|key| check::secret_key(key, &format!("{FIELD}[{key:?}]")))
    }

    /// The keys that a kind does not declare.
    pub fn undeclared(&self, kind: &Kind) -> Vec<String> {
        let is_declared = |key: &str| kind.connection_keys.iter().any(|declared| declared.name == key);
        self.0.keys().filter(|key| !is_declared(key)).cloned().collect()
    }

    /// Takes them out, and returns them.
    pub fn take_undeclared(&mut self, kind: &Kind) -> Vec<String> {
        let undeclared = self.undeclared(kind);
        self.0.retain(|key, _| !undeclared.contains(key));
        undeclared
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
