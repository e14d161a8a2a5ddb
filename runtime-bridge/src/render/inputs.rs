//! What is rendered, and with what.

use std::collections::BTreeMap;

use bridge_core::{
    composite::{LiveObject, Ownership, PipelineSpec, names},
    definition::Scope,
    function::HiddenMap,
};
use serde_json::Value;
use sha1::{Digest, Sha1};

use super::RenderError;

/// Objects as they were given, by whatever way: [`Given::checked`].
#[derive(Default)]
pub(super) struct Given {
    pub composite: Value,
    pub composition: Value,
    pub definition: Option<Value>,
    /// Composed resources that exist.
    pub observed: Vec<Value>,
    /// What functions may require.
    pub required: Vec<Value>,
    /// Secrets.
    pub credentials: Vec<Value>,
    /// Documents of OpenAPI v3.
    pub schemas: Vec<Value>,
    /// What the first function finds in the context.
    pub context: HiddenMap,
}

/// Fields that are objects, if they are there, whatever the object is.
const OBJECTS: [&str; 5] = [
    "metadata",
    "metadata.labels",
    "metadata.annotations",
    "spec",
    "status",
];

impl Given {
    /// Checks what the API server would: that fields which hold fields do.
    ///
    /// # Errors
    /// One of them holds something else.
    pub(super) fn checked(self) -> Result<Self, RenderError> {
        check("composite_resource", &self.composite)?;
        check("composition", &self.composition)?;
        if let Some(definition) = &self.definition {
            check("composite_resource_definition", definition)?;
        }
        for (list, objects) in [
            ("observed_resources", &self.observed),
            ("required_resources", &self.required),
            ("credentials", &self.credentials),
        ] {
            for (index, object) in objects.iter().enumerate() {
                check(&format!("{list}[{index}]"), object)?;
            }
        }
        Ok(self)
    }
}

fn check(name: &str, object: &Value) -> Result<(), RenderError> {
    for field in OBJECTS {
        let found = match object.pointer(&format!("/{}", field.replace('.', "/"))) {
            None | Some(Value::Null | Value::Object(_)) => continue,
            Some(Value::String(_)) => "a string",
            Some(Value::Array(_)) => "a list",
            Some(Value::Number(_)) => "a number",
            Some(Value::Bool(_)) => "a boolean",
        };
        return Err(RenderError::NoObject {
            object: name.to_owned(),
            field: field.to_owned(),
            found,
        });
    }
    Ok(())
}

/// All of it, as it is used.
pub(super) struct Inputs {
    /// As it was given.
    pub given: Value,
    /// The same with a uid.
    pub composite: Value,
    pub scope: Scope,
    /// Name of the composition.
    pub composition: String,
    pub pipeline: PipelineSpec,
    /// In which the composition wants connection Secrets of legacy composite resources.
    pub secrets_namespace: Option<String>,
    pub observed: Vec<ObservedResource>,
    /// All objects that a function may require.
    pub store: Vec<Value>,
    /// Documents of OpenAPI v3.
    pub schemas: Vec<Value>,
    pub context: HiddenMap,
}

/// A composed resource that exists.
pub(super) struct ObservedResource {
    pub given: Value,
    /// With a uid and a version.
    pub live: LiveObject,
}

impl Inputs {
    pub(super) fn new(given: Given) -> Result<Self, RenderError> {
        let mut composite = given.composite.clone();
        let composition = &given.composition;
        let wanted = &composition["spec"]["compositeTypeRef"];
        let typed = |of: &Value| format!("{} {}", text(of, "/apiVersion"), text(of, "/kind"));
        if typed(wanted) != typed(&composite) {
            return Err(RenderError::OtherType {
                wanted: typed(wanted),
                found: typed(&composite),
            });
        }
        let scope = scope(&composite, given.definition.as_ref())?;
        let pipeline = PipelineSpec::parse(&composition["spec"]["pipeline"])
            .map_err(|error| RenderError::Composition(error.to_string()))?;
        if text(&composite, "/metadata/uid").is_empty() {
            composite["metadata"]["uid"] = uid_of(&composite).into();
        }
        let secrets_namespace = text(composition, "/spec/writeConnectionSecretsToNamespace");
        let is_used = scope == Scope::LegacyCluster && !secrets_namespace.is_empty();
        let secrets_namespace = is_used.then(|| secrets_namespace.to_owned());
        let composition = text(composition, "/metadata/name").to_owned();
        let store = store(
            [composite.clone()]
                .into_iter()
                .chain(given.observed.iter().cloned())
                .chain(given.required)
                .chain(given.credentials.into_iter().map(secret)),
        );
        Ok(Self {
            given: given.composite,
            scope,
            composition,
            pipeline,
            secrets_namespace,
            observed: observed(&composite, given.observed)?,
            store,
            schemas: given.schemas,
            context: given.context,
            composite,
        })
    }
}

