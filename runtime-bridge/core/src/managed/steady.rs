//! The ordinary course: look, then make, adopt, change, or be content.

use crate::{
    external::{FieldDiff, Observation, Verb},
    kind::DiffMode,
};

use super::{
    create,
    decide::{nothing_else, readiness},
    decision::{Action, Decision, Event, MetadataChange, Purpose},
    diff, failure,
    memory::{Found, Given, Looked},
    names, operate,
    pass::Pass,
    record::{ConfigIdentity, Details, Record},
    replacement,
    report::Report,
    rules::{self, Ownership},
    status::Says,
    world::World,
};

/// Looks, and goes on from what is found.
pub(super) fn steady(pass: &Pass) -> Decision {
    let Some(name) = pass.world.name_to_look_by(pass.record.as_ref()) else {
        return create::begin(pass, "");
    };
    match pass.memory.fresh_look(pass.world, &name) {
        None => pass.observe(&name),
        Some(looked) => match &looked.found {
            Found::There(observation) => there(pass, looked, observation),
            Found::Absent(absent) => not_there(pass, looked, &name, &absent.external_name),
        },
    }
}

fn not_there(pass: &Pass, looked: &Looked, name: &str, derived: &str) -> Decision {
    let world = pass.world;
    // Made, and not to be seen yet: beside what runs nothing is begun.
    if operate::followed(pass).is_some() {
        return operate::wait(pass, pass.memory.next_poll);
    }
    let known = pass
        .record
        .as_ref()
        .filter(|record| rules::confirmed(world, record));
    // A name that the user gave, to import what the upstream had named.
    let imported = world.cloud_named() && !name.is_empty();
    if known.is_none() && !imported {
        return create::begin(pass, derived);
    }
    if known.is_some_and(|record| !rules::same_place(world, record)) {
        return pass.stop(
            "ConfigIdentityChanged",
            format!("nothing is found under {name:?}, but the ProviderConfig now means another account or has other settings than when it was made; put it back, or delete this object and make another"),
        );
    }
    if !rules::absence_confirmed(world, pass.memory, looked) {
        let record = pass.record.as_ref();
        let visible = record.and_then(|record| rules::visible_at(world, record));
        let believed = match pass.memory.absent_since {
            Some(since) => rules::absence_believed_after(world, since),
            None => visible.unwrap_or(looked.began),
        };
        if world.now > believed {
            return pass.observe(name);
        }
        let report = Report::synced().ready(Says::no(
            "Unavailable",
            "the external resource cannot be found; looking again before it is made anew",
        ));
        let event = Event::normal(
            "PendingExternalResource",
            "Waiting for external resource existence to be confirmed",
        );
        return pass.wait(
            report.event(event),
            Some(believed + std::time::Duration::from_millis(1)),
            Purpose::Operation,
        );
    }
    create::begin(pass, derived)
}

fn there(pass: &Pass, looked: &Looked, observation: &Observation) -> Decision {
    let world = pass.world;
    if let Some(stop) = in_another_account(pass, observation) {
        return stop;
    }
    if let Some(why) = anothers(world, observation) {
        return pass.stop("DoublyOwned", why);
    }
    let Some(record) = &pass.record else {
        return adopt(pass, observation);
    };
    if !rules::confirmed(world, record) && record.intent.is_none() {
        return adopt(pass, observation);
    }
    let diffs = diff::differences(&world.kind, &pass.wish.parameters, observation);
    if let Some(decision) = renew(pass, record, observation, &diffs) {
        return decision;
    }
    if observation.deleting {
        return content(pass, observation, None);
    }
    let found = Differences {
        secrets: record.sensitive_digest != pass.wish.sensitive_digest,
        unmarked: world.kind.capabilities.holds_marker && observation.found_marker != world.marker,
        replaced: diffs
            .iter()
            .filter(|diff| is_replaced(world, diff))
            .map(|diff| diff.path.as_str())
            .collect(),
        fields: &diffs,
    };
    // An empty marker may only not be seen yet.
    let waits = rules::visible_at(world, record)
        .filter(|visible| found.unmarked && observation.found_marker.is_empty() && looked.began <= *visible);
    let in_sync = found.fields.is_empty() && !found.secrets && (!found.unmarked || waits.is_some());
    // Nothing is replaced before it bears the marker.
    let unseen = !found.replaced.is_empty() && waits.is_some();
    if in_sync || unseen {
        return match waits {
            Some(visible) if world.now > visible => pass.observe(&looked.name),
            waits => content(pass, observation, waits),
        };
    }
    differs(pass, record, looked, observation, &found)
}

