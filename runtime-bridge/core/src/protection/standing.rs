//! How a usage stands: what its status says once all that can be done is done.

use serde_json::{Map, Value};

use super::{
    decision::{MarkWrite, StatusWrite},
    facts::{Facts, Fate},
    holding,
    mark::Mark,
    rules::{self, Course},
    snapshot::Resolution,
    usage::{Naming, Side, Which},
    view::{UsageView, unlisted},
};
use crate::{
    composite::{
        ConditionReport, ConditionStamp, LiveObject, READY, ResourceRef, in_order, status_differs,
        stored_conditions,
    },
    managed::Event,
    reasons::{ConditionReason, UsageEvent, UsageReason},
    rule::Rule,
};

/// Of a usage that asks for more than its guard can do.
const NOT_NOTED: &str = "spec.replayDeletion: this guard does not note which deletions it refuses. The used resource is deleted with its last usage if its \
                         owner is gone or is being deleted; to have a refused deletion repeated too, run the bridge with --usage-guard=webhook";

/// What the status is to say, and the events that go with it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Standing {
    /// `None`: as it was.
    pub ready: Option<ConditionReport>,
    pub events: Vec<Event>,
}

impl Standing {
    pub fn of(of: &Facts) -> Self {
        if of.snapshot.unknown_usages.is_some() {
            return Self::unlisted(of);
        }
        if of.snapshot.usage.is_deleting() {
            return Self::deleting(of);
        }
        if let Some((event, message)) = problem(of) {
            return Self::no(UsageReason::ResourceNotFound, event, message);
        }
        if rules::leaves_former(of) {
            return match going(of) {
                Some((event, message)) => Self::no(UsageReason::FormerHeld, event, message),
                None => Self {
                    ready: None,
                    events: Vec::new(),
                },
            };
        }
        let failed = of.memory.failed.as_ref().filter(|failed| !failed.is_conflict);
        if let Some(failed) = failed.filter(|_| due_mark(of).is_some()) {
            let message = format!("cannot label the used resource as in use: {}", failed.message);
            return Self::no(UsageReason::NotMarked, UsageEvent::AddInUseLabel, message);
        }
        if !is_protecting(of) {
            return Self {
                ready: None,
                events: Vec::new(),
            };
        }
        match &of.snapshot.guard {
            Err(why) if !Rule::ReadyNeedsGuard.is_off() => Self {
                ready: Some(ConditionReport::no(UsageReason::GuardNotProved, why)),
                events: Vec::new(),
            },
            _ => Self::ready(of),
        }
    }

    /// What is protected stays so, and is as ready as it was.
    fn unlisted(of: &Facts) -> Self {
        let usage = &of.snapshot.usage;
        let is_ready = usage
            .condition(READY)
            .is_some_and(|ready| ready["status"] == "True");
        let why = of.unlisted().filter(|_| usage.is_deleting() || !is_ready);
        let Some(message) = why.map(unlisted) else {
            return Self {
                ready: None,
                events: Vec::new(),
            };
        };
        if usage.is_deleting() {
            return Self {
                events: vec![Event::warning(UsageEvent::RemoveInUseLabel, &message)],
                ready: Some(ConditionReport::no(ConditionReason::Deleting, message)),
            };
        }
        Self::no(UsageReason::NotMarked, UsageEvent::AddInUseLabel, message)
    }

    fn no(reason: UsageReason, event: UsageEvent, message: String) -> Self {
        Self {
            events: vec![Event::warning(event, &message)],
            ready: Some(ConditionReport::no(reason, message)),
        }
    }

    fn ready(of: &Facts) -> Self {
        let message = match of.snapshot.cycle.as_str() {
            "" => String::new(),
            cycle => format!("these usages form a cycle, in which each object waits for another: {cycle}"),
        };
        let available = ConditionReport::yes(ConditionReason::Available);
        let configured = Event::normal(UsageEvent::UsageConfigured, "Usage configured successfully.");
        let asks_in_vain = of.snapshot.usage.replays_deletion() && !of.snapshot.notes_attempts;
        let in_vain = asks_in_vain.then(|| Event::warning(UsageEvent::ReplayDeletion, NOT_NOTED));
        Self {
            ready: Some(ConditionReport { message, ..available }),
            events: [Some(configured), in_vain].into_iter().flatten().collect(),
        }
    }

