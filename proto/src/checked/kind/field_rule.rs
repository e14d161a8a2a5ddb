//! Per-field meaning that OpenAPI cannot carry.

use crate::{
    checked::{ResourceType, Violation, nested, text},
    v1alpha1 as wire,
};

/// When a field may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mutability {
    /// Any time.
    #[default]
    Mutable,
    /// Only by replacement.
    Immutable,
    /// May be set later, but not changed once set.
    SetOnce,
}

/// How two values are compared by the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Comparison {
    /// As JSON, lists by `x-kubernetes-list-type`.
    #[default]
    Json,
    /// Letter case does not count.
    CaseInsensitive,
    /// A string that holds JSON; white space and key order do not count.
    JsonText,
    /// Kubernetes quantities.
    Quantity,
    /// Never: the upstream does not return it.
    WriteOnly,
}

/// Meaning of one field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldRule {
    /// JSON Pointer into the parameters; `*` stands for any list index or map key.
    pub path: String,
    /// Comes from a Secret and travels beside the document.
    pub sensitive: bool,
    /// When it may change.
    pub mutability: Mutability,
    /// How it is compared.
    pub comparison: Comparison,
    /// An absent wish is filled from what was observed.
    pub late_initialized: bool,
    /// The field holds something of another managed resource.
    pub reference: Option<ReferenceRule>,
}

/// Lets users write `fooRef` and `fooSelector`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceRule {
    /// Of what.
    pub resource_type: ResourceType,
    /// JSON Pointer into that resource's status; empty: its external name.
    pub extract: String,
}

impl TryFrom<wire::FieldRule> for FieldRule {
    type Error = Violation;

    fn try_from(wire: wire::FieldRule) -> Result<Self, Violation> {
        text::pointer(&wire.path, "path")?;
        Ok(Self {
            mutability: match wire.mutability() {
                wire::Mutability::Unspecified => Mutability::Mutable,
                wire::Mutability::Immutable => Mutability::Immutable,
                wire::Mutability::SetOnce => Mutability::SetOnce,
            },
            comparison: match wire.comparison() {
                wire::Comparison::Unspecified => Comparison::Json,
                wire::Comparison::CaseInsensitive => Comparison::CaseInsensitive,
                wire::Comparison::JsonText => Comparison::JsonText,
                wire::Comparison::Quantity => Comparison::Quantity,
                wire::Comparison::WriteOnly => Comparison::WriteOnly,
            },
            path: wire.path,
            sensitive: wire.sensitive,
            late_initialized: wire.late_initialized,
            reference: nested::optional(wire.reference, "reference")?,
        })
    }
}

impl TryFrom<wire::ReferenceRule> for ReferenceRule {
    type Error = Violation;

    fn try_from(wire: wire::ReferenceRule) -> Result<Self, Violation> {
        if !wire.extract.is_empty() {
            text::pointer(&wire.extract, "extract")?;
        }
        Ok(Self {
            resource_type: nested::required(wire.resource_type, "resource_type")?,
            extract: wire.extract,
        })
    }
}
