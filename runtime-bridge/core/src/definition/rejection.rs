//! Why nothing can be served for a definition.

use crate::reasons::DefinitionEvent;

/// Which of the two types of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Its composite resources.
    Composite,
    /// Their claims.
    Claim,
}

impl Side {
    /// As errors name it.
    const fn title(self) -> &'static str {
        match self {
            Self::Composite => "Composite Resource",
            Self::Claim => "Composite Resource Claim",
        }
    }

    /// As events name it.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Composite => "composite resource",
            Self::Claim => "composite resource claim",
        }
    }

    /// The event of what is deleted of it.
    pub const fn removal_event(self) -> DefinitionEvent {
        match self {
            Self::Composite => DefinitionEvent::TerminateComposite,
            Self::Claim => DefinitionEvent::RedactClaim,
        }
    }
}

/// Why nothing can be served for a definition. The texts stand in conditions: the same cause has the same text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionRejected {
    /// A field is missing, or not what it must be.
    #[error("cannot read CompositeResourceDefinition: {field}: {why}")]
    Field {
        /// Path, such as `spec.versions[0].name`; of a missing field, the path of what lacks it.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// The name is not the one that its CRD must have.
    #[error(r#"the name must be "{wanted}", that is <plural>.<group>: create it anew under that name"#)]
    Misnamed {
        /// What it must be.
        wanted: String,
    },
    /// A version has no schema.
    #[error(
        r#"cannot generate CRD for "{}" "{definition}": custom resource validation cannot be nil (version "{version}" has no schema)"#,
        side.title()
    )]
    NoSchema {
        /// Whose CRD.
        side: Side,
        /// Name of the definition.
        definition: String,
        /// Name of the version.
        version: String,
    },
    /// A schema is not of the form that all schemas have.
    #[error(
        r#"cannot generate CRD for "{}" "{definition}": cannot parse validation schema: {path} of version "{version}" must be {expected}"#,
        side.title()
    )]
    Schema {
        /// Whose CRD.
        side: Side,
        /// Name of the definition.
        definition: String,
        /// Name of the version.
        version: String,
        /// JSON Pointer into the schema; empty: the schema itself.
        path: String,
        /// What must be there.
        expected: &'static str,
    },
    /// No version is referenceable.
    #[error("no version is referenceable: set referenceable: true on exactly one version")]
    NoReferenceable,
    /// Several versions are referenceable.
    #[error(
        "versions {} are referenceable: set referenceable: true on exactly one version",
        names.join(", ")
    )]
    SeveralReferenceable {
        /// Their names.
        names: Vec<String>,
    },
    /// The version in which the bridge reads and writes cannot be read.
    #[error(r#"version "{name}" is referenceable and not served: set served: true, or make another version referenceable"#)]
    ReferenceableNotServed {
        /// Its name.
        name: String,
    },
    /// Claims exist for cluster-scoped legacy composite resources alone.
    #[error("Only LegacyCluster composite resources can offer claims")]
    ClaimsNotOffered,
    /// A name of the claims is one of the composite resources too.
    #[error(r#"invalid resource claim names: "{name}" conflicts with composite resource name"#)]
    ClaimNameConflict {
        /// The name.
        name: String,
    },
}
