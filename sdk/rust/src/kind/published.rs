//! A kind as it is published, and what its rules require of a call.

use std::{fmt::Write, panic::Location};

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{
    self as types, CreateRecovery, DiffMode, NameSource, OperationVerb, Rule, Secrets, Violation,
};
use prost::Message;
use regex::Regex;
use schemars::JsonSchema;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tonic::Status;

use super::{Kind, schema};
use crate::{Failure, Resource, document};

/// A kind, complete and checked.
#[derive(Debug)]
pub(crate) struct PublishedKind {
    pub(crate) wire: wire::ResourceKind,
    pub(crate) rules: types::Kind,
    pub(crate) digest: String,
    pub(crate) listable: bool,
    /// The type that serves it, and the line that registers it: for the log.
    pub(crate) source: String,
    name_pattern: Option<Regex>,
}

impl PublishedKind {
    /// Puts types and declarations together.
    ///
    /// # Errors
    /// A sentence on the first mistake.
    #[track_caller]
    pub(crate) fn of<R: Resource>() -> Result<Self, String> {
        let source = format!("{} at {}", std::any::type_name::<R>(), Location::caller());
        let kind = R::kind();
        let name = kind
            .wire
            .resource_type
            .as_ref()
            .map(|kind| kind.kind.clone())
            .unwrap_or_default();
        Self::build::<R>(kind, &source).map_err(|problem| format!("kind {name}: {problem} ({source})"))
    }

    fn build<R: Resource>(kind: Kind, source: &str) -> Result<Self, String> {
        let Kind {
            mut wire,
            listable,
            list_filter,
        } = kind;
        wire.parameters_schema_json = schema_text::<R::Parameters>("parameters")?;
        wire.status_schema_json = schema_text::<R::Status>("status")?;
        if let Some(filter) = list_filter {
            let filter = filter().map_err(|problem| format!("the list filter: {problem}"))?;
            wire.list_filter_schema_json = Value::Object(filter).to_string();
        }
        let rules = types::Kind::try_from(wire.clone()).map_err(|violation| violation.to_string())?;
        let published = Self {
            digest: digest(&wire),
            name_pattern: name_pattern(&rules.external_name)?,
            wire,
            rules,
            listable,
            source: source.to_owned(),
        };
        published.check_examples::<R>()?;
        Ok(published)
    }

    fn check_examples<R: Resource>(&self) -> Result<(), String> {
        let mut names = vec![(
            "external_name.example".to_owned(),
            &self.rules.external_name.example,
        )];
        for example in &self.rules.examples {
            let name = &example.name;
            if !example.external_name.is_empty() {
                names.push((
                    format!("the external name of example {name:?}"),
                    &example.external_name,
                ));
            }
            for parameters in [&example.create_parameters, &example.update_parameters]
                .into_iter()
                .flatten()
            {
                document::read::<R::Parameters>(parameters)
                    .map_err(|(path, problem)| format!("example {name:?} at {path:?}: {problem}"))?;
            }
        }
        for (what, name) in names {
            self.check_name_form(name)
                .map_err(|problem| format!("{what}: {problem}"))?;
        }
        Ok(())
    }

    fn check_name_form(&self, name: &str) -> Result<(), String> {
        let limit = self.rules.external_name.max_length;
        if limit > 0 && name.len() > limit {
            return Err(format!(
                "{name:?} has {} bytes; at most {limit} are allowed",
                name.len()
            ));
        }
        match &self.name_pattern {
            Some(pattern) if !pattern.is_match(name) => Err(format!(
                "{name:?} does not match {:?}",
                self.rules.external_name.pattern
            )),
            _ => Ok(()),
        }
    }

    /// A creation whose outcome is unknown is found by its marker.
    pub(crate) fn is_found_by_marker(&self) -> bool {
        let ways = &self.rules.capabilities.create_recovery;
        ways.contains(&CreateRecovery::Marker)
    }

