//! Whether a CRD of a definition is written, over what is in the cluster.

use serde_json::{Map, Value};

use super::{MANAGED_BY, MANAGED_BY_LABEL, stored_form::stored_form};
use crate::controller_ref::ControllerRef;

/// Field manager of the CRDs of definitions: Crossplane's, so that either can take over from the other.
pub const DEFINITION_MANAGER: &str = "crossplane";

/// What is done about the CRD of a definition.
#[derive(Debug, Clone, PartialEq)]
pub enum CrdWrite {
    /// It is as it should be.
    Keep,
    /// There is none.
    Create(Value),
    /// It is otherwise: what replaces it, bound to the `resourceVersion` that was read.
    Update(Value),
    /// It is being deleted, and made anew when it is gone.
    Await,
}

/// Why the CRD of a definition is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrdConflict {
    /// Another object controls it.
    #[error(
        r#"the CustomResourceDefinition "{crd}" is controlled by {} "{}" (uid {}), and is left as it is: delete one of the two, or rename this type"#,
        by.kind, by.name, by.uid
    )]
    Controlled {
        /// Its name.
        crd: String,
        /// What controls it.
        by: ControllerRef,
    },
    /// The bridge made it for a kind of a plugin.
    #[error(
        r#"the CustomResourceDefinition "{crd}" was made by Crossbridge for a kind of a plugin, and is left as it is: rename this type"#
    )]
    OfPlugin {
        /// Its name.
        crd: String,
    },
}

/// What is done about the CRD of a definition, of which `found` is in the cluster, with its `managedFields`.
///
/// Labels and annotations of others stay, and so does a certificate that another has put into the conversion webhook's client; what
/// Crossplane's manager has put there and is no longer wanted goes. One that nothing controls is taken over, as Crossplane does.
///
/// # Errors
/// [`CrdConflict`]: it is somebody else's.
pub fn plan_write(wanted: &Value, found: Option<&Value>) -> Result<CrdWrite, CrdConflict> {
    let Some(found) = found else {
        return Ok(CrdWrite::Create(wanted.clone()));
    };
    let owner = ControllerRef::of(wanted);
    let controller = ControllerRef::of(found);
    let name = || wanted["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    match (&controller, &owner) {
        (Some(controller), Some(owner)) if controller.uid == owner.uid => {}
        (Some(controller), _) => {
            return Err(CrdConflict::Controlled {
                crd: name(),
                by: controller.clone(),
            });
        }
        (None, _) if found["metadata"]["labels"][MANAGED_BY_LABEL] == MANAGED_BY => {
            return Err(CrdConflict::OfPlugin { crd: name() });
        }
        (None, _) => {}
    }
    if !found["metadata"]["deletionTimestamp"].is_null() {
        return Ok(CrdWrite::Await);
    }
    let replaced = replaced(wanted, found, owner.as_ref().filter(|_| controller != owner));
    let is_kept = stored_form(&replaced["spec"]) == stored_form(&found["spec"])
        && replaced["metadata"] == found["metadata"];
    Ok(if is_kept {
        CrdWrite::Keep
    } else {
        CrdWrite::Update(replaced)
    })
}

fn replaced(wanted: &Value, found: &Value, new_owner: Option<&ControllerRef>) -> Value {
    let mut replaced = found.clone();
    replaced["spec"] = wanted["spec"].clone();
    keep_certificate(&mut replaced["spec"], &found["spec"]);
    for field in ["labels", "annotations"] {
        let kept = kept(wanted, found, field);
        if let Some(metadata) = replaced["metadata"].as_object_mut() {
            if kept.is_empty() {
                metadata.remove(field);
            } else {
                metadata.insert(field.into(), Value::Object(kept));
            }
        }
    }
    if let Some(owner) = new_owner {
        owner.set_on(&mut replaced);
    }
    replaced
}

/// The labels or annotations: all that are wanted, and those of others.
fn kept(wanted: &Value, found: &Value, field: &str) -> Map<String, Value> {
    let texts = |crd: &Value| crd["metadata"][field].as_object().cloned().unwrap_or_default();
    let (wanted, mut kept) = (texts(wanted), texts(found));
    kept.retain(|name, _| wanted.contains_key(name) || !is_owned(found, field, name));
    kept.extend(wanted);
    kept
}

/// Crossplane's manager has set it.
fn is_owned(found: &Value, field: &str, name: &str) -> bool {
    let managers = found["metadata"]["managedFields"].as_array();
    managers.into_iter().flatten().any(|entry| {
        entry["manager"] == DEFINITION_MANAGER
            && !entry["fieldsV1"]["f:metadata"][format!("f:{field}")][format!("f:{name}")].is_null()
    })
}

/// Operators put the authority of a webhook's certificate into the CRD, where the definition has none.
fn keep_certificate(spec: &mut Value, found: &Value) {
    const CLIENT: &str = "/conversion/webhook/clientConfig";
    let bundle = found.pointer(CLIENT).and_then(|client| client.get("caBundle"));
    let client = spec.pointer_mut(CLIENT).and_then(Value::as_object_mut);
    if let (Some(bundle), Some(client)) = (bundle, client) {
        let is_given = client
            .get("caBundle")
            .and_then(Value::as_str)
            .is_some_and(|given| !given.is_empty());
        if !is_given {
            client.insert("caBundle".into(), bundle.clone());
        }
    }
}
