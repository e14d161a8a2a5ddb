//! Per-field meaning that OpenAPI cannot carry.

use crate::{ResourceType, Violation, check};

/// When a field may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mutability {
    /// May change at any time, in place.
    #[default]
    Mutable,
    /// Changes only with a replacement of the resource.
    Immutable,
    /// May be set later, but not changed once set.
    SetOnce,
}

/// How two values are compared by the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Comparison {
    /// Compared as JSON, lists by `x-kubernetes-list-type`.
    #[default]
    Json,
    /// Letter case does not count.
    CaseInsensitive,
    /// A string that holds JSON; white space and key order do not count.
    JsonText,
    /// Kubernetes quantities, compared by value: `1Gi` equals `1024Mi`.
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
    /// An absent field is filled from what was observed.
    pub late_initialized: bool,
    /// The field holds something of another managed resource.
    pub reference: Option<ReferenceRule>,
}

/// Lets users write `fooRef` and `fooSelector`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceRule {
    /// The type of the resource that is referred to.
    pub resource_type: ResourceType,
    /// JSON Pointer into that resource's status; empty: its external name.
    pub extract: String,
}

impl FieldRule {
    pub(super) fn check(&self) -> Result<(), Violation> {
        check::name(&self.path, "path")?;
        check::pointer(&self.path, "path")?;
        check::optional(self.reference.as_ref(), "reference", ReferenceRule::check)
    }
}

impl ReferenceRule {
    fn check(&self) -> Result<(), Violation> {
        self.resource_type
            .check()
            .map_err(|violation| violation.within("resource_type"))?;
        if self.extract.is_empty() {
            return Ok(());
        }
        check::pointer(&self.extract, "extract")
    }
}
