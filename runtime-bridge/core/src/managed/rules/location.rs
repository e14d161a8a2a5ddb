//! Whether the config still means the place, and the account, of the record.

use super::{
    owner::{Ownership, ownership},
    recorded::bound,
};
use crate::managed::{
    record::{ConfigIdentity, Record},
    snapshot::Snapshot,
};
use crate::{external::Observation, rule::Rule};

/// The config still means the place that the record speaks of: elsewhere, absence means nothing.
pub fn same_location(snapshot: &Snapshot, record: &Record) -> bool {
    snapshot.config.as_ref().is_ok_and(|config| {
        Rule::AbsenceElsewhereMeansNothing.is_off()
            || record.config.shares_names_with(&ConfigIdentity::of(config))
    })
}

/// The config acts in another account than the one that the record speaks of, as far as both are told. What is found there is not ours, unless
/// it bears our marker; nor is anything asked there about an operation of ours (trace 34).
pub fn in_another_account(snapshot: &Snapshot, record: &Record) -> bool {
    let config = snapshot.config.as_ref();
    config.is_ok_and(|config| record.config.acts_as_another(&ConfigIdentity::of(config)))
}

/// Found in another account, and nothing says that it is ours.
pub fn found_in_another_account(snapshot: &Snapshot, record: &Record, observation: &Observation) -> bool {
    let marked = matches!(
        ownership(snapshot, observation),
        Ownership::Owned | Ownership::FormerlyOwned
    );
    let is_foreign = bound(snapshot, record) && !marked && in_another_account(snapshot, record);
    is_foreign && !Rule::OtherAccountIsForeign.is_off()
}
