//! The CRDs of definitions in the cluster, read past the store, which does not have them.

use std::{collections::HashMap, sync::Arc};

use bridge_core::{
    controller_ref::ControllerRef,
    crd::{CrdConflict, CrdWrite, DEFINITION_MANAGER, plan_write},
    definition::SideState,
    reasons::DefinitionReason,
};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    api_error::ApiError,
    crd::{established, write_pace::WritePace},
    object::{ApiType, Key, Object},
    watch::Watches,
    write::{Deletion, Propagation, Writer},
};

/// Reads and writes them.
pub(super) struct Crds {
    writer: Writer,
    api: Arc<ApiType>,
    /// Name of a CRD -> generation of its definition for which it was written last, and how often.
    paces: Mutex<HashMap<String, (i64, WritePace)>>,
}

/// What is to be done about one CRD.
pub(super) struct PlannedCrd {
    name: String,
    /// Of the definition that it was planned for.
    generation: i64,
    found: Option<Value>,
    plan: Result<CrdWrite, CrdConflict>,
    /// Another writer wants it otherwise, again and again: it is not written before.
    not_before: Option<Instant>,
}

impl PlannedCrd {
    /// It is to be created or changed, now.
    pub fn writes(&self) -> bool {
        self.not_before.is_none() && matches!(self.plan, Ok(CrdWrite::Create(_) | CrdWrite::Update(_)))
    }
}

/// What came of bringing a CRD.
pub(super) struct BroughtCrd {
    /// How it stands.
    pub state: SideState,
    /// The CRD that belongs to the definition, as it is in the cluster; `None`: it has none.
    pub crd: Option<Value>,
    /// It was created or changed.
    pub written: bool,
    /// The API server's answer, if it rejected what was to be written.
    pub rejected: Option<ApiError>,
    /// It is not as it should be, and is written then.
    pub not_before: Option<Instant>,
}

