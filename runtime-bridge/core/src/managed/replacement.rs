//! Replacement: a resource is deleted, upon a person's approval, so that another one takes its place (traces 51, 52).

use crate::external::Observation;

use super::{
    decision::{Decision, Event},
    memory::Looked,
    names,
    pass::{Annotations, Pass},
    record::{Record, Replacement},
    remove,
    report::Report,
    steady::settled_report,
    world::World,
};

/// Replaces what differs in fields that no Update changes, if a person approves.
pub(super) fn replace(
    pass: &Pass,
    record: &Record,
    looked: &Looked,
    observation: &Observation,
    fields: &str,
) -> Decision {
    let world = pass.world;
    let policies = &world.managed.policies;
    let capabilities = &world.kind.capabilities;
    if !capabilities.can_delete || !capabilities.can_create {
        return forbidden(
            pass,
            observation,
            &format!(
                "{fields} cannot be changed in place, and resources of this kind cannot be replaced; change the fields back"
            ),
        );
    }
    if !policies.delete || !policies.create {
        return forbidden(
            pass,
            observation,
            &format!(
                "{fields} cannot be changed in place, and managementPolicies do not allow to replace the resource; change the fields back"
            ),
        );
    }
    if has_begun(world, record, observation) {
        return remove::replace(pass, observation, looked.began);
    }
    if is_approved(world, record) {
        return begin(pass, record, observation, fields);
    }
    stop(
        pass,
        observation,
        "ReplacementRequired",
        format!(
            "{fields} cannot be changed in place; change back, or annotate {}={} to delete the resource and create another",
            names::APPROVE_REPLACEMENT,
            awaited_approval(world, record)
        ),
    )
}

/// One write uses the approval up and records what it is used for: whoever comes after goes on with it, and with nothing else (trace 51).
fn begin(pass: &Pass, record: &Record, observation: &Observation, fields: &str) -> Decision {
    let mut new = record.clone();
    new.replacement = Some(Replacement {
        replaces: Some(observation.canonical_id.clone()),
        ..use_approval(pass.world, record)
    });
    let annotations = [(names::APPROVE_REPLACEMENT.to_owned(), None)].into();
    let message = format!(
        "{:?} is deleted, as approved, so that another one takes its place: {fields} cannot be changed in place",
        record.external_name
    );
    pass.write_record("begin the approved replacement", &new, annotations)
        .telling(Some(Event::normal("ReplacingExternalResource", &message)))
}

/// The named stop where nothing is replaced, whoever approves.
pub(super) fn forbidden(pass: &Pass, observation: &Observation, message: &str) -> Decision {
    stop(pass, observation, "ReplacementForbidden", message.to_owned())
}

fn stop(pass: &Pass, observation: &Observation, reason: &str, message: String) -> Decision {
    let shown = Report {
        synced: None,
        ..settled_report(pass, observation)
    };
    pass.stop_with(shown, reason, message)
}

/// Nothing is to be replaced: an approval would be acted upon whenever a field drifts, months later, and is used up.
pub(super) fn settle(world: &World, new: &mut Record, annotations: &mut Annotations) {
    if let Some(replacement) = &mut new.replacement {
        replacement.replaces = None;
    }
    if is_approved(world, new) {
        new.replacement = Some(use_approval(world, new));
        annotations.insert(names::APPROVE_REPLACEMENT.to_owned(), None);
    }
}

/// Approvals of this generation's replacements that count no more.
fn approvals_used(world: &World, record: &Record) -> u32 {
    let used = record.replacement.as_ref();
    let used = used.filter(|used| used.generation == world.managed.generation);
    used.map_or(0, |used| used.approvals)
}

/// What [`names::APPROVE_REPLACEMENT`] must hold to have the resource replaced: the generation, and how many approvals of that are used up, if
/// any. Each is good for one replacement (trace 51), also where it is applied again from a manifest.
fn awaited_approval(world: &World, record: &Record) -> String {
    let generation = world.managed.generation;
    match approvals_used(world, record) {
        0 => generation.to_string(),
        used => format!("{generation}-{used}"),
    }
}

/// A person has approved that the resource is replaced, and that is not used up.
fn is_approved(world: &World, record: &Record) -> bool {
    world.managed.annotation(names::APPROVE_REPLACEMENT) == awaited_approval(world, record)
}

/// One approval more is used up.
fn use_approval(world: &World, record: &Record) -> Replacement {
    Replacement {
        generation: world.managed.generation,
        approvals: approvals_used(world, record).saturating_add(1),
        replaces: None,
    }
}

/// What was observed is being deleted so that another one takes its place. A spec that was changed meanwhile is another question, and so is
/// what has taken its name.
pub(super) fn has_begun(world: &World, record: &Record, observation: &Observation) -> bool {
    let replacement = record.replacement.as_ref();
    let approved = replacement.filter(|one| one.generation == world.managed.generation);
    let replaces = approved.and_then(|one| one.replaces.as_ref());
    replaces.is_some_and(|id| is_same(id, &observation.canonical_id))
}

fn is_same(recorded: &str, observed: &str) -> bool {
    recorded.is_empty() || observed.is_empty() || recorded == observed
}

/// What the record of another resource keeps of the approvals.
pub(super) fn used_approvals(world: &World, record: Option<&Record>) -> Option<Replacement> {
    let used = record?.replacement.clone();
    let used = used.filter(|used| used.generation == world.managed.generation)?;
    Some(Replacement {
        replaces: None,
        ..used
    })
}
