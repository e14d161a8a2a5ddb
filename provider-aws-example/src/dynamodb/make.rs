//! Creation, and what an earlier one has left.

use std::time::SystemTime;

use aws_sdk_dynamodb::types::TableStatus as Status;
use crossbridge_sdk::{Create, Failure, OperationVerb, Outcome};

use super::look::{Extent, Found};
use super::model::TableParameters;
use super::operation::{About, TableHandle};
use super::state::state;
use super::table::Table;
use super::work::Work;
use super::{aspects, wished};
use crate::ownership::{Owner, wanted};
use crate::upstream::Refusal;

impl Work<'_> {
    pub(super) async fn create(&self, create: &Create<TableParameters>) -> Result<Outcome<Table>, Failure> {
        let wish = &create.desired.parameters;
        let target = &self.call.target;
        let name = &target.external_name;
        if create.outcome_unknown
            && let Some(found) = self.look(name, Extent::Bare).await?
        {
            return self.earlier(&found, wish);
        }
        let tags = wanted(wish.tags.as_ref(), &target.ownership_marker);
        let request = wished::create(self.client(), name, wish, &tags)?;
        let made = match self.steps.change("dynamodb:CreateTable", request.send()).await {
            Ok(made) => made.table_description,
            Err(refusal) if refusal.is("ResourceInUseException") => {
                return self.in_the_way(refusal, create).await;
            }
            Err(refusal) => return Err(self.refused(refusal)),
        };
        let about = made.as_ref().map(|table| About::of(table, &self.session.region));
        let about = about.unwrap_or_default().driven(aspects::are_wished(wish));
        let handle = TableHandle::new(OperationVerb::Create, name, about);
        let arn = made.and_then(|table| table.table_arn).unwrap_or_default();
        Ok(self.under_way(&handle).canonical_id(arn))
    }

    /// AWS has a table of this name: perhaps one that a look, which may be late, has not shown.
    async fn in_the_way(
        &self,
        refusal: Refusal,
        create: &Create<TableParameters>,
    ) -> Result<Outcome<Table>, Failure> {
        let name = &self.call.target.external_name;
        let told = match self.describe(name).await? {
            Some(table) if table.table_status() != Some(&Status::Deleting) => {
                if create.outcome_unknown {
                    let found = self.read(name, table, Extent::Bare).await?;
                    return self.earlier(&found, &create.desired.parameters);
                }
                exists(name)
            }
            _ => self.leaving(name),
        };
        Err(refusal.told_as(told))
    }

    /// A creation whose end was unknown has left this, or somebody else has.
    fn earlier(&self, found: &Found, wish: &TableParameters) -> Result<Outcome<Table>, Failure> {
        let name = &found.name;
        let driven = aspects::are_wished(wish);
        let is_fresh = found.about.is_fresh(SystemTime::now());
        match Earlier::of(self.owner(found), &found.status, is_fresh) {
            Earlier::Leaving => Err(self.leaving(name)),
            Earlier::Unclear => {
                let message = format!("there is a table {name:?} whose tags are not known yet");
                let unknown = Failure::conflict(message).reason("TagsUnknown");
                Err(unknown.retry_after(self.pace))
            }
            Earlier::NotOurs => Err(exists(name)),
            Earlier::Done if !driven => Ok(Outcome::already_done()
                .external_name(name)
                .canonical_id(&found.arn)
                .provider_state(state(&self.session.region))),
            Earlier::Done | Earlier::UnderWay => {
                let handle = found.handle(OperationVerb::Create, found.about.clone().driven(driven));
                Ok(self.under_way(&handle).canonical_id(&found.arn))
            }
        }
    }
}

/// What a table that is there is to a creation whose end was unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Earlier {
    /// On its way out: the name is not free yet.
    Leaving,
    /// It may be ours.
    Unclear,
    NotOurs,
    UnderWay,
    Done,
}

impl Earlier {
    fn of(owner: Owner, status: &Status, is_fresh: bool) -> Self {
        match owner {
            _ if *status == Status::Deleting => Self::Leaving,
            Owner::Nobody if is_fresh => Self::Unclear,
            // Ours was made with its marker.
            Owner::Nobody | Owner::Another => Self::NotOurs,
            Owner::Ours if *status == Status::Creating => Self::UnderWay,
            Owner::Ours => Self::Done,
        }
    }
}

fn exists(name: &str) -> Failure {
    Failure::already_exists(
        name,
        format!("a table {name:?} exists already in this account and region"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_may_still_turn_out_to_be_ours() {
        for (owner, status, is_fresh, expected) in [
            (Owner::Ours, Status::Creating, true, Earlier::UnderWay),
            (Owner::Ours, Status::Active, false, Earlier::Done),
            (Owner::Ours, Status::Updating, false, Earlier::Done),
            (Owner::Ours, Status::Deleting, true, Earlier::Leaving),
            (Owner::Another, Status::Deleting, true, Earlier::Leaving),
            (Owner::Another, Status::Creating, true, Earlier::NotOurs),
            (Owner::Nobody, Status::Creating, true, Earlier::Unclear),
            (Owner::Nobody, Status::Active, true, Earlier::Unclear),
            (Owner::Nobody, Status::Active, false, Earlier::NotOurs),
        ] {
            let earlier = Earlier::of(owner, &status, is_fresh);
            assert_eq!(earlier, expected, "{owner:?} {status:?} {is_fresh}");
        }
    }
}