impl Crds {
    pub fn new(writer: &Writer) -> Self {
        Self {
            writer: writer.as_manager(DEFINITION_MANAGER),
            api: Arc::new(ApiType::definitions()),
            paces: Mutex::default(),
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

    /// Reads the CRD, and says what is to be done about it.
    pub async fn plan(&self, wanted: &Value, generation: i64) -> Result<PlannedCrd, ApiError> {
        let name = name(wanted).to_owned();
        let found = self.read(&name).await?;
        let plan = plan_write(wanted, found.as_ref());
        let now = Instant::now();
        // What the author has just changed is not made to wait.
        let follows = |written: i64| written == generation && matches!(plan, Ok(CrdWrite::Update(_)));
        let not_before = match self.paces.lock().get(&name) {
            Some((written, pace)) if follows(*written) => Some(pace.may_write_at(now)).filter(|at| *at > now),
            _ => None,
        };
        Ok(PlannedCrd {
            name,
            generation,
            found,
            plan,
            not_before,
        })
    }

    /// Creates or changes the CRD as planned. It is not waited for.
    ///
    /// # Errors
    /// Whatever may be otherwise next time. What a person must change is a state.
    pub async fn carry_out(&self, planned: PlannedCrd) -> Result<BroughtCrd, ApiError> {
        let PlannedCrd {
            name,
            generation,
            found,
            plan,
            not_before,
        } = planned;
        if let (Some(at), Some(found)) = (not_before, &found) {
            return Ok(BroughtCrd {
                not_before: Some(at),
                ..BroughtCrd::judged(found.clone())
            });
        }
        let written = match plan {
            Err(conflict) => {
                let reason = DefinitionReason::CrdConflict;
                return Ok(BroughtCrd::not_served(reason, conflict.to_string(), None));
            }
            Ok(CrdWrite::Keep) => return Ok(BroughtCrd::judged(found.unwrap_or_default())),
            Ok(CrdWrite::Await) => {
                let message = format!(
                    r#"the CustomResourceDefinition "{name}" is being deleted, and is created anew when it is gone"#
                );
                let reason = DefinitionReason::CrdNotEstablished;
                return Ok(BroughtCrd::not_served(reason, message, found));
            }
            Ok(CrdWrite::Create(crd)) => self.writer.create_document(&self.api, None, &crd).await,
            Ok(CrdWrite::Update(crd)) => {
                let crd = Object::decode(&self.api, &crd.to_string())
                    .map_err(|error| ApiError::Unusable(error.to_string()))?;
                self.writer.put(&crd).await
            }
        };
        match written {
            Ok(live) => {
                let mut paces = self.paces.lock();
                let known = paces.entry(name).or_default();
                if known.0 != generation {
                    *known = (generation, WritePace::default());
                }
                known.1.written(Instant::now());
                drop(paces);
                Ok(BroughtCrd {
                    written: true,
                    ..BroughtCrd::judged(to_value(&live)?)
                })
            }
            Err(error) if error.is_refusal() => {
                let brought = BroughtCrd::not_served(DefinitionReason::CrdRejected, error.to_string(), found);
                Ok(BroughtCrd {
                    rejected: Some(error),
                    ..brought
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Deletes this very CRD, and with it all its objects.
    pub async fn delete(&self, crd: &Value) -> Result<(), ApiError> {
        let deletion = Deletion {
            uid: uid(crd),
            // As it was read: else it may have come to serve another version, in which there are objects.
            version: crd["metadata"]["resourceVersion"]
                .as_str()
                .and_then(|version| version.parse().ok()),
            propagation: Propagation::Background,
        };
        self.writer
            .delete(&self.api, &self.key(name(crd)), deletion)
            .await
            .map(drop)
    }

    fn key(&self, name: &str) -> Key {
        Key::new(self.api.kind.clone(), None, name)
    }
}

impl BroughtCrd {
    fn not_served(reason: DefinitionReason, message: String, crd: Option<Value>) -> Self {
        Self {
            state: SideState::NotServed { reason, message },
            crd,
            written: false,
            rejected: None,
            not_before: None,
        }
    }

    fn judged(crd: Value) -> Self {
        let state = if established::is(&crd) {
            SideState::Served
        } else {
            established::fault(&crd).map_or(SideState::Waiting, |message| SideState::NotServed {
                reason: DefinitionReason::CrdNotEstablished,
                message,
            })
        };
        Self {
            state,
            crd: Some(crd),
            written: false,
            rejected: None,
            not_before: None,
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

/// Likewise, also where it offers them no more, or under other names, and their CRD is left: first that one.
pub(crate) fn claim_crd_left(definition: &Object, watches: &Watches) -> Option<String> {
    former_claim_crd(definition, watches).or_else(|| claim_crd(definition))
}

/// Name of a CRD of claims that it offers no more, or not under these names, and that is left.
pub(super) fn former_claim_crd(definition: &Object, watches: &Watches) -> Option<String> {
    let offered = claim_crd(definition);
    let controlled = watches.definitions_controlled_by(definition.uid())?;
    let mut former = controlled
        .into_iter()
        .filter(|crd| crd != definition.name() && Some(crd) != offered.as_ref());
    former.next()
}

/// The definition of this uid controls it.
pub(super) fn is_controlled_by(crd: &Value, definition: &str) -> bool {
    ControllerRef::of(crd).is_some_and(|controller| controller.uid == definition)
}

/// Uid of a CRD.
pub(super) fn uid(crd: &Value) -> &str {
    crd["metadata"]["uid"].as_str().unwrap_or_default()
}

fn name(crd: &Value) -> &str {
    crd["metadata"]["name"].as_str().unwrap_or_default()
}

fn to_value(object: &Object) -> Result<Value, ApiError> {
    serde_json::to_value(object).map_err(|error| ApiError::Unusable(error.to_string()))
}
