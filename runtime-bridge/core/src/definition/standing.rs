//! How a definition stands, and the status that says so.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Side, Terms};
use crate::{
    managed::{ConditionValue, Status},
    reasons::DefinitionReason,
};

/// How one of the two types of a definition stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SideState {
    /// Its CRD is established, and it is served.
    Served,
    /// Its CRD was written, and is not established yet. Nothing is said of it: that takes a moment.
    Waiting,
    /// It cannot be served as it is defined now.
    NotServed {
        /// Why.
        reason: DefinitionReason,
        /// Why, for people.
        message: String,
    },
    /// It is being deleted.
    Terminating {
        /// What it waits for.
        message: String,
    },
}

/// How a definition stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its composite resources.
    pub composite: SideState,
    /// Its claims; `None`: it offers none.
    pub claim: Option<SideState>,
}

impl Standing {
    /// The same for both sides.
    pub fn of_both(state: &SideState, offers: bool) -> Self {
        Self {
            composite: state.clone(),
            claim: offers.then(|| state.clone()),
        }
    }

    /// The whole status that says so, in place of the `former` one. A condition that stays as it was keeps its time. `terms` are those that are served.
    pub fn status(&self, former: &Value, terms: Option<&Terms>, generation: i64, now: Timestamp) -> Value {
        let mut status = Status::read(former.clone());
        let mut set = |type_: &str, side, state: &SideState| {
            if let Some(value) = condition(side, state) {
                status.set(type_, &value, generation, now);
            }
        };
        set("Established", Side::Composite, &self.composite);
        match &self.claim {
            Some(claim) => set("Offered", Side::Claim, claim),
            None => status.clear("Offered"),
        }
        let mut status = status.write();
        if let Some(terms) = terms {
            let reference = |kind: &str| json!({ "apiVersion": terms.api_version(), "kind": kind });
            if self.composite == SideState::Served {
                status["controllers"]["compositeResourceType"] = reference(terms.kind.kind());
            }
            if let (Some(SideState::Served), Some(claim)) = (&self.claim, &terms.claim) {
                status["controllers"]["compositeResourceClaimType"] = reference(claim.kind.kind());
            }
        }
        status
    }
}

fn condition(side: Side, state: &SideState) -> Option<ConditionValue> {
    let value = match (state, side) {
        (SideState::Served, Side::Composite) => {
            ConditionValue::yes(DefinitionReason::WatchingCompositeResource)
        }
        (SideState::Served, Side::Claim) => {
            ConditionValue::yes(DefinitionReason::WatchingCompositeResourceClaim)
        }
        (SideState::Waiting, _) => return None,
        (SideState::NotServed { reason, message }, _) => ConditionValue::no(*reason, message),
        (SideState::Terminating { message }, Side::Composite) => {
            ConditionValue::no(DefinitionReason::TerminatingCompositeResource, message)
        }
        (SideState::Terminating { message }, Side::Claim) => {
            ConditionValue::no(DefinitionReason::TerminatingCompositeResourceClaim, message)
        }
    };
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_condition_that_stays_keeps_its_time() {
        let standing = Standing::of_both(&SideState::Served, false);
        let first = standing.status(&Value::Null, None, 1, at(0));
        assert_eq!(
            first,
            json!({ "conditions": [{
                "type": "Established", "status": "True", "reason": "WatchingCompositeResource",
                "lastTransitionTime": "1970-01-01T00:00:00Z", "observedGeneration": 1,
            }]})
        );
        assert_eq!(standing.status(&first, None, 1, at(9)), first);
    }

    #[test]
    fn a_side_that_waits_says_nothing_new() {
        let served = Standing::of_both(&SideState::Served, true).status(&Value::Null, None, 1, at(0));
        let waits = Standing::of_both(&SideState::Waiting, true);
        assert_eq!(waits.status(&served, None, 2, at(9)), served);
    }

    #[test]
    fn a_definition_without_claims_is_not_said_to_offer_them() {
        let offered = Standing::of_both(&SideState::Served, true).status(&Value::Null, None, 1, at(0));
        let none = Standing::of_both(&SideState::Served, false).status(&offered, None, 2, at(0));
        let types: Vec<&Value> = none["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|condition| &condition["type"])
            .collect();
        assert_eq!(types, ["Established"]);
    }
}
