//! How external names work.

use crate::{Violation, check};

/// Who chooses the external name of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSource {
    /// The user: the annotation, or `metadata.name`.
    User,
    /// The upstream, in the answer to Create.
    Provider,
    /// The plugin, from the parameters.
    Derived,
}

/// Who chooses external names, and their form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRules {
    /// Who chooses them: user, upstream, or the plugin from the parameters.
    pub source: NameSource,
    /// RE2, anchored; empty: any.
    pub pattern: String,
    /// At most this many bytes; 0: no limit of its own.
    pub max_length: usize,
    /// A valid name, for docs and generated manifests.
    pub example: String,
}

impl NameRules {
    pub(super) fn check(&self) -> Result<(), Violation> {
        check::required(&self.example, "example")?;
        check::name(&self.example, "example")?;
        check::name(&self.pattern, "pattern")?;
        if self.max_length > 0 {
            check::at_most(&self.example, self.max_length, "example")?;
        }
        Ok(())
    }
}
