//! How external names come about.

use crossbridge_proto::v1alpha1::{ExternalNameRules, ExternalNameSource};

/// How the names of a kind's external resources come about. The example is one that is valid.
#[derive(Debug, Clone)]
#[must_use]
pub struct ExternalName {
    pub(crate) wire: ExternalNameRules,
}

impl ExternalName {
    /// The user gives the name, by annotation or `metadata.name`.
    pub fn by_user(example: &str) -> Self {
        Self::new(ExternalNameSource::User, example)
    }

    /// The upstream gives the name, in the answer to create.
    pub fn by_upstream(example: &str) -> Self {
        Self::new(ExternalNameSource::Provider, example)
    }

    /// The plugin works the name out from the parameters, and reports it in observe and create.
    pub fn derived(example: &str) -> Self {
        Self::new(ExternalNameSource::Derived, example)
    }

    fn new(source: ExternalNameSource, example: &str) -> Self {
        Self {
            wire: ExternalNameRules {
                source: source.into(),
                example: example.to_owned(),
                ..Default::default()
            },
        }
    }

    /// The pattern of a name: RE2, anchored.
    pub fn pattern(mut self, pattern: &str) -> Self {
        pattern.clone_into(&mut self.wire.pattern);
        self
    }

    /// At most this many bytes.
    pub fn max_length(mut self, bytes: u16) -> Self {
        self.wire.max_length = i32::from(bytes);
        self
    }
}
