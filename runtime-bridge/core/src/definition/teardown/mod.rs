//! The end of a definition: its claims go, then its composite resources, each before their CRD, and then the definition itself.
//!
//! No phase is stored, and no schema is needed: each plan follows from what exists now.

mod print;
mod rules;
mod seen;

use std::time::Duration;

use jiff::Timestamp;

pub use self::seen::{Crd, Instance, Objects, Seen, Unlisted};
use super::{DEFINED_FINALIZER, OFFERED_FINALIZER, Side};
use crate::{protection::unlisted, reasons::DefinitionEvent};

/// What no watch shows is read again after this.
pub const AGAIN: Duration = Duration::from_secs(5);

/// Usages are listed within a moment.
const LISTED_SOON: Duration = Duration::from_secs(1);

/// It is reported only after this that usages cannot be listed.
const UNLISTED_PATIENCE: Duration = Duration::from_secs(10);

/// What is deleted, as it was seen: of another uid or version it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deletion {
    /// An object of a side.
    Object(Instance),
    /// The CRD of a side, none of whose objects is left.
    Crd(Crd),
}

/// An object that is not deleted now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// `Order.shop.example.org one/a`.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// What goes when that which goes now is gone, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Later {
    /// All objects of a side.
    Objects(Side),
    /// The CRD of this name.
    Crd(String),
    /// The definition's finalizers.
    Finalizers,
}

/// What is to be done now about a definition that is being deleted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The side that goes now; `None`: neither is left.
    pub side: Option<Side>,
    /// Its objects are listed past the caches. Then there is another plan, and until then nothing else to be done.
    pub lists: bool,
    /// Likewise, the status first has to say the message.
    pub reports: bool,
    /// What is deleted now, all at once.
    pub deletions: Vec<Deletion>,
    /// What could be deleted and is in use.
    pub held: Vec<Rejected>,
    /// What waits for this side.
    pub later: Vec<Later>,
    /// Nothing is left: what served the composite resources ends, and then these finalizers go.
    pub finalizers: Vec<&'static str>,
    /// What is told about it.
    pub event: Option<(DefinitionEvent, String)>,
    /// What the status says; `None`: what it says already.
    pub message: Option<String>,
    /// When to plan again, if nothing that is watched changes.
    pub again: Option<Timestamp>,
}

impl Plan {
    /// Nothing of the definition is left but itself.
    pub const fn is_over(&self) -> bool {
        self.side.is_none()
    }

    /// What the status says after the deletions, of which the API server rejected this one.
    pub fn message_after(&self, rejected: Option<&Rejected>) -> Option<String> {
        let message = self.message.as_ref()?;
        let all = self.held.iter().chain(rejected);
        Some(match all.min_by(|one, other| one.what.cmp(&other.what)) {
            Some(Rejected { what, why }) => format!("{message}; cannot delete {what}: {why}"),
            None => message.clone(),
        })
    }
}

/// Of the finalizers of a definition, whosever they are, those that wait for a plan to be over. Without any there is nothing to plan.
pub fn holding(finalizers: &[String]) -> Vec<&'static str> {
    let ours = [DEFINED_FINALIZER, OFFERED_FINALIZER].into_iter();
    ours.filter(|ours| finalizers.iter().any(|held| held == ours))
        .collect()
}