    fn deleting(of: &Facts) -> Self {
        let (message, event) = match rules::course(of) {
            Course::WaitsForUsing => {
                let mut message = waits_for_using(of);
                let event = Event::normal(UsageEvent::WaitingUsingDeleted, &message);
                if !of.snapshot.cycle.is_empty() {
                    message += &format!(" These usages form a cycle: {}.", of.snapshot.cycle);
                }
                (message, event)
            }
            Course::WaitsForKnowledge(why) => {
                let event = Event::warning(UsageEvent::GetUsingResource, &why);
                (why, event)
            }
            Course::Reads(_) => match of.unread() {
                Some(why) => {
                    let message = format!("cannot read what it waits for: {why}");
                    let event = Event::warning(UsageEvent::GetUsingResource, &message);
                    (message, event)
                }
                None => {
                    return Self {
                        ready: None,
                        events: Vec::new(),
                    };
                }
            },
            Course::WaitsForBulk(_) => {
                return Self {
                    ready: None,
                    events: Vec::new(),
                };
            }
            Course::Goes => match going(of) {
                Some((event, message)) => {
                    let event = Event::warning(event, &message);
                    (message, event)
                }
                None => {
                    return Self {
                        ready: None,
                        events: Vec::new(),
                    };
                }
            },
        };
        Self {
            ready: Some(ConditionReport::no(ConditionReason::Deleting, message)),
            events: vec![event],
        }
    }

    /// The whole status; `None`: it is stored already, as far as the API server takes it.
    pub fn to_write(&self, of: &Facts) -> Option<StatusWrite> {
        let ready = self.ready.as_ref()?;
        let usage = &of.snapshot.usage;
        let mut status: Map<String, Value> = usage.status().as_object().cloned().unwrap_or_default();
        let mut conditions = stored_conditions(usage.status());
        let stamp = ConditionStamp {
            generation: usage.generation(),
            now: of.snapshot.now,
        };
        let value = if ready.value { "True" } else { "False" };
        stamp.set(
            &mut conditions,
            READY,
            value,
            ready.reason.as_str(),
            &ready.message,
            true,
        );
        status.insert("conditions".to_owned(), Value::Array(in_order(conditions)));
        let status = Value::Object(status);
        let is_echoed = of
            .memory
            .status_echo
            .as_ref()
            .is_some_and(|echo| !status_differs(&status, &echo.0) && echo.1 == *usage.status());
        (status_differs(&status, usage.status()) && !is_echoed).then(|| StatusWrite {
            status,
            events: self.events.clone(),
        })
    }
}

/// What keeps a usage from letting the used resource go.
fn going(of: &Facts) -> Option<(UsageEvent, String)> {
    let failed = of.memory.failed.as_ref().filter(|failed| !failed.is_conflict);
    let what = if of.snapshot.usage.is_deleting() {
        "used resource"
    } else {
        "former used resource"
    };
    let unread = |why: &str| Some((UsageEvent::GetUsedResource, format!("cannot get {what}: {why}")));
    match (of.fate(Side::Used), failed) {
        (Fate::Unknown(why), _) => unread(why),
        (Fate::Unseen, _) => unread(of.unread()?),
        (Fate::Exists(reference, object), Some(failed)) => {
            let is_held = Mark::of(object).held_by.contains(of.snapshot.usage.uid());
            let why = &failed.message;
            Some(if is_held {
                let message = format!("cannot take the label off the {what}: {why}");
                (UsageEvent::RemoveInUseLabel, message)
            } else if due_unmark(of, reference, object).is_some() {
                let message = format!("cannot make sure that no label comes to the {what}: {why}");
                (UsageEvent::RemoveInUseLabel, message)
            } else {
                let message = format!("cannot delete the {what}: {why}");
                (UsageEvent::ReplayDeletion, message)
            })
        }
        (Fate::Nothing | Fate::Gone | Fate::Exists(..), _) => None,
    }
}

