//! Pages of the external resources that exist, for imports.

use crate::{Config, Document, ResourceType, Violation, check};

/// A request for one page of what exists.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The type whose external resources are listed.
    pub resource_type: ResourceType,
    /// The config to list with: where, and as whom.
    pub config: Config,
    /// Valid by the kind's filter schema.
    pub filter: Option<Document>,
    /// At most this many; `None`: the plugin's choice.
    pub page_size: Option<usize>,
    /// The token from the page before; empty: the first page.
    pub page_token: String,
    /// Fill in the parameters of each item.
    pub include_parameters: bool,
}

/// One page of the external resources that exist.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The external resources of this page; may be empty.
    pub items: Vec<ListedItem>,
    /// Empty on the last page.
    pub next_page_token: String,
    /// Regions or scopes that did not answer.
    pub unreachable: Vec<String>,
}

/// One external resource that exists.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedItem {
    /// The external name, by which it can be observed; not empty.
    pub external_name: String,
    /// Globally unique id; empty: not reported.
    pub canonical_id: String,
    /// The name that people see; empty: none.
    pub display_name: String,
    /// Ready to become `spec.forProvider`.
    pub parameters: Option<Document>,
    /// Who owns it already; empty: no owner, or not reported.
    pub found_marker: String,
}

impl Listed {
    /// Checks that each item has a name.
    ///
    /// # Errors
    /// The first that has none.
    pub fn check(&self) -> Result<(), Violation> {
        check::each(&self.items, "items", |item| {
            check::required(&item.external_name, "external_name")?;
            check::name(&item.external_name, "external_name")?;
            check::name(&item.canonical_id, "canonical_id")?;
            check::name(&item.found_marker, "found_marker")
        })
    }
}