    /// Whether a call may come with this external name, perhaps none.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name where none may be, or none where one must be; `INVALID_SPEC` for one of a wrong form.
    pub(crate) fn check_name(&self, verb: NamedCall, name: &str) -> Result<(), Failure> {
        let refuse = |problem: &str| Err(Failure::invalid_argument("target.external_name", problem));
        let source = self.rules.external_name.source;
        if name.is_empty() {
            let by_marker = self.is_found_by_marker();
            return match verb {
                NamedCall::Create if source == NameSource::User => {
                    refuse("is required: the user gives this kind's names")
                }
                NamedCall::Observe if source != NameSource::Derived && !by_marker => {
                    refuse("is required: this kind cannot be observed without a name")
                }
                // Update and Delete are rejected by the contract's own check.
                _ => Ok(()),
            };
        }
        if verb == NamedCall::Create && source == NameSource::Provider {
            return refuse("is not allowed: the upstream gives this kind's names");
        }
        self.check_name_form(name).map_err(|problem| {
            Failure::invalid_spec(format!("the external name is not valid: {problem}"))
                .reason("InvalidExternalName")
                .violation("", problem)
        })
    }

    /// Whether the kind serves a call that changes something.
    ///
    /// # Errors
    /// gRPC `UNIMPLEMENTED`.
    pub(crate) fn check_capability(&self, verb: OperationVerb) -> Result<(), Failure> {
        let capabilities = &self.rules.capabilities;
        let can = match verb {
            OperationVerb::Create => capabilities.can_create,
            OperationVerb::Update => capabilities.can_update,
            OperationVerb::Delete => capabilities.can_delete,
        };
        if can {
            return Ok(());
        }
        let kind = &self.rules.resource_type;
        Err(Failure::status(Status::unimplemented(format!(
            "{kind} does not serve {verb:?}"
        ))))
    }

    /// The paths of sensitive fields.
    pub(crate) fn sensitive_paths(&self) -> impl Iterator<Item = &str> {
        self.rules
            .field_rules
            .iter()
            .filter(|rule| rule.sensitive)
            .map(|rule| rule.path.as_str())
    }
    /// Checks an observation by what the kind declares; `sent_name` may be empty.
    pub(crate) fn check_observation(
        &self,
        observation: &types::Observation,
        sent_name: &str,
    ) -> Result<(), Violation> {
        observation.check_name(sent_name)?;
        if self.rules.capabilities.diff_mode == DiffMode::Plugin && observation.up_to_date.is_none() {
            let when = "where the plugin compares";
            return Err(Violation::new("up_to_date", Rule::RequiredWhere { when }));
        }
        self.check_connection_details(&observation.connection_details)
    }

    /// Checks that every key was declared.
    pub(crate) fn check_connection_details(&self, details: &Secrets) -> Result<(), Violation> {
        details
            .0
            .keys()
            .try_for_each(|key| self.check_connection_key(key))
    }

    /// Checks that the key was declared; a declared key is in form.
    pub(crate) fn check_connection_key(&self, key: &str) -> Result<(), Violation> {
        if self.rules.connection_keys.iter().any(|known| known.name == key) {
            return Ok(());
        }
        Err(Violation::new(
            format!("connection_details[{key:?}]"),
            Rule::NotAllowed {
                why: "the kind declares no such connection key".to_owned(),
            },
        ))
    }
}

/// The calls that carry a name, as far as their rules differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedCall {
    Observe,
    Create,
    /// Update, Delete or `PollOperation`, which need the name.
    Other,
}

/// The kind's own encoding, which is the same each time, in one short word.
fn digest(kind: &wire::ResourceKind) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(kind.encode_to_vec()) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn schema_text<T: JsonSchema>(what: &str) -> Result<String, String> {
    schema::structural::<T>()
        .map(|schema| Value::Object(schema).to_string())
        .map_err(|problem| format!("the type of the {what}: {problem}"))
}

fn name_pattern(rules: &types::NameRules) -> Result<Option<Regex>, String> {
    if rules.pattern.is_empty() {
        return Ok(None);
    }
    Regex::new(&format!("^(?:{})$", rules.pattern))
        .map(Some)
        .map_err(|error| format!("external_name.pattern: {error}"))
}
