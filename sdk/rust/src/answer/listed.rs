//! Answers of `List`: pages of the external resources that exist.

use std::fmt;

use crate::document::Documents;

/// One page of the external resources that exist.
#[must_use]
pub struct Listed<R: Documents> {
    pub(crate) items: Vec<ListedItem<R>>,
    pub(crate) next_page_token: String,
    pub(crate) unreachable: Vec<String>,
}

impl<R: Documents> Listed<R> {
    /// The last page, or the only one.
    pub fn new(items: Vec<ListedItem<R>>) -> Self {
        Self {
            items,
            next_page_token: String::new(),
            unreachable: Vec::new(),
        }
    }

    /// More follows under this token.
    pub fn next_page(mut self, token: impl Into<String>) -> Self {
        self.next_page_token = token.into();
        self
    }

    /// A region or scope that did not answer.
    pub fn unreachable(mut self, scope: impl Into<String>) -> Self {
        self.unreachable.push(scope.into());
        self
    }
}

impl<R: Documents> fmt::Debug for Listed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listed")
            .field("items", &self.items)
            .field("next_page_token", &self.next_page_token)
            .field("unreachable", &self.unreachable)
            .finish()
    }
}

/// One external resource that exists.
#[must_use]
pub struct ListedItem<R: Documents> {
    pub(crate) external_name: String,
    pub(crate) canonical_id: String,
    pub(crate) display_name: String,
    pub(crate) parameters: Option<R::Parameters>,
    pub(crate) found_marker: String,
}

impl<R: Documents> ListedItem<R> {
    /// Creates an item for the resource of this external name.
    pub fn new(external_name: impl Into<String>) -> Self {
        Self {
            external_name: external_name.into(),
            canonical_id: String::new(),
            display_name: String::new(),
            parameters: None,
            found_marker: String::new(),
        }
    }

    /// Globally unique id (ARN, self link).
    pub fn canonical_id(mut self, id: impl Into<String>) -> Self {
        self.canonical_id = id.into();
        self
    }

    /// Sets the name that people see for it.
    pub fn display_name(mut self, name: impl Into<String>) -> Self {
        self.display_name = name.into();
        self
    }

    /// Ready to become `spec.forProvider`.
    pub fn parameters(mut self, parameters: R::Parameters) -> Self {
        self.parameters = Some(parameters);
        self
    }

    /// Who owns it already, where marked.
    pub fn found_marker(mut self, marker: impl Into<String>) -> Self {
        self.found_marker = marker.into();
        self
    }
}

impl<R: Documents> fmt::Debug for ListedItem<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListedItem")
            .field("external_name", &self.external_name)
            .finish_non_exhaustive()
    }
}