/// The next step of a definition that is being deleted.
pub fn plan(seen: &Seen, now: Timestamp) -> Plan {
    let finalizers = holding(&seen.finalizers);
    if finalizers.is_empty() {
        return Plan::default();
    }
    let mut sides = rules::order().into_iter().filter_map(|side| {
        let crd = seen.crd(side)?;
        rules::is_own(seen, crd).then_some((side, crd))
    });
    let Some((side, crd)) = sides.next().filter(|_| rules::outlives_crds()) else {
        return Plan {
            finalizers,
            ..Plan::default()
        };
    };
    let mut later = Vec::new();
    if !crd.objects.are_none() {
        later.push(Later::Crd(crd.name.clone()));
    }
    for (side, crd) in sides {
        later.extend([Later::Objects(side), Later::Crd(crd.name.clone())]);
    }
    later.push(Later::Finalizers);
    let plan = Plan {
        side: Some(side),
        later,
        ..Plan::default()
    };
    if rules::orphans(seen) {
        let message = format!(
            r#"waiting for the garbage collector to take the owner reference off the CustomResourceDefinition "{}", as the definition was deleted with --cascade=orphan"#,
            crd.name
        );
        return Plan {
            message: Some(message),
            again: Some(now + AGAIN),
            ..plan
        };
    }
    if let Objects::Unreadable(why) = &crd.objects {
        // Who wonders why nothing goes reads the status.
        let message = format!("cannot see what is left to be deleted: {why}");
        return Plan {
            message: Some(message),
            ..plan
        };
    }
    if rules::is_unread(&crd.objects) {
        return Plan { lists: true, ..plan };
    }
    let waits = waiting(side, crd);
    if !rules::is_reported(seen) {
        return Plan {
            reports: true,
            message: Some(waits),
            ..plan
        };
    }
    if let Some(unlisted) = rules::unlisted(seen) {
        return wait_for_usages(plan, &waits, unlisted, now);
    }
    let again = Some(now + AGAIN);
    let message = Some(waits);
    if crd.objects.are_none() {
        return Plan {
            deletions: deletion_of(crd),
            message,
            again,
            ..plan
        };
    }
    let left = || crd.objects.left().iter().filter(|object| !object.is_deleting);
    let deletions = left().filter(|object| rules::may_delete(object)).cloned();
    let held = left().filter(|object| !rules::may_delete(object)).map(held);
    let told = format!("waiting for defined {}s to be deleted", side.noun());
    Plan {
        deletions: deletions.map(Deletion::Object).collect(),
        held: held.collect(),
        event: Some((side.removal_event(), told)),
        message,
        again,
        ..plan
    }
}

/// The next step of claims that are offered no more, while their definition stays: they go when their users delete them, and then their CRD. `None`:
/// nothing of them is left.
pub fn withdraw(seen: &Seen, now: Timestamp) -> Option<Plan> {
    let crd = seen.crd(Side::Claim).filter(|crd| rules::is_own(seen, crd))?;
    let plan = Plan {
        side: Some(Side::Claim),
        ..Plan::default()
    };
    if rules::is_unread(&crd.objects) {
        return Some(Plan { lists: true, ..plan });
    }
    let deletions = if crd.objects.are_none() {
        deletion_of(crd)
    } else {
        Vec::new()
    };
    let later = (!crd.objects.are_none()).then(|| Later::Crd(crd.name.clone()));
    Some(Plan {
        deletions,
        later: later.into_iter().collect(),
        message: Some(waiting(Side::Claim, crd)),
        again: Some(now + AGAIN),
        ..plan
    })
}

/// What is in use is known only once all usages are.
fn wait_for_usages(plan: Plan, waits: &str, usages: &Unlisted, now: Timestamp) -> Plan {
    if now < usages.since + UNLISTED_PATIENCE {
        return Plan {
            again: Some(now + LISTED_SOON),
            ..plan
        };
    }
    Plan {
        message: Some(format!("{waits}; {}", unlisted(&usages.why))),
        again: Some(now + AGAIN),
        ..plan
    }
}

fn deletion_of(crd: &Crd) -> Vec<Deletion> {
    let is_due = !crd.is_deleting;
    is_due.then(|| Deletion::Crd(crd.clone())).into_iter().collect()
}

fn held(object: &Instance) -> Rejected {
    let usage = object.used_by.as_deref().unwrap_or_default();
    Rejected {
        what: object.name.clone(),
        why: format!("refused by an admission webhook or policy: it is in use by {usage}"),
    }
}

fn waiting(side: Side, crd: &Crd) -> String {
    if crd.objects.are_none() {
        let name = &crd.name;
        return format!(r#"waiting for the CustomResourceDefinition "{name}" to be deleted"#);
    }
    let left = crd.objects.left().len();
    format!("waiting for {left} {}(s) to be deleted", side.noun())
}
