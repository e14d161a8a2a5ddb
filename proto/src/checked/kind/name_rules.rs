//! How external names work.

use crate::{
    checked::{Rule, Violation, text},
    v1alpha1 as wire,
};

/// Where external names come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSource {
    /// The user: the annotation, or `metadata.name`.
    User,
    /// The upstream, in the answer to Create.
    Provider,
    /// The plugin, from the parameters.
    Derived,
}

/// How names work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRules {
    /// Where they come from.
    pub source: NameSource,
    /// RE2, anchored; empty: any.
    pub pattern: String,
    /// At most this many bytes; 0: no limit of its own.
    pub max_length: usize,
    /// One that is valid.
    pub example: String,
}

impl TryFrom<wire::ExternalNameRules> for NameRules {
    type Error = Violation;

    fn try_from(wire: wire::ExternalNameRules) -> Result<Self, Violation> {
        let source = match wire.source() {
            wire::ExternalNameSource::Unspecified => return Err(Violation::new("source", Rule::Required)),
            wire::ExternalNameSource::User => NameSource::User,
            wire::ExternalNameSource::Provider => NameSource::Provider,
            wire::ExternalNameSource::Derived => NameSource::Derived,
        };
        let max_length = text::count(wire.max_length, "max_length")?.unwrap_or_default();
        text::required(&wire.example, "example")?;
        if max_length > 0 {
            text::at_most(&wire.example, max_length, "example")?;
        }
        Ok(Self {
            source,
            pattern: wire.pattern,
            max_length,
            example: wire.example,
        })
    }
}
