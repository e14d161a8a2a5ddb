//! What a used object bears while it is in use: label, text, and which usages hold them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::names;
use crate::composite::LiveObject;

/// What a used object bears.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    /// The label is on.
    pub label: bool,
    /// For people.
    pub text: Option<String>,
    /// Uids of the usages that hold the label.
    pub held_by: BTreeSet<String>,
    /// Uid of a usage that is letting it go.
    pub let_go_by: Option<String>,
}

impl Mark {
    /// As an object bears it.
    pub fn of(object: &LiveObject) -> Self {
        let held_by = object.annotation(names::HELD_BY).unwrap_or_default().split(',');
        Self {
            label: object.label(names::IN_USE) == Some("true"),
            text: object.annotation(names::IN_USE_BY).map(ToOwned::to_owned),
            held_by: held_by
                .map(str::trim)
                .filter(|uid| !uid.is_empty())
                .map(ToOwned::to_owned)
                .collect(),
            let_go_by: object.annotation(names::LET_GO_BY).map(ToOwned::to_owned),
        }
    }

    /// As a merge patch of the object.
    pub fn patch(&self) -> Value {
        let held_by: Vec<&str> = self.held_by.iter().map(String::as_str).collect();
        let held_by = Some(held_by.join(",")).filter(|held_by| !held_by.is_empty());
        json!({"metadata": {
            "labels": {names::IN_USE: self.label.then_some("true")},
            "annotations": {names::IN_USE_BY: self.text, names::HELD_BY: held_by, names::LET_GO_BY: self.let_go_by},
        }})
    }
}
