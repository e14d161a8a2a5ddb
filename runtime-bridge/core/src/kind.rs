//! What a kind is, as its plugin published it and the checks let it through.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// API type of a managed resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceType {
    /// API group.
    pub group: String,
    /// The one served version.
    pub version: String,
    /// Kind.
    pub kind: String,
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}/{}", self.kind, self.group, self.version)
    }
}

/// All that is needed to make a CRD and to run the machine for one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Group, version, kind.
    pub resource_type: ResourceType,
    /// Plural, lower case.
    pub plural: String,
    /// Lower case; the kind's own where the plugin said nothing.
    pub singular: String,
    /// For kubectl.
    pub short_names: Vec<String>,
    /// For kubectl, beside `crossplane` and `managed`.
    pub categories: Vec<String>,
    /// False: cluster-scoped.
    pub namespaced: bool,
    /// For docs and `kubectl explain`.
    pub description: String,
    /// Structural OpenAPI v3 schema of the parameters; sensitive fields stand in it with their real type.
    pub parameters_schema: Value,
    /// Likewise, of the status.
    pub status_schema: Value,
    /// Columns beside the bridge's own.
    pub printer_columns: Vec<PrinterColumn>,
    /// How it must be treated.
    pub capabilities: Capabilities,
    /// How names work.
    pub external_name: NameRules,
    /// Per-field meaning.
    pub field_rules: Vec<FieldRule>,
    /// Keys of the connection Secret.
    pub connection_keys: Vec<ConnectionKey>,
    /// With the contract's defaults filled in.
    pub timeouts: Timeouts,
    /// Opaque; changes when the kind does.
    pub digest: String,
}

/// A kubectl column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrinterColumn {
    /// Heading.
    pub name: String,
    /// OpenAPI type.
    pub data_type: String,
    /// JSONPath in the object.
    pub json_path: String,
}

/// How an unknown create is cleared up. Nothing declared: a person is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CreateRecovery {
    /// The name is known beforehand, so a look settles it.
    DeterministicName,
    /// The same Create settles it, while the token is retained.
    ClientToken,
    /// A look with an empty name finds it by its marker.
    Marker,
}

/// Who compares wish and fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffMode {
    /// The bridge, by schema and field rules.
    Bridge,
    /// The plugin.
    Plugin,
}

/// What a kind can do, and how it must be treated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // The contract's own flags.
pub struct Capabilities {
    /// False: observe-only.
    pub can_create: bool,
    /// False: any change needs replacement.
    pub can_update: bool,
    /// False: removing the object leaves the resource.
    pub can_delete: bool,
    /// In order of preference, without `NONE`; empty: none.
    pub create_recovery: Vec<CreateRecovery>,
    /// How long a token is honoured after its first use; `Duration::MAX`: for ever.
    pub token_retention: Duration,
    /// For this long after a Create may last have taken effect, absence is not believed.
    pub consistency_window: Duration,
    /// The ownership marker is kept on the resource and read back.
    pub holds_marker: bool,
    /// Who compares.
    pub diff_mode: DiffMode,
    /// Update is accepted while another operation runs.
    pub concurrent_update: bool,
    /// Delete is accepted while Create runs.
    pub delete_during_create: bool,
    /// Objects that share an upstream limit; the kind's own name where the plugin said nothing.
    pub rate_limit_group: String,
    /// How long after its deadline an accepted request may still take effect.
    pub late_margin: Duration,
    /// What a Create makes is seen as soon as the upstream has accepted the request, not only when its operation ends.
    pub visible_when_accepted: bool,
}

/// Where external names come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSource {
    /// The user: the annotation, or `metadata.name`.
    User,
    /// The upstream, in the answer to Create.
    Provider,
    /// The plugin, from the parameters.
    Derived,
}

/// How names work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRules {
    /// Where they come from.
    pub source: NameSource,
    /// RE2, anchored; empty: any.
    pub pattern: String,
    /// At most this many bytes; 0: no limit of its own.
    pub max_length: usize,
    /// One that is valid.
    pub example: String,
}

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

/// A key of the connection Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionKey {
    /// Key.
    pub name: String,
    /// For people.
    pub description: String,
    /// Only ever given once, around Create.
    pub one_time: bool,
}

/// Limits of one kind, defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// One call; at most 60 s.
    pub call: Duration,
    /// Whole creation, polls included; `None`: no limit.
    pub create: Option<Duration>,
    /// Whole update.
    pub update: Option<Duration>,
    /// Whole deletion.
    pub delete: Option<Duration>,
}

/// What a plugin is, as the handshake told.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginInfo {
    /// DNS subdomain, stable for ever; also the API group of its ProviderConfig kinds.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// Random at each start.
    pub instance_id: String,
    /// Calls it will take at once.
    pub max_concurrent_calls: usize,
    /// Largest message it will take, in bytes.
    pub max_message_bytes: usize,
    /// Schema of the settings; `None`: no settings.
    pub config_schema: Option<Value>,
    /// Credentials that it understands: name, description, required.
    pub credential_keys: Vec<CredentialKey>,
    /// Advertises `FEATURE_LIST_EXTERNAL`.
    pub lists_external: bool,
}

/// One credential that a plugin understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialKey {
    /// Key in the credentials map.
    pub name: String,
    /// For people.
    pub description: String,
    /// Must be there unless the whole map is empty.
    pub required: bool,
}