/// In what the resource differs from the desired state.
struct Differences<'a> {
    fields: &'a [FieldDiff],
    /// Those that only a replacement changes.
    replaced: Vec<&'a str>,
    secrets: bool,
    /// It does not bear our marker, though resources of its kind can.
    unmarked: bool,
}

impl Differences<'_> {
    /// For people: what an Update is to change.
    fn to_update(&self) -> String {
        let fields = self.fields.iter().map(|diff| diff.path.as_str());
        let mut all: Vec<&str> = fields.filter(|path| !self.replaced.contains(path)).collect();
        all.extend(self.secrets.then_some("sensitive values"));
        all.extend(self.unmarked.then_some("the ownership marker"));
        all.join(", ")
    }
}

fn is_replaced(world: &World, diff: &FieldDiff) -> bool {
    diff.needs_replacement || !world.kind.capabilities.can_update
}

/// What was found is in another account than ours: it is left alone, and ours is not forgotten.
pub(super) fn in_another_account(pass: &Pass, observation: &Observation) -> Option<Decision> {
    let record = pass.record.as_ref()?;
    rules::found_in_another_account(pass.world, record, observation).then(|| {
        let now = pass.world.config.as_ref().map_or("", |config| &config.identity);
        pass.stop(
            "ConfigIdentityChanged",
            format!(
                "the ProviderConfig now acts as {now:?}, and {:?} was made as {:?}: what has this name there is another one; put the ProviderConfig back",
                observation.external_name, record.config.identity
            ),
        )
    })
}

/// Not in the record yet: it existed before us. Visibly made ours, unless somebody took the name from under our create.
fn adopt(pass: &Pass, observation: &Observation) -> Decision {
    let world = pass.world;
    let marked = rules::ownership(world, observation) == Ownership::Ours;
    if rules::needs_a_word(world, pass.record.as_ref(), observation) {
        return pass.stop(
            "AlreadyExists",
            format!(
                "{:?} existed already when it was to be made; annotate {}={} if it shall be managed by this object, or choose another name with {}",
                observation.external_name,
                names::ADOPT,
                observation.external_name,
                names::EXTERNAL_NAME
            ),
        );
    }
    let Ok(config) = &world.config else {
        return pass.wait(Report::default(), None, Purpose::Retry);
    };
    let record = Record {
        uid: world.managed.uid.clone(),
        external_name: observation.external_name.clone(),
        confirmed: true,
        adopted: !marked,
        taken: false,
        intent: None,
        deadline: pass.record.as_ref().and_then(|record| record.deadline),
        provider_state: observation.provider_state.clone(),
        sensitive_digest: String::new(),
        details: Details::Settled,
        config: ConfigIdentity::of(config),
        plugin_version: world.plugin_version.clone(),
        incarnation: pass.record.as_ref().map_or(0, |record| record.incarnation),
        replacement: replacement::used_approvals(world, pass.record.as_ref()),
    };
    let name = Some(observation.external_name.clone());
    let message = format!("took over {:?}, which existed already", observation.external_name);
    Decision::Act(Action::WriteMetadata(MetadataChange {
        why: "adopt what exists",
        add_finalizer: true,
        annotations: [
            (names::EXTERNAL_NAME.to_owned(), name),
            (names::RECORD.to_owned(), Some(record.write())),
        ]
        .into(),
        allows: None,
        event: (!marked).then(|| Event::normal("AdoptedExternalResource", &message)),
    }))
}

