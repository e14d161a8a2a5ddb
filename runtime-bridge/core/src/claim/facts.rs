//! Facts that follow from a snapshot alone, derived once for a decision.

use jiff::Timestamp;

use super::{Bond, ClaimMemory, SecretRefs, Snapshot};
use crate::{
    composite::{LiveObject, ObjectState, READY, SYNCED},
    definition::UpdatePolicy,
};

/// What everything else of a decision is derived from.
pub(super) struct Facts<'a> {
    pub snapshot: &'a Snapshot,
    pub memory: &'a ClaimMemory,
    /// The composite resource of the claim's name, if it exists.
    pub xr: Option<&'a LiveObject>,
    /// Whose it is; `None`: it does not exist, or nothing is known.
    pub bond: Option<Bond>,
}

impl<'a> Facts<'a> {
    pub fn new(snapshot: &'a Snapshot, memory: &'a ClaimMemory) -> Self {
        let xr = match &snapshot.xr {
            ObjectState::Exists(xr) => Some(&**xr),
            ObjectState::Absent | ObjectState::KindGone | ObjectState::Unknown(_) => None,
        };
        Self {
            snapshot,
            memory,
            xr,
            bond: xr.map(|xr| Bond::of(&snapshot.claim, xr)),
        }
    }

    /// The composite resource, if it is the claim's.
    pub fn ours(&self) -> Option<&'a LiveObject> {
        self.xr.filter(|_| self.bond == Some(Bond::Ours))
    }

    /// The composite resource that is the claim's, or is to be.
    pub fn bindable(&self) -> Option<&'a LiveObject> {
        self.xr.filter(|_| !matches!(self.bond, Some(Bond::Others(_))))
    }

    /// Why nothing is known of the composite resource.
    pub fn unknown(&self) -> Option<&'a str> {
        match &self.snapshot.xr {
            ObjectState::Unknown(why) => Some(why),
            ObjectState::Exists(_) | ObjectState::Absent | ObjectState::KindGone => None,
        }
    }

    /// Until when it is not reported that something is not known.
    pub fn patience(&self) -> Option<Timestamp> {
        let until = self.memory.unknown_since? + self.snapshot.settings.patience;
        (self.snapshot.now < until).then_some(until)
    }

    /// When the composite resource moves to a newer revision.
    pub fn policy(&self) -> Option<UpdatePolicy> {
        const FIELD: &str = "compositionUpdatePolicy";
        let own = self.snapshot.claim.spec()[FIELD].as_str();
        let of_xr = self.bindable().and_then(|xr| xr.object()["spec"][FIELD].as_str());
        match own.or(of_xr) {
            Some("Manual") => Some(UpdatePolicy::Manual),
            Some(_) => Some(UpdatePolicy::Automatic),
            None => self.snapshot.terms.default_update_policy,
        }
    }

    /// The composite resource says that it is ready, and stays.
    pub fn is_ready(&self) -> bool {
        self.ours().is_some_and(|xr| {
            !xr.is_deleting() && condition(xr, READY).is_some_and(|ready| ready["status"] == "True")
        })
    }

    /// What the composite resource says is wrong with it.
    pub fn error(&self) -> Option<&'a str> {
        let synced = condition(self.ours()?, SYNCED).filter(|synced| synced["status"] == "False")?;
        synced["message"].as_str().filter(|message| !message.is_empty())
    }

    /// What the composite resource says of its own deletion.
    pub fn removal(&self) -> Option<&'a str> {
        let xr = self.ours().filter(|xr| xr.is_deleting())?;
        let ready = condition(xr, READY).filter(|ready| ready["reason"] == "Deleting")?;
        ready["message"].as_str().filter(|message| !message.is_empty())
    }

    /// The connection Secret that is to be copied, and is not.
    pub fn due_secret(&self) -> Option<SecretRefs> {
        let refs = SecretRefs::of(&self.snapshot.claim, self.ours().filter(|_| self.is_ready())?)?;
        let versions = self.snapshot.secrets?;
        let is_copied = self.memory.propagated.as_ref().is_some_and(|known| {
            // What was written just now is not shown yet.
            let is_new = self.snapshot.now < known.at + SHOWN_WITHIN;
            let is_as_copied = |now: Option<u64>, then: Option<u64>| match now {
                Some(now) => then.is_some_and(|then| now <= then),
                None => is_new,
            };
            known.refs == refs
                && is_as_copied(versions.source, known.versions.source)
                && is_as_copied(versions.target, known.versions.target)
        });
        (!is_copied).then_some(refs)
    }

    /// When it is known again whether the connection Secret is as it was copied.
    pub fn secret_shown(&self) -> Option<Timestamp> {
        let versions = self.snapshot.secrets?;
        let known = self.memory.propagated.as_ref()?;
        let is_shown = versions.source.is_some() && versions.target.is_some();
        (!is_shown).then_some(known.at + SHOWN_WITHIN)
    }
}

/// What was written is shown by its watch within this time.
const SHOWN_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);

/// One of the conditions of a composite resource.
pub(super) fn condition<'a>(xr: &'a LiveObject, type_: &str) -> Option<&'a serde_json::Value> {
    let conditions = xr.object()["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == type_)
}
