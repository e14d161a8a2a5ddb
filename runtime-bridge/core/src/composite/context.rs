//! What the steps of one decision share.

use std::ops::Deref;

use super::{
    facts::Facts,
    memory::CompositeMemory,
    plan::Plan,
    snapshot::{Basis, Chosen, RunState, Snapshot},
    view,
};
use crate::{function::DesiredState, rule::Rule};

/// What a step looks at.
pub(super) struct Context<'a> {
    facts: Facts<'a>,
    /// What a run would be begun for now; `None`: nothing is chosen.
    pub basis: Option<Basis>,
    /// What the last run desires; `None`: it has not ended, failed, or was for something else.
    pub plan: Option<Plan>,
}

impl<'a> Deref for Context<'a> {
    type Target = Facts<'a>;

    fn deref(&self) -> &Facts<'a> {
        &self.facts
    }
}

impl<'a> Context<'a> {
    pub fn new(snapshot: &'a Snapshot, memory: &'a CompositeMemory) -> Self {
        let mut of = Self {
            facts: Facts::new(snapshot, memory),
            basis: None,
            plan: None,
        };
        if let Ok(chosen) = &snapshot.choice {
            of.basis = Some(view::basis(&of, chosen));
            of.plan = of.current_plan(chosen);
        }
        of
    }

    fn current_plan(&self, chosen: &Chosen) -> Option<Plan> {
        let RunState::Ended { outcome, .. } = &self.snapshot.run else {
            return None;
        };
        if !self.run_counts() {
            return None;
        }
        match &outcome.result {
            Ok(desired) => Some(Plan::of(self, chosen, desired)),
            Err(_) if Rule::FailedRunChangesNothing.is_off() => {
                Some(Plan::of(self, chosen, &DesiredState::default()))
            }
            Err(_) => None,
        }
    }

    /// The run that ended was for what is desired now.
    pub fn run_counts(&self) -> bool {
        match (&self.snapshot.run, &self.basis) {
            (RunState::Ended { basis, .. } | RunState::Going { basis, .. }, Some(now)) => {
                basis.desired == now.desired || Rule::ResultOfWhatIsDesired.is_off()
            }
            _ => false,
        }
    }
}