/// In Crossplane's words.
fn waits_for_using(of: &Facts) -> String {
    let naming = of.snapshot.usage.naming(Side::Using);
    let kind = naming
        .as_ref()
        .map(|naming| naming.kind.clone())
        .unwrap_or_default();
    let name = match of.fate(Side::Using) {
        Fate::Exists(reference, _) => reference.name.clone(),
        _ => String::new(),
    };
    format!("Waiting for the using resource (which is a \"{kind}\" named \"{name}\") to be deleted.")
}

/// Why nothing is protected, or not what is named.
fn problem(of: &Facts) -> Option<(UsageEvent, String)> {
    let side = |side: Side, resolution: &Resolution| {
        let event = match side {
            Side::Used => UsageEvent::GetUsedResource,
            Side::Using => UsageEvent::GetUsingResource,
        };
        let cannot = |why: &str| (event, format!("cannot get {}: {why}", side.name()));
        match resolution {
            Resolution::Found(..) => None,
            Resolution::Absent(reference) => Some(cannot(&format!("{} does not exist", reference.id(None)))),
            Resolution::KindGone(why) | Resolution::Unknown(why) | Resolution::Invalid(why) => {
                Some(cannot(why))
            }
            Resolution::Unmatched => {
                let naming = of.snapshot.usage.naming(side)?;
                Some((UsageEvent::ResolveSelectors, unmatched(side, &naming)))
            }
        }
    };
    let used = side(Side::Used, &of.snapshot.of);
    used.or_else(|| side(Side::Using, of.snapshot.by.as_ref().filter(|_| !of.has_using())?))
}

fn unmatched(side: Side, naming: &Naming) -> String {
    let Which::Selector(selector) = &naming.which else {
        return String::new();
    };
    let labels: Vec<String> = selector
        .labels
        .iter()
        .map(|(name, value)| format!("{name:?}:{value:?}"))
        .collect();
    let mut message = format!(
        "cannot resolve selector at \"spec.{}.resourceSelector\": no {:?} found matching labels: map[{}]",
        side.field(),
        naming.kind,
        labels.join(" ")
    );
    if selector.same_controller {
        message += " and with same controller reference";
    }
    message
}

/// What the used resource is still to bear; `None`: it bears it.
pub(super) fn due_mark(of: &Facts) -> Option<MarkWrite> {
    let (reference, object) = match of.fate(Side::Used) {
        Fate::Exists(reference, object) => (reference, object),
        _ if Rule::UsageRecordsFirst.is_off() => of.found()?,
        _ => return None,
    };
    let usages: Vec<UsageView> = std::iter::once(UsageView::of(&of.snapshot.usage))
        .chain(of.snapshot.others.iter().cloned())
        .collect();
    let mark = holding::joined(&Mark::of(object), of.snapshot.usage.uid(), &usages);
    MarkWrite::of(reference, object, mark)
}

/// What is still to be written to the used resource, so that nothing of the usage is on it, now or later; `None`: nothing.
///
/// A write of the label that was not answered, by this process or by the one before it, may be carried out at any later time as long as the object is of
/// the version that it was decided on. So an annotation that means nothing is set and taken off again, which makes two versions.
pub(super) fn due_unmark(of: &Facts, reference: &ResourceRef, object: &LiveObject) -> Option<MarkWrite> {
    let (uid, gone, others) = (of.snapshot.usage.uid(), &of.snapshot.gone, &of.snapshot.others);
    let has = Mark::of(object);
    let left = holding::left(&has, uid, gone, others);
    let is_settled = of.memory.label_writes.are_settled(object) || Rule::LateLabelIsRejected.is_off();
    let closing = || {
        let let_go_by = Some(uid.to_owned());
        MarkWrite::of(
            reference,
            object,
            Mark {
                let_go_by,
                ..has.clone()
            },
        )
    };
    MarkWrite::of(reference, object, left).or_else(|| closing().filter(|_| !is_settled))
}

/// The used resource bears all that it is to bear, and is the one that is named.
fn is_protecting(of: &Facts) -> bool {
    let is_recorded = of.snapshot.usage.record().is_some() || Rule::UsageRecordsFirst.is_off();
    is_recorded && of.found().is_some() && due_mark(of).is_none()
}