impl Inputs {
    /// Name of the composition that the composite resource had; empty: none.
    pub(super) fn former_composition(&self) -> &str {
        text(
            &self.composite,
            match self.scope {
                Scope::LegacyCluster => "/spec/compositionRef/name",
                Scope::Namespaced | Scope::Cluster => "/spec/crossplane/compositionRef/name",
            },
        )
    }
}

/// Of two objects of one name the later one counts.
fn store(objects: impl Iterator<Item = Value>) -> Vec<Value> {
    let fields = ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"];
    let key = |object: &Value| fields.map(|field| text(object, field).to_owned());
    let objects: BTreeMap<_, Value> = objects.map(|object| (key(&object), object)).collect();
    objects.into_values().collect()
}

/// A client that knows the type leaves it away.
fn secret(mut object: Value) -> Value {
    if text(&object, "/kind").is_empty() {
        object["apiVersion"] = "v1".into();
        object["kind"] = "Secret".into();
    }
    object
}

fn scope(composite: &Value, definition: Option<&Value>) -> Result<Scope, RenderError> {
    let Some(definition) = definition else {
        let is_namespaced = !text(composite, "/metadata/namespace").is_empty();
        return Ok(if is_namespaced {
            Scope::Namespaced
        } else {
            Scope::Cluster
        });
    };
    let defined = format!(
        "{}.{}",
        text(definition, "/spec/names/kind"),
        text(definition, "/spec/group")
    );
    let group = text(composite, "/apiVersion")
        .split_once('/')
        .map_or("", |(group, _)| group);
    let found = format!("{}.{group}", text(composite, "/kind"));
    if defined == found {
        Ok(scope_of(definition))
    } else {
        Err(RenderError::OtherDefinition {
            name: text(definition, "/metadata/name").to_owned(),
            defined,
            found,
        })
    }
}

fn scope_of(definition: &Value) -> Scope {
    let is_v1 = text(definition, "/apiVersion").ends_with("/v1");
    match text(definition, "/spec/scope") {
        "Cluster" => Scope::Cluster,
        "LegacyCluster" => Scope::LegacyCluster,
        "" if is_v1 => Scope::LegacyCluster,
        _ => Scope::Namespaced,
    }
}

/// The uid that Crossplane's `render` gives to a composite resource without one: a version 5 UUID of kind and name.
fn uid_of(composite: &Value) -> String {
    let (group, version) = match text(composite, "/apiVersion").split_once('/') {
        Some((group, version)) => (group, version),
        None => ("", text(composite, "/apiVersion")),
    };
    let named = format!(
        "{group}/{version}, Kind={}\0{}\0{}",
        text(composite, "/kind"),
        text(composite, "/metadata/namespace"),
        text(composite, "/metadata/name")
    );
    let mut hash = Sha1::new();
    hash.update([0; 16]);
    hash.update(named.as_bytes());
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    uuid::Uuid::from_bytes(bytes).to_string()
}

/// As the API server would hold them.
fn observed(composite: &Value, objects: Vec<Value>) -> Result<Vec<ObservedResource>, RenderError> {
    let home = text(composite, "/metadata/namespace");
    let mut all = Vec::new();
    let mut invalid = Vec::new();
    for (number, given) in (1..).zip(objects) {
        let mut object = given.clone();
        let metadata = &mut object["metadata"];
        if metadata["uid"].is_null() {
            metadata["uid"] = format!("observed-{number}").into();
        }
        if metadata["resourceVersion"].is_null() {
            metadata["resourceVersion"] = "1".into();
        }
        let live = LiveObject::new(object);
        let name = live.name();
        if live.ownership(text(composite, "/metadata/uid")) == Ownership::Foreign {
            invalid.push(format!(
                "observed resource {name} has a controller ref but is not controlled by the XR"
            ));
        }
        if !home.is_empty() && text(&given, "/metadata/namespace") != home {
            invalid.push(format!(
                "observed resource {name} is not in the same namespace as the XR"
            ));
        }
        all.push(ObservedResource { given, live });
    }
    match invalid.as_slice() {
        [] => {}
        [one] => return Err(RenderError::Observed(one.clone())),
        more => return Err(RenderError::Observed(format!("[{}]", more.join(", ")))),
    }
    match all.iter().find(|one| one.live.resource_name().is_none()) {
        None => Ok(all),
        Some(unnamed) => Err(RenderError::Observed(format!(
            "{} {:?} has no annotation {}",
            text(&unnamed.given, "/kind"),
            unnamed.live.name(),
            names::RESOURCE_NAME
        ))),
    }
}

pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_composite_resource_without_uid_gets_that_of_upstream() {
        let of = |namespace: Value| {
            uid_of(&json!({
                "apiVersion": "example.org/v1", "kind": "XR", "metadata": { "name": "a", "namespace": namespace }
            }))
        };
        // Reckoned with Python's uuid.uuid5.
        assert_eq!(of(Value::Null), "b84d63d7-bd10-52e0-9ab4-223265dee24d");
        assert_eq!(of(json!("team")), "a3785cd5-cc56-5ab5-b29d-566188f198f1");
    }

    #[test]
    fn the_scope_follows_from_the_definition() {
        let of = |version: &str, scope: Value| {
            scope_of(&json!({
                "apiVersion": format!("apiextensions.crossplane.io/{version}"), "spec": { "scope": scope }
            }))
        };
        assert_eq!(of("v1", Value::Null), Scope::LegacyCluster);
        assert_eq!(of("v2", Value::Null), Scope::Namespaced);
        assert_eq!(of("v2", json!("LegacyCluster")), Scope::LegacyCluster);
        assert_eq!(of("v2", json!("Cluster")), Scope::Cluster);
    }

    #[test]
    fn an_observed_resource_of_another_owner_or_namespace_is_rejected() {
        let composite = json!({ "metadata": { "uid": "x", "namespace": "team" } });
        let object = |name: &str, namespace: &str, uid: &str| {
            json!({ "kind": "ConfigMap", "metadata": {
                "name": name,
                "namespace": namespace,
                "annotations": { "crossplane.io/composition-resource-name": "rn" },
                "ownerReferences": [{ "uid": uid, "controller": true }],
            }})
        };
        let says = |objects: Vec<Value>| observed(&composite, objects).err().map(|why| why.to_string());
        assert_eq!(says(vec![object("a", "team", "x")]), None);
        let foreign = "observed resource a has a controller ref but is not controlled by the XR";
        assert_eq!(
            says(vec![object("a", "team", "y")]),
            Some(format!("invalid observed resources: {foreign}"))
        );
        assert_eq!(
            says(vec![object("a", "team", "y"), object("b", "other", "x")]),
            Some(format!(
                "invalid observed resources: [{foreign}, observed resource b is not in the same namespace as the XR]"
            ))
        );
        let unnamed = json!({ "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "team" } });
        let why = says(vec![unnamed]).unwrap();
        assert!(why.contains("has no annotation"), "{why}");
    }

    #[test]
    fn a_definition_of_another_kind_is_rejected() {
        let composite = json!({ "apiVersion": "example.org/v1", "kind": "XR", "metadata": { "name": "a" } });
        let definition = |kind: &str| {
            json!({
                "apiVersion": "apiextensions.crossplane.io/v1",
                "metadata": { "name": "xrs.example.org" },
                "spec": { "group": "example.org", "names": { "kind": kind } },
            })
        };
        assert_eq!(
            scope(&composite, Some(&definition("XR"))).unwrap(),
            Scope::LegacyCluster
        );
        assert_eq!(
            scope(&composite, Some(&definition("Other")))
                .unwrap_err()
                .to_string(),
            "CompositeResourceDefinition \"xrs.example.org\" defines Other.example.org, and the composite resource is a XR.example.org"
        );
    }

    #[test]
    fn a_later_object_of_the_same_name_replaces_the_former() {
        let map = |value: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "a": value } });
        assert_eq!(store([map("1"), map("2")].into_iter()), [map("2")]);
        assert_eq!(secret(json!({}))["kind"], "Secret");
    }
}
