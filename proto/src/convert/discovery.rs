//! Conversions of `List`: pages of the external resources that exist.

use crossbridge_types::{Failure, List, Listed, ListedItem, Violation};

use super::{document, nested, scalar};
use crate::v1alpha1 as wire;

impl TryFrom<wire::ListExternalRequest> for List {
    type Error = Violation;

    fn try_from(wire: wire::ListExternalRequest) -> Result<Self, Violation> {
        Ok(Self {
            resource_type: nested::required(wire.resource_type, "resource_type")?,
            config: nested::required(wire.config, "config")?,
            filter: document::optional(wire.filter, "filter")?,
            page_size: scalar::count(wire.page_size, "page_size")?,
            page_token: wire.page_token,
            include_parameters: wire.include_parameters,
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
