//! One object of the guard in the cluster: brought, and put back.

use std::sync::Arc;

use bridge_core::protection::guard::{GuardWrite, plan_write};
use bridge_core::watch_plan::GroupKind;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    api_error::ApiError,
    crd::write_pace::WritePace,
    object::{ApiType, Key, Object},
    write::Writer,
};

/// A kind by which the API server is told whom to ask.
pub(super) fn admission_api(kind: &str, plural: &str) -> Arc<ApiType> {
    Arc::new(ApiType {
        kind: GroupKind::new("admissionregistration.k8s.io", kind),
        version: "v1".to_owned(),
        plural: plural.to_owned(),
        namespaced: false,
    })
}

/// An object of the guard.
pub(super) struct KeptObject {
    pub(super) api: Arc<ApiType>,
    pub(super) key: Key,
    /// What was to be written last, and the answer to it.
    accepted: Option<(Value, Value)>,
    pace: WritePace,
}

/// What was found, or written, and by when else.
pub(super) enum Brought {
    /// It is as it should be: its uid, and its generation.
    InPlace(String, i64),
    /// Another writer wants it otherwise, again and again: it is not written before.
    NotBefore(Instant),
}

impl KeptObject {
    pub(super) fn new(api: Arc<ApiType>, name: &str) -> Self {
        Self {
            key: Key::new(api.kind.clone(), None, name),
            api,
            accepted: None,
            pace: WritePace::default(),
        }
    }

    /// Creates it or puts it back. Read past the store, whose watch may lag.
    pub(super) async fn bring(
        &mut self,
        writer: &Writer,
        wanted: &Value,
        may_act: impl Fn() -> bool,
    ) -> Result<Brought, ApiError> {
        let found = match writer.get_live(&self.api, &self.key).await {
            Ok(found) => Some(found),
            Err(ApiError::NotFound(_)) => None,
            Err(error) => return Err(error),
        };
        let value = found.as_ref().map(|found| found.to_value());
        let same = self.accepted.as_ref().filter(|(sent, _)| sent == wanted);
        // The bridge itself wants something else than before, as other certificates: no other writer is in its way.
        let is_renewal = same.is_none() && self.accepted.is_some();
        let write = plan_write(wanted, value.as_ref(), same.map(|(_, answer)| answer));
        if let (GuardWrite::Keep, Some(found)) = (&write, &found) {
            // Another leader may have written what is wanted now.
            if is_renewal {
                self.accepted = Some((wanted.clone(), found.to_value()));
            }
            return Ok(in_place(found));
        }
        let now = Instant::now();
        let not_before = self.pace.may_write_at(now);
        if not_before > now && !is_renewal {
            return Ok(Brought::NotBefore(not_before));
        }
        if !may_act() {
            return Err(ApiError::NotSent);
        }
        self.pace.written(now);
        let written = match write {
            GuardWrite::Update(object) => {
                let object = Object::decode(&self.api, &object.to_string())
                    .map_err(|error| ApiError::Unusable(error.to_string()))?;
                if !is_renewal {
                    tracing::warn!(object = %self.key, "the guard of usages was changed: it is put back");
                }
                writer.put(&object).await?
            }
            GuardWrite::Create(object) => writer.create_document(&self.api, None, &object).await?,
            GuardWrite::Keep => return Err(ApiError::Conflict("it is gone again".to_owned())),
        };
        self.accepted = Some((wanted.clone(), written.to_value()));
        Ok(in_place(&written))
    }
}

fn in_place(object: &Object) -> Brought {
    Brought::InPlace(object.uid().to_owned(), object.generation())
}
