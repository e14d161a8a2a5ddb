//! What an object may take in of what was found.

use super::{
    location::found_in_another_account,
    owner::{foreign_owner, may_be_its_work, needs_confirmation},
};
use crate::managed::{
    record::{Record, Stored},
    snapshot::Snapshot,
};
use crate::{external::Observation, rule::Rule};

/// What was found is this object's, as far as one can tell: nobody else's, of its account, and its own work where one is under way.
pub fn is_own(snapshot: &Snapshot, observation: &Observation) -> bool {
    if Rule::OwnDetailsAlone.is_off() {
        return true;
    }
    let stored = snapshot.managed.record();
    let record = match &*stored {
        Stored::Owned(record) => Some(&**record),
        Stored::None => None,
        Stored::Unreadable(_) => return false,
    };
    let is_work = |record: &Record| {
        snapshot.managed.confirms(record)
            || record.create().is_none()
            || may_be_its_work(snapshot, record, observation)
    };
    let is_of_record =
        |record: &Record| !found_in_another_account(snapshot, record, observation) && is_work(record);
    foreign_owner(snapshot, observation).is_none()
        && !needs_confirmation(snapshot, record, observation)
        && record.is_none_or(is_of_record)
}