/// Keeps the record true where only we are behind: settings that changed without moving the resource, a digest key that was lost.
fn renew(pass: &Pass, record: &Record, observation: &Observation, diffs: &[FieldDiff]) -> Option<Decision> {
    let world = pass.world;
    let mut new = record.clone();
    let mut annotations = nothing_else();
    if !diffs.iter().any(|diff| is_replaced(world, diff)) {
        replacement::settle(world, &mut new, &mut annotations);
    }
    if !observation.provider_state.is_empty() {
        new.provider_state.clone_from(&observation.provider_state);
    }
    if let Ok(config) = &world.config {
        new.config = record.config.renewed(ConfigIdentity::of(config));
    }
    let key = |digest: &str| digest.split_once(':').map(|(key, _)| key.to_owned());
    let (old_key, new_key) = (key(&record.sensitive_digest), key(&pass.wish.sensitive_digest));
    if old_key.is_some() && new_key.is_some() && old_key != new_key {
        new.sensitive_digest.clone_from(&pass.wish.sensitive_digest);
    }
    let lost = settle_details(pass, &mut new);
    let moved = (new.config.settings != record.config.settings).then(|| {
        let found = format!(
            "{:?} was found by other settings of the ProviderConfig than those it was made with, and is taken for the same",
            record.external_name
        );
        Event::normal("ProviderConfigChanged", &found)
    });
    // A finalizer that somebody took away is put back: without it a deletion would leave the resource behind.
    (new != *record || !world.managed.held()).then(|| {
        pass.write_record("renew the record", &new, annotations)
            .telling(lost.or(moved))
    })
}

/// It is there: so the answer of its create came, with what is given once, or it never will. The answer is an event, if they are lost.
fn settle_details(pass: &Pass, new: &mut Record) -> Option<Event> {
    let keys = pass.memory.details_given_once(&pass.world.kind);
    if new.details == Details::Settled || operate::creation(pass).is_some() || keys == Given::Unpublished {
        return None;
    }
    let known = keys == Given::Published || !rules::gives_details_once(pass.world);
    new.details = if known { Details::Settled } else { Details::Lost };
    let lost = new.details == Details::Lost
        && pass
            .record
            .as_ref()
            .is_some_and(|old| old.details == Details::Due);
    lost.then(|| Event::warning("ConnectionDetailsLost", &rules::lost_details(&pass.world.kind)))
}

fn differs(
    pass: &Pass,
    record: &Record,
    looked: &Looked,
    observation: &Observation,
    found: &Differences,
) -> Decision {
    let world = pass.world;
    if !world.managed.policies.update {
        return content(pass, observation, None);
    }
    // What lost its marker gets it back before it is replaced: nothing else distinguishes it from its successor (trace 52).
    if !found.replaced.is_empty() && !found.unmarked {
        return replacement::replace(pass, record, looked, observation, &found.replaced.join(", "));
    }
    if !world.kind.capabilities.can_update {
        return match found.replaced.as_slice() {
            [] => content(pass, observation, None),
            fields => replacement::forbidden(
                pass,
                observation,
                &format!(
                    "{} cannot be changed in place, and the resource does not bear the marker {} of this object, without which it is not replaced; set the marker, or change the fields back",
                    fields.join(", "),
                    world.marker
                ),
            ),
        };
    }
    update(pass, record, observation, found)
}

