//! The CRDs of definitions in the cluster, read past the store, which does not have them.

use std::sync::Arc;

use bridge_core::{
    controller_ref::ControllerRef,
    crd::{CrdConflict, CrdWrite, DEFINITION_MANAGER, plan_write},
    definition::SideState,
    reasons::DefinitionReason,
};
use serde_json::Value;

use crate::{
    api_error::ApiError,
    crd::established,
    object::{ApiType, Key, Object},
    write::{Deletion, Propagation, Writer},
};

/// Reads and writes them.
pub(super) struct Crds {
    writer: Writer,
    api: Arc<ApiType>,
}

/// What came of bringing a CRD.
pub(super) struct BroughtCrd {
    /// How it stands.
    pub state: SideState,
    /// Uid of the CRD that belongs to the definition; `None`: it has none.
    pub uid: Option<String>,
    /// It was created or changed.
    pub written: bool,
}

impl Crds {
    pub fn new(writer: &Writer) -> Self {
        Self {
            writer: writer.as_manager(DEFINITION_MANAGER),
            api: Arc::new(ApiType::definitions()),
        }
    }

    /// The CRD of this name, with its managed fields.
    pub async fn read(&self, name: &str) -> Result<Option<Value>, ApiError> {
        match self
            .writer
            .get_live_with_managers(&self.api, &self.key(name))
            .await
        {
            Ok((object, managers)) => {
                let mut crd = to_value(&object)?;
                crd["metadata"]["managedFields"] = Value::from(managers.entries());
                Ok(Some(crd))
            }
            Err(ApiError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Creates the CRD, or changes it if it is not as it should be. It is not waited for.
    ///
    /// # Errors
    /// Whatever may be otherwise next time. What a person must change is a state.
    pub async fn bring(&self, wanted: &Value) -> Result<BroughtCrd, ApiError> {
        let name = wanted["metadata"]["name"].as_str().unwrap_or_default();
        let found = self.read(name).await?;
        let plan = match plan_write(wanted, found.as_ref()) {
            Ok(plan) => plan,
            Err(conflict) => return Ok(BroughtCrd::conflict(&conflict)),
        };
        let ours = found.as_ref().map(uid);
        let written = match plan {
            CrdWrite::Keep => return Ok(BroughtCrd::judged(&found.unwrap_or_default(), false)),
            CrdWrite::Await => {
                return Ok(BroughtCrd {
                    state: SideState::NotServed {
                        reason: DefinitionReason::CrdNotEstablished,
                        message: format!(
                            r#"the CustomResourceDefinition "{name}" is being deleted, and is created anew when it is gone"#
                        ),
                    },
                    uid: ours,
                    written: false,
                });
            }
            CrdWrite::Create(crd) => self.writer.create_document(&self.api, None, &crd).await,
            CrdWrite::Update(crd) => {
                let crd = Object::decode(&self.api, &crd.to_string())
                    .map_err(|error| ApiError::Unusable(error.to_string()))?;
                self.writer.put(&crd).await
            }
        };
        match written {
            Ok(live) => Ok(BroughtCrd::judged(&to_value(&live)?, true)),
            Err(error) if error.is_refusal() => Ok(BroughtCrd {
                state: SideState::NotServed {
                    reason: DefinitionReason::CrdRejected,
                    message: error.to_string(),
                },
                uid: ours,
                written: false,
            }),
            Err(error) => Err(error),
        }
    }

    /// Deletes this very CRD, and with it all its objects.
    pub async fn delete(&self, crd: &Value) -> Result<(), ApiError> {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        let deletion = Deletion {
            uid: &uid(crd),
            version: None,
            propagation: Propagation::Background,
        };
        self.writer
            .delete(&self.api, &self.key(name), deletion)
            .await
            .map(drop)
    }

    fn key(&self, name: &str) -> Key {
        Key::new(self.api.kind.clone(), None, name)
    }
}

impl BroughtCrd {
    fn conflict(conflict: &CrdConflict) -> Self {
        Self {
            state: SideState::NotServed {
                reason: DefinitionReason::CrdConflict,
                message: conflict.to_string(),
            },
            uid: None,
            written: false,
        }
    }

    fn judged(crd: &Value, written: bool) -> Self {
        let state = if established::is(crd) {
            SideState::Served
        } else {
            established::fault(crd).map_or(SideState::Waiting, |message| SideState::NotServed {
                reason: DefinitionReason::CrdNotEstablished,
                message,
            })
        };
        Self {
            state,
            uid: Some(uid(crd)),
            written,
        }
    }
}

/// Names of the CRDs of a definition: of its composite resources, and of its claims.
pub(super) fn crd_names(definition: &Object) -> Vec<String> {
    let mut names = vec![definition.name().to_owned()];
    names.extend(claim_crd(definition));
    names
}

/// Name of the CRD of its claims; `None`: it offers none.
pub(super) fn claim_crd(definition: &Object) -> Option<String> {
    let spec = definition.spec_value();
    let plural = spec["claimNames"]["plural"].as_str()?;
    Some(format!("{plural}.{}", spec["group"].as_str()?))
}

/// The definition of this uid controls it.
pub(super) fn is_controlled_by(crd: &Value, definition: &str) -> bool {
    ControllerRef::of(crd).is_some_and(|controller| controller.uid == definition)
}

fn uid(crd: &Value) -> String {
    crd["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

fn to_value(object: &Object) -> Result<Value, ApiError> {
    serde_json::to_value(object).map_err(|error| ApiError::Unusable(error.to_string()))
}
