//! What a field means beyond its type.

use crossbridge_proto::v1alpha1::{Comparison, FieldRule, Mutability, ReferenceRule, ResourceType};

use super::Kind;

/// What a field refers to: the name, or an attribute, of another managed resource.
#[derive(Debug, Clone)]
#[must_use]
pub struct Reference {
    rule: ReferenceRule,
}

impl Reference {
    /// The external name of a resource of this type.
    pub fn to(group: &str, version: &str, kind: &str) -> Self {
        Self {
            rule: ReferenceRule {
                resource_type: Some(ResourceType {
                    group: group.to_owned(),
                    version: version.to_owned(),
                    kind: kind.to_owned(),
                }),
                extract: String::new(),
            },
        }
    }

    /// Instead of its name, what stands here in its status.
    pub fn extract(mut self, pointer: &str) -> Self {
        pointer.clone_into(&mut self.rule.extract);
        self
    }
}

impl Kind {
    /// The field comes from a Secret: [`Desired::sensitive`](crate::Desired::sensitive).
    pub fn sensitive(self, path: &str) -> Self {
        self.rule(path, |rule| rule.sensitive = true)
    }

    /// The field changes only by replacement.
    pub fn immutable(self, path: &str) -> Self {
        self.rule(path, |rule| rule.set_mutability(Mutability::Immutable))
    }

    /// The field may be set later, but not changed once set.
    pub fn set_once(self, path: &str) -> Self {
        self.rule(path, |rule| rule.set_mutability(Mutability::SetOnce))
    }

    /// The field is never compared: the upstream does not return it.
    pub fn write_only(self, path: &str) -> Self {
        self.rule(path, |rule| rule.set_comparison(Comparison::WriteOnly))
    }

    /// Letter case does not count in the field.
    pub fn case_insensitive(self, path: &str) -> Self {
        self.rule(path, |rule| rule.set_comparison(Comparison::CaseInsensitive))
    }

    /// The field is a string that holds JSON: white space and key order do not count.
    pub fn json_text(self, path: &str) -> Self {
        self.rule(path, |rule| rule.set_comparison(Comparison::JsonText))
    }

    /// The field is a Kubernetes quantity.
    pub fn quantity(self, path: &str) -> Self {
        self.rule(path, |rule| rule.set_comparison(Comparison::Quantity))
    }

    /// Where the desired state leaves it out, the field is filled from what was observed.
    pub fn late_initialized(self, path: &str) -> Self {
        self.rule(path, |rule| rule.late_initialized = true)
    }

    /// Users may name another managed resource instead of the field's value.
    pub fn reference(self, path: &str, reference: Reference) -> Self {
        self.rule(path, |rule| rule.reference = Some(reference.rule))
    }

    fn rule(mut self, path: &str, change: impl FnOnce(&mut FieldRule)) -> Self {
        let rules = &mut self.wire.field_rules;
        let index = rules
            .iter()
            .position(|rule| rule.path == path)
            .unwrap_or_else(|| {
                rules.push(FieldRule {
                    path: path.to_owned(),
                    ..Default::default()
                });
                rules.len() - 1
            });
        change(&mut rules[index]);
        self
    }
}