fn update(pass: &Pass, record: &Record, observation: &Observation, found: &Differences) -> Decision {
    let world = pass.world;
    if let Some(trouble) = pass.memory.refused(world, Verb::Update) {
        let report = Report {
            ready: readiness(pass),
            at_provider: observation.status.clone(),
            create_token: token(pass),
            ..Report::of_trouble(Some(trouble))
        };
        return pass.wait(report, None, Purpose::Drift);
    }
    if let Some(over) = rules::may_still_run_until(world, record, pass.memory) {
        return pass.wait(settled_report(pass, observation), Some(over), Purpose::Operation);
    }
    // What a look sees running need not be ours to be waited for.
    let runs = operate::running(pass).is_some() || observation.operation.is_some();
    if runs && !world.kind.capabilities.concurrent_update {
        return operate::wait(pass, pass.memory.next_poll);
    }
    // An update after which wish and fact still differ is not repeated at once for ever.
    if let Some((count, last)) = pass.memory.updates_for(world) {
        let next = last + failure::delay(None, count, world.fresh.jitter);
        if count > 1 && next > world.now {
            // Without their count: each new one would be written.
            let message = format!(
                "update failed: repeated updates have not brought about the desired state: {}",
                found.to_update()
            );
            let report = Report {
                synced: Some(Says::no("ReconcileError", message)),
                ..settled_report(pass, observation)
            };
            return pass.wait(report, Some(next), Purpose::Retry);
        }
    }
    let (kept, changed): (Vec<&FieldDiff>, Vec<&FieldDiff>) =
        found.fields.iter().partition(|diff| is_replaced(world, diff));
    // A plugin that compares knows by itself what differs.
    let changed = match world.kind.capabilities.diff_mode {
        DiffMode::Bridge => changed.into_iter().map(|diff| diff.path.clone()).collect(),
        DiffMode::Plugin => Vec::new(),
    };
    pass.after_proof(&record.external_name, Verb::Update, |call| {
        call.changed_paths = changed;
        call.etag.clone_from(&observation.etag);
        diff::keep_observed(
            &mut call.desired.parameters,
            kept.into_iter(),
            &observation.parameters,
        );
    })
}

/// Nothing to do: say how it is. Troubles of the past are over, save those of an operation that runs.
fn content(pass: &Pass, observation: &Observation, look_after: Option<jiff::Timestamp>) -> Decision {
    let next_look = pass.memory.looked.as_ref().map(|looked| looked.next);
    let soon = look_after.map(|time| time + std::time::Duration::from_millis(1));
    let running = operate::running(pass).is_some();
    let trouble = pass.memory.trouble.as_ref();
    let trouble = trouble.filter(|trouble| running && trouble.verb == Verb::Poll);
    let report = Report {
        synced: Report::of_trouble(trouble).synced,
        ..settled_report(pass, observation)
    };
    pass.wait(report, soon.or(next_look), Purpose::Drift)
}

pub(super) fn settled_report(pass: &Pass, observation: &Observation) -> Report {
    let report = Report {
        ready: readiness(pass),
        at_provider: observation.status.clone(),
        create_token: token(pass),
        ..Report::of_trouble(
            pass.memory
                .trouble
                .as_ref()
                .filter(|trouble| !matches!(trouble.verb, Verb::Observe)),
        )
    };
    operate::with_operation(pass, report)
}

/// The first status after the create was seen names its token: that confirms it, unless its operation still runs.
fn token(pass: &Pass) -> Option<String> {
    if operate::creation(pass).is_some() {
        return None;
    }
    pass.record
        .as_ref()
        .and_then(|record| record.create())
        .map(|intent| intent.token.clone())
}

/// Why what was found is another's, and what to do; `None`: it is not, as far as one can tell.
pub(super) fn anothers(world: &World, observation: &Observation) -> Option<String> {
    let name = &observation.external_name;
    if let Ownership::Others(marker) = rules::ownership(world, observation) {
        return Some(format!(
            "{name:?} bears the marker {marker} of another object; if that object is gone for good, annotate {}={marker}",
            names::ADOPT
        ));
    }
    let rival = rules::rival(world, observation)?;
    Some(format!(
        "{name:?} is already managed by {rival}; delete this object, which leaves the resource to the other, or give it a name of its own"
    ))
}
