//! Finding what exists.

use super::{Config, Document, Failure, ResourceType, Violation, document, nested, text};
use crate::v1alpha1 as wire;

/// Find one page of what exists.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// Of which type.
    pub resource_type: ResourceType,
    /// Where and as whom.
    pub config: Config,
    /// Valid by the kind's filter schema.
    pub filter: Option<Document>,
    /// At most this many; `None`: the plugin's choice.
    pub page_size: Option<usize>,
    /// From the page before; empty: the first.
    pub page_token: String,
    /// Fill in the parameters of each item.
    pub include_parameters: bool,
}

impl TryFrom<wire::ListExternalRequest> for List {
    type Error = Violation;

    fn try_from(wire: wire::ListExternalRequest) -> Result<Self, Violation> {
        Ok(Self {
            resource_type: nested::required(wire.resource_type, "resource_type")?,
            config: nested::required(wire.config, "config")?,
            filter: document::optional(wire.filter, "filter")?,
            page_size: text::count(wire.page_size, "page_size")?,
            page_token: wire.page_token,
            include_parameters: wire.include_parameters,
        })
    }
}

/// One page of what exists.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// This page.
    pub items: Vec<ListedItem>,
    /// Empty on the last page.
    pub next_page_token: String,
    /// Regions or scopes that did not answer.
    pub unreachable: Vec<String>,
}

/// One external resource that exists.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedItem {
    /// Its name; not empty.
    pub external_name: String,
    /// Globally unique id; empty: not told.
    pub canonical_id: String,
    /// For people; empty: none.
    pub display_name: String,
    /// Ready to become `spec.forProvider`.
    pub parameters: Option<Document>,
    /// Who owns it already; empty: nobody, or not told.
    pub found_marker: String,
}

impl Listed {
    /// Checks that each item has a name.
    pub fn check(&self) -> Result<(), Violation> {
        nested::check_each(&self.items, "items", |item| {
            text::required(&item.external_name, "external_name")
        })
    }
}

/// The page, or why there is none.
impl TryFrom<wire::ListExternalResponse> for Result<Listed, Failure> {
    type Error = Violation;

    fn try_from(wire: wire::ListExternalResponse) -> Result<Self, Violation> {
        if let Some(failure) = nested::optional(wire.failure, "failure")? {
            return Ok(Err(failure));
        }
        let listed = Listed {
            items: nested::each(wire.items, "items")?,
            next_page_token: wire.next_page_token,
            unreachable: wire.unreachable,
        };
        listed.check()?;
        Ok(Ok(listed))
    }
}

impl TryFrom<wire::ExternalResource> for ListedItem {
    type Error = Violation;

    fn try_from(wire: wire::ExternalResource) -> Result<Self, Violation> {
        Ok(Self {
            external_name: wire.external_name,
            canonical_id: wire.canonical_id,
            display_name: wire.display_name,
            parameters: document::optional(wire.parameters, "parameters")?,
            found_marker: wire.found_marker,
        })
    }
}

impl From<Listed> for wire::ListExternalResponse {
    fn from(listed: Listed) -> Self {
        Self {
            items: listed
                .items
                .into_iter()
                .map(|item| wire::ExternalResource {
                    external_name: item.external_name,
                    canonical_id: item.canonical_id,
                    display_name: item.display_name,
                    parameters: item.parameters.map(wire::Document::of),
                    found_marker: item.found_marker,
                })
                .collect(),
            next_page_token: listed.next_page_token,
            unreachable: listed.unreachable,
            failure: None,
        }
    }
}
