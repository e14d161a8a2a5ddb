//! The newest observation, and since when the resource is found absent.

use jiff::Timestamp;

use crate::managed::last_observation::{LastObservation, ObservedState};

/// What this process has observed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::managed) struct ObservationMemory {
    last: Option<LastObservation>,
    /// When the first of an unbroken row of observations began that found a known resource absent.
    absent_since: Option<Timestamp>,
}

impl ObservationMemory {
    pub(in crate::managed) fn last(&self) -> Option<&LastObservation> {
        self.last.as_ref()
    }

    pub(in crate::managed) fn last_state(&self) -> Option<&ObservedState> {
        self.last().map(|last| &last.found)
    }

    /// When the next one is due.
    pub(in crate::managed) fn next(&self) -> Option<Timestamp> {
        self.last().map(|last| last.next)
    }

    pub(in crate::managed) fn absent_since(&self) -> Option<Timestamp> {
        self.absent_since
    }

    pub(in crate::managed) fn record(&mut self, observation: LastObservation) {
        self.last = Some(observation);
    }

    /// It does not hold any more. Of a row of absences it ends nothing.
    pub(in crate::managed) fn forget_last(&mut self) {
        self.last = None;
    }

    /// `row`: the observation before found the same absent too.
    pub(in crate::managed) fn record_absence(&mut self, began: Timestamp, row: bool) {
        self.absent_since = self.absent_since.filter(|_| row).or(Some(began));
    }

    /// It is there, or may be, or only not be seen yet.
    pub(in crate::managed) fn end_absence(&mut self) {
        self.absent_since = None;
    }
}
