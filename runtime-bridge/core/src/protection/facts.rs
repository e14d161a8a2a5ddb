//! Facts that follow from a snapshot and the memory alone.

use std::time::Duration;

use super::{
    memory::UsageMemory,
    snapshot::{ControllerState, Known, Resolution, Snapshot},
    usage::Side,
};
use crate::{
    composite::{LiveObject, ObjectState, ResourceRef},
    rule::Rule,
};

/// What everything else of a decision is derived from.
pub(super) struct Facts<'a> {
    pub snapshot: &'a Snapshot,
    pub memory: &'a UsageMemory,
}

/// What has become of an object that a usage has found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Fate<'a> {
    /// None was ever found.
    Nothing,
    /// It exists.
    Exists(&'a ResourceRef, &'a LiveObject),
    /// It is gone for good.
    Gone,
    /// The store does not show it: a read past it decides.
    Unseen,
    /// Nothing is known, and why.
    Unknown(&'a str),
}

impl<'a> Facts<'a> {
    pub fn new(snapshot: &'a Snapshot, memory: &'a UsageMemory) -> Self {
        Self { snapshot, memory }
    }

    /// Uid of an object that was found.
    pub fn uid(&self, side: Side) -> Option<String> {
        match side {
            Side::Used => self.snapshot.usage.record().map(|record| record.of.uid),
            Side::Using if Rule::UsingIsOneObject.is_off() => None,
            Side::Using => self.snapshot.usage.using_uid(),
        }
    }

    /// What has become of one of the two resources since it was found.
    pub fn fate(&self, side: Side) -> Fate<'a> {
        let known = match side {
            Side::Used => &self.snapshot.used,
            Side::Using => &self.snapshot.using,
        };
        let Known::Object(reference, state) = known else {
            return Fate::Nothing;
        };
        let uid = self.uid(side);
        let is_it = |object: &LiveObject| uid.as_deref().is_none_or(|uid| object.uid() == uid);
        let is_gone = uid.as_deref().is_some_and(|uid| self.memory.gone.contains(uid));
        let confirmed = is_gone
            || (uid.is_none() && self.memory.gone.contains(&reference.name))
            || Rule::GoneIsReadLive.is_off();
        match state {
            // A uid never comes again, whatever a watch that lags still shows. What is shown of the used object is let go all the same: else nobody would.
            ObjectState::Exists(object) if is_it(object) && !(is_gone && side == Side::Using) => {
                Fate::Exists(reference, object)
            }
            ObjectState::KindGone => Fate::Gone,
            ObjectState::Unknown(why) => Fate::Unknown(why),
            ObjectState::Exists(_) | ObjectState::Absent if confirmed => Fate::Gone,
            ObjectState::Exists(_) | ObjectState::Absent => Fate::Unseen,
        }
    }

    /// The version of the used object, if it exists.
    pub fn used_version(&self) -> Option<&'a str> {
        match self.fate(Side::Used) {
            Fate::Exists(_, object) => Some(object.resource_version()),
            _ => None,
        }
    }

    /// By what a live read that does not find an object is remembered: its uid, else its name.
    pub fn mark_of_absence(&self, side: Side) -> Option<String> {
        let known = match side {
            Side::Used => &self.snapshot.used,
            Side::Using => &self.snapshot.using,
        };
        let Known::Object(reference, _) = known else {
            return None;
        };
        Some(self.uid(side).unwrap_or_else(|| reference.name.clone()))
    }

    /// What is known of the controller. That it lives counts only if a read past the store shows it: `None`, it has not been read.
    pub fn controller(&self) -> Option<ControllerState> {
        match (&self.snapshot.controller, &self.memory.controller) {
            (ControllerState::Lives, None) if Rule::ControllerIsReadLive.is_off() => {
                Some(ControllerState::Lives)
            }
            (ControllerState::Lives, read) => read.clone(),
            (other, _) => Some(other.clone()),
        }
    }

    /// The used resource, if it exists as the usage names it.
    pub fn found(&self) -> Option<(&'a ResourceRef, &'a LiveObject)> {
        match &self.snapshot.of {
            Resolution::Found(reference, object) => Some((reference, object)),
            _ => None,
        }
    }

    /// The using resource is settled: it was found, now or before, or there is to be none.
    pub fn has_using(&self) -> bool {
        match &self.snapshot.by {
            None | Some(Resolution::Found(..)) => true,
            Some(_) => self.keeps_using(),
        }
    }

    /// What was found first under the name of the using resource stays what is meant, whether it is gone or not.
    pub fn keeps_using(&self) -> bool {
        let record = self.snapshot.usage.record();
        let recorded = record.and_then(|record| record.by);
        let now = match &self.snapshot.by {
            Some(Resolution::Found(reference, _) | Resolution::Absent(reference)) => reference.clone(),
            Some(Resolution::KindGone(_) | Resolution::Unknown(_)) => return recorded.is_some(),
            Some(Resolution::Unmatched | Resolution::Invalid(_)) | None => return false,
        };
        recorded.is_some_and(|recorded| recorded.reference.id(None) == now.id(None))
    }

    /// The last write of the used resource failed, and it is not time for another one.
    pub fn is_held_back(&self) -> bool {
        let failed = self.memory.failed.as_ref();
        failed.is_some_and(|failed| self.snapshot.now < failed.retry_at)
    }

    /// Why usages cannot be listed, once that has stood for long enough to be reported.
    pub fn unlisted(&self) -> Option<&'a str> {
        let why = self.snapshot.unknown_usages.as_deref()?;
        let since = self.memory.unlisted_since?;
        (self.snapshot.now >= since + UNLISTED_PATIENCE).then_some(why)
    }

    /// Why something could not be read just now.
    pub fn unread(&self) -> Option<&'a str> {
        let (until, why) = self.memory.failed_read.as_ref()?;
        (self.snapshot.now < *until).then_some(why)
    }
}

/// It is reported only after this that usages cannot be listed.
const UNLISTED_PATIENCE: Duration = Duration::from_secs(10);
