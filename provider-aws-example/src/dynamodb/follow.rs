//! Where an operation has got to. AWS finishes it by itself, save what only a finished table takes.

use std::time::SystemTime;

use aws_sdk_dynamodb::types::TableStatus as Status;
use crossbridge_sdk::{Failure, FailureCode, Observation, OperationVerb, Outcome};

use super::look::{Extent, Found};
use super::model::TableParameters;
use super::operation::TableHandle;
use super::table::Table;
use super::work::Work;
use super::{aspects, plan};
use crate::ownership::{Owner, not_ours};

impl Work<'_> {
    pub(super) async fn follow(
        &self,
        handle: &TableHandle,
        wish: Option<&TableParameters>,
    ) -> Result<Outcome<Table>, Failure> {
        let deletes = handle.verb() == OperationVerb::Delete;
        let about = &handle.details;
        // Another table that has the name now is not the one that this is about.
        let table = self.describe(&handle.name).await?.filter(|table| about.is(table));
        let Some(table) = table else {
            return match handle.verb() {
                OperationVerb::Delete => Ok(Outcome::completed()),
                _ if about.is_fresh(SystemTime::now()) => Ok(self.under_way(handle)),
                _ => {
                    let message = format!("the table {:?} was removed while AWS worked on it", handle.name);
                    Err(Failure::operation_failed(message).reason("Removed"))
                }
            };
        };
        if deletes && table.table_status() == Some(&Status::Deleting) {
            // Known by its id; its tags may be gone already.
            return Ok(self.under_way(handle));
        }
        let extent = if deletes { Extent::Bare } else { Extent::of(wish) };
        let found = self.read(&handle.name, table, extent).await?;
        match self.owner(&found) {
            Owner::Ours => {}
            Owner::Nobody if found.about.is_fresh(SystemTime::now()) => return Ok(self.under_way(handle)),
            Owner::Nobody | Owner::Another => return Err(not_ours(&format!("the table {:?}", handle.name))),
        }
        match (handle.verb(), found.running()) {
            (verb, Some(running)) if verb == running => Ok(self.under_way(handle)),
            (OperationVerb::Create, None) if about.driven => self.finish(found, wish).await,
            (OperationVerb::Update, None) if is_late(handle, &found, wish) => Ok(self.under_way(handle)),
            (OperationVerb::Delete, _) if about.is_fresh(SystemTime::now()) => Ok(self.under_way(handle)),
            (OperationVerb::Delete, _) => {
                let message = format!(
                    "the table {:?} is {} although it was deleted",
                    found.name,
                    found.doing()
                );
                Err(Failure::operation_failed(message))
            }
            // What it did is done; what runs now is something else.
            (OperationVerb::Create | OperationVerb::Update, _) => {
                Ok(Outcome::observed(Observation::from(found)))
            }
        }
    }

    /// What could not be said when the table was made. Only a poll that the bridge guards comes here.
    async fn finish(
        &self,
        mut found: Found,
        wish: Option<&TableParameters>,
    ) -> Result<Outcome<Table>, Failure> {
        let Some(wish) = wish else {
            return Ok(Outcome::observed(Observation::from(found)));
        };
        match aspects::converge(self, &found, wish).await {
            Ok(()) if self.steps.has_changed() => {
                // The work is done, whether or not it can be looked at.
                if let Ok(Some(again)) = self.look(&found.name, Extent::Wished(wish)).await {
                    found = again;
                }
            }
            Ok(()) => {}
            // The table is there; the update that follows tells what is wrong with the rest.
            Err(failure) if is_final(&failure) => {}
            Err(failure) => return Err(failure),
        }
        Ok(Outcome::observed(Observation::from(found)))
    }
}

/// Whether AWS does not tell yet of a step that it has taken.
fn is_late(handle: &TableHandle, found: &Found, wish: Option<&TableParameters>) -> bool {
    let missing = wish.and_then(|wish| plan::next(wish, &found.parameters));
    let step = handle.details.step.as_deref();
    step.is_some()
        && step == missing.map(|change| change.to_string()).as_deref()
        && handle.details.is_fresh(SystemTime::now())
}

/// Whether trying again without another wish is of no use.
fn is_final(failure: &Failure) -> bool {
    matches!(
        failure.code(),
        Some(FailureCode::InvalidSpec | FailureCode::Unsupported | FailureCode::PermissionDenied)
    )
}
