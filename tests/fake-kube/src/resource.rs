//! Which resources are served, and where in URLs.

use std::sync::Arc;

use serde_json::Value;

/// One resource that is served: of a definition, or built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Empty: the core group.
    pub group: String,
    /// The version that is served.
    pub version: String,
    /// The kind of its objects.
    pub kind: String,
    /// The plural, as in paths.
    pub plural: String,
    /// Whether its objects live in namespaces; else they are cluster-scoped.
    pub namespaced: bool,
    /// `status` is written by itself only.
    pub has_status: bool,
    /// A definition serves it.
    pub custom: bool,
    /// Structural schema; `Null`: none.
    pub schema: Arc<Value>,
}

/// Identity of a resource: plural and group.
pub type Id = (String, String);

impl Resource {
    fn built_in(group: &str, version: &str, kind: &str, plural: &str, namespaced: bool) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced,
            has_status: matches!(
                plural,
                "customresourcedefinitions" | "validatingadmissionpolicies"
            ),
            custom: false,
            schema: Arc::default(),
        }
    }

    /// Changes of what is desired are counted.
    pub(crate) fn has_generation(&self) -> bool {
        self.custom || self.has_status
    }

    /// Plural and group, under which its objects are stored.
    pub fn id(&self) -> Id {
        (self.plural.clone(), self.group.clone())
    }

    /// `group/version`, or `version` in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// What a definition serves: its versions that are served; none while it is not established.
    pub(crate) fn of_definition(definition: &Value) -> Vec<Self> {
        let text = |pointer: &str| {
            definition
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
        versions
            .into_iter()
            .flatten()
            .filter(|version| version["served"] == true)
            .map(|version| Self {
                group: text("/spec/group"),
                version: version["name"].as_str().unwrap_or_default().to_owned(),
                kind: text("/spec/names/kind"),
                plural: text("/spec/names/plural"),
                namespaced: text("/spec/scope") == "Namespaced",
                has_status: version.pointer("/subresources/status").is_some(),
                custom: true,
                schema: Arc::new(
                    version
                        .pointer("/schema/openAPIV3Schema")
                        .cloned()
                        .unwrap_or_default(),
                ),
            })
            .collect()
    }
}

/// What is served without a definition.
pub(crate) fn built_in() -> Vec<Resource> {
    let extensions = "apiextensions.k8s.io";
    let admission =
        |kind, plural| Resource::built_in("admissionregistration.k8s.io", "v1", kind, plural, false);
    vec![
        admission("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
        admission(
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
        ),
        admission(
            "ValidatingWebhookConfiguration",
            "validatingwebhookconfigurations",
        ),
        Resource::built_in("", "v1", "Namespace", "namespaces", false),
        Resource::built_in("", "v1", "Secret", "secrets", true),
        Resource::built_in("", "v1", "ConfigMap", "configmaps", true),
        Resource::built_in("", "v1", "Event", "events", true),
        Resource::built_in("apiregistration.k8s.io", "v1", "APIService", "apiservices", false),
        Resource::built_in("coordination.k8s.io", "v1", "Lease", "leases", true),
        Resource::built_in(
            extensions,
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            false,
        ),
    ]
}
