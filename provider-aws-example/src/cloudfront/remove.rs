//! Removal: AWS deletes only what is disabled, and what all its places know to be disabled. Whoever asks takes the next step.

use crossbridge_sdk::{Failure, OperationVerb, Outcome};

use super::change::check_version;
use super::distribution::Distribution;
use super::work::{Found, Work, is_absence};
use crate::ownership::{MARKER_TAG, Owner, not_ours};

/// How far removal has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// There was nothing to remove.
    WasGone,
    Done,
    UnderWay,
}

impl Work<'_> {
    /// Takes removal as far as it goes now. `etag`: that of the version which is meant, or nothing.
    pub(super) async fn remove(&self, id: &str, etag: &str) -> Result<Removal, Failure> {
        let Some(mut found) = self.look(id).await? else {
            return Ok(Removal::WasGone);
        };
        self.check_ours(&found)?;
        check_version(&found, etag)?;
        if found.config()?.enabled {
            let mut config = found.config()?.clone();
            config.enabled = false;
            found = self.put(&found, config).await?;
        }
        if found.config()?.enabled || !found.is_deployed() {
            return Ok(Removal::UnderWay);
        }
        self.delete(&found).await
    }

    /// What has no marker is not deleted either: our own was made with one.
    pub(super) fn check_ours(&self, found: &Found) -> Result<(), Failure> {
        let what = || format!("the distribution {}", found.id());
        match self.owner(found) {
            Owner::Ours => Ok(()),
            Owner::Another => Err(not_ours(&what())),
            Owner::Nobody => {
                let message = format!("{} is nobody's: it has no tag {MARKER_TAG}", what());
                Err(Failure::not_found(message).reason("NotOurs"))
            }
        }
    }

    async fn delete(&self, found: &Found) -> Result<Removal, Failure> {
        let request = self
            .cloudfront()
            .delete_distribution()
            .id(found.id())
            .if_match(&found.etag);
        match self
            .steps
            .change("cloudfront:DeleteDistribution", request.send())
            .await
        {
            Ok(_) => Ok(Removal::Done),
            Err(refusal) if is_absence(&refusal) => Ok(Removal::WasGone),
            Err(refusal) if refusal.is("ResourceInUse") => {
                let message = format!("the distribution {} is in use: {}", found.id(), refusal.message());
                Err(refusal.told_as(Failure::dependency_not_ready(message).reason("ResourceInUse")))
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Removal moves only when it is asked about.
    pub(super) fn removing(&self, id: &str) -> Outcome<Distribution> {
        let operation = self
            .operation(id, OperationVerb::Delete)
            .poll_driven()
            .phase("Disabling")
            .message("it is disabled, and deleted once all of AWS's places know");
        Outcome::operation(operation).external_name(id)
    }
}
