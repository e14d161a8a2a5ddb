//! A life of an object, from the user's first action to the end, with whatever comes between.

use std::time::Duration;

use bridge_core::managed::{Condition, Policies, names, status};
use jiff::SignedDuration;
use serde_json::json;

use crate::{
    bridge::Bridge,
    bridge::Phase,
    choose::{Choices, Faults, Plan},
    events,
    invariants::record_of,
    kinds::Subject,
    reference_model::{A, B, Model, Tempo, config},
};

/// More steps than any life takes.
const MOST_STEPS: u32 = 1500;
/// Longer than anything is remembered for.
const WAIT: Duration = Duration::from_mins(4);
/// So often may it be at rest without being as it should.
const WAIT_LIMIT: u32 = 12;

/// What the user does next, once all is as was asked before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserAction {
    Create,
    Change,
    /// Something that only a replacement brings about.
    Replace,
    Delete,
    /// Nothing: nothing may be written.
    Rest,
    /// Nothing: it grows old.
    Wait,
}

/// Made, changed and deleted, twice under one name.
pub const TWO_LIVES: &[UserAction] = &[
    UserAction::Create,
    UserAction::Rest,
    UserAction::Change,
    UserAction::Rest,
    UserAction::Delete,
    UserAction::Create,
    UserAction::Rest,
    UserAction::Change,
    UserAction::Wait,
    UserAction::Delete,
];
/// Made, changed, deleted.
pub const ONE_LIFE: &[UserAction] = &[
    UserAction::Create,
    UserAction::Wait,
    UserAction::Change,
    UserAction::Wait,
    UserAction::Delete,
];
/// Deleted, and made again under the same name.
pub const SUCCESSOR: &[UserAction] = &[
    UserAction::Create,
    UserAction::Wait,
    UserAction::Delete,
    UserAction::Create,
    UserAction::Wait,
    UserAction::Delete,
];

/// Created, replaced, changed, deleted.
pub const REPLACED: &[UserAction] = &[
    UserAction::Create,
    UserAction::Rest,
    UserAction::Replace,
    UserAction::Rest,
    UserAction::Change,
    UserAction::Replace,
    UserAction::Wait,
    UserAction::Delete,
];
/// Created, replaced, deleted.
pub const ONE_REPLACED: &[UserAction] = &[
    UserAction::Create,
    UserAction::Wait,
    UserAction::Replace,
    UserAction::Wait,
    UserAction::Delete,
];

/// What surrounds a life.
#[derive(Debug, Clone)]
pub struct Setting {
    pub subject: Subject,
    pub actions: &'static [UserAction],
    pub faults: Faults,
    /// How B's clock differs.
    pub offset: SignedDuration,
    /// How long what is made stays invisible, within the kind's window.
    pub visibility: Duration,
    /// Somebody else may make things of our name.
    pub foreigners: bool,
    pub tempo: Tempo,
    /// A second object of the same name, in another namespace.
    pub two: bool,
    /// Keeps a log.
    pub logs: bool,
}

impl Setting {
    pub fn of(subject: Subject) -> Self {
        let visibility = subject.window();
        Self {
            subject,
            actions: TWO_LIVES,
            faults: Faults::All,
            offset: SignedDuration::ZERO,
            visibility,
            foreigners: false,
            tempo: Tempo::LIFELIKE,
            two: false,
            logs: false,
        }
    }
}

/// How a life went.
#[derive(Debug)]
pub struct Went {
    pub violations: Vec<String>,
    pub taken: Plan,
    pub log: Vec<String>,
    pub steps: u32,
}

/// A life under way.
#[derive(Debug, Clone)]
pub struct NominalSchedule {
    pub model: Model,
    pub choices: Choices,
    actions: &'static [UserAction],
    /// So many have been uttered.
    pub uttered: usize,
    pub wait_limit: u32,
    /// That have been looked at.
    versions: (u64, usize),
}

/// Lives it.
pub fn live(setting: &Setting, choices: Choices) -> Went {
    let mut course = NominalSchedule::begin(setting, choices);
    let mut steps = 0;
    while !course.over() && course.model.watcher.violations.is_empty() {
        steps += 1;
        if steps > MOST_STEPS {
            course.model.watcher.violation("it goes on for ever");
            break;
        }
        course.go_on();
    }
    Went {
        violations: course.model.watcher.violations,
        taken: course.choices.taken,
        log: course.model.log,
        steps,
    }
}

impl NominalSchedule {
    /// Before the first action.
    pub fn begin(setting: &Setting, mut choices: Choices) -> Self {
        let mut model = Model::new(&setting.subject);
        model.logs = setting.logs;
        model.tempo = setting.tempo;
        model.bridges[B].offset = setting.offset;
        model.cloud.visibility = setting.visibility;
        model.cloud.marker_visibility = setting.subject.window();
        model.watcher.foreigners = setting.foreigners;
        choices.faults = setting.faults;
        if setting.two {
            model.add_lane();
        }
        Self {
            model,
            choices,
            actions: setting.actions,
            uttered: 0,
            wait_limit: WAIT_LIMIT,
            versions: (0, 0),
        }
    }

    /// All came to pass, and nothing came after it.
    pub fn over(&self) -> bool {
        self.uttered > self.actions.len()
    }

    /// One event from outside, or one step of a process, or time goes on, or the user does something.
    pub fn go_on(&mut self) {
        let events = events::possible(self.choices.faults, self.model.watcher.foreigners);
        if let Some(event) = self.choices.choose(1 + events.len()).checked_sub(1) {
            return self.model.happens(events[event]);
        }
        let versions = (self.model.etcd.revision, self.model.etcd.gone.len());
        if std::mem::replace(&mut self.versions, versions) != versions {
            let known = self.model.etcd.object.as_ref().and_then(record_of);
            self.choices.may_blip = known.is_some_and(|record| record.confirmed);
        }
        let leader = usize::from(!self.model.bridges[A].leads);
        let now = self.model.now;
        let is_due = |bridge: &Bridge| bridge.due().is_some_and(|due| due <= now);
        let due = |bridges: &[Bridge; 2]| [leader, 1 - leader].map(|b| is_due(&bridges[b]).then_some(b));
        let here = due(&self.model.bridges).map(|b| (false, b));
        let beside = self
            .model
            .second
            .as_ref()
            .map_or([None; 2], |lane| due(&lane.bridges));
        let all = here.into_iter().chain(beside.map(|b| (true, b)));
        let who: Vec<(bool, usize)> = all.filter_map(|(beside, b)| Some((beside, b?))).collect();
        if !who.is_empty() {
            let choices = &mut self.choices;
            let chosen = if who.len() > 1 {
                choices.choose(who.len())
            } else {
                0
            };
            match who[chosen] {
                (false, b) => self.model.step(b, choices),
                (true, b) => drop(self.model.beside(|model| model.step(b, choices))),
            }
            return;
        }
        let quiet =
            self.model.flights.is_empty() && self.model.late_writes.is_empty() && self.model.all_quiet();
        if quiet {
            self.at_rest();
        } else {
            self.wait();
        }
    }

    fn wait(&mut self) {
        let model = &mut self.model;
        let flights = model.flights.iter().map(|flight| flight.at);
        let writes = model.late_writes.iter().map(|(at, _)| *at);
        let bridges = model.due();
        let next = flights.chain(writes).chain(bridges).min();
        match next {
            Some(next) => {
                let until = model.by_grain(next.max(model.now + Duration::from_millis(1)));
                model.advance_to(until);
            }
            None => model.advance(Duration::from_mins(1)),
        }
    }

    /// Whatever was done comes to an end: it is undone, people answer, and then the next action comes.
    fn at_rest(&mut self) {
        let wait_limit = self.wait_limit;
        let helped = |model: &mut Model| {
            let helped = heal(model, wait_limit) || answer(model) || model.approve_what_is_asked();
            if helped {
                model.wake_all();
            }
            helped
        };
        if helped(&mut self.model) || self.model.beside(helped) == Some(true) {
            return;
        }
        if !self.as_they_should_be() {
            self.wait_limit -= 1;
            if self.wait_limit == 0 {
                let desired = self.last_wish();
                self.model
                    .watcher
                    .violation(format!("STUCK: {desired:?} does not come about"));
            }
            return self.wait();
        }
        self.wait_limit = WAIT_LIMIT;
        let desired = self.actions.get(self.uttered);
        let utter = |model: &mut Model| {
            match desired {
                Some(UserAction::Create) if model.etcd.object.is_none() => drop(model.create()),
                Some(UserAction::Change) => model.edit("size", json!(2)),
                Some(UserAction::Replace) => model.edit_fixed(),
                Some(UserAction::Delete) => model.etcd.delete(model.now),
                Some(UserAction::Create | UserAction::Rest | UserAction::Wait) | None => {}
            }
            model.wake_all();
        };
        utter(&mut self.model);
        self.model.beside(utter);
        match desired {
            Some(UserAction::Rest) => self.rests(),
            Some(UserAction::Wait) => self.model.advance(WAIT),
            Some(UserAction::Create | UserAction::Change | UserAction::Replace | UserAction::Delete) => {}
            None => self.model.advance(Duration::from_mins(5)),
        }
        self.uttered += 1;
        self.model.beside(Model::check);
    }

    /// The newest that has to come about.
    fn last_wish(&self) -> Option<UserAction> {
        let uttered = &self.actions[..self.uttered.min(self.actions.len())];
        uttered
            .iter()
            .rev()
            .find(|desired| !matches!(desired, UserAction::Rest | UserAction::Wait))
            .copied()
    }

    /// Nothing is written where nothing changes.
    fn rests(&mut self) {
        let model = &mut self.model;
        if model.cloud.next_event(model.now).is_some() {
            return; // What comes late will have to be put right.
        }
        let leader = usize::from(!model.bridges[A].leads);
        let before = model.writes;
        for _ in 0..2 {
            if let Phase::Resting(Some(wake)) = model.bridges[leader].phase {
                let wake = wake - model.bridges[leader].offset;
                model.advance_to(wake.max(model.now));
            }
            model.pass(leader);
        }
        if model.writes != before {
            model.watcher.violation("something is written at rest");
        }
    }

    fn as_they_should_be(&mut self) -> bool {
        let last = self.last_wish();
        let here = as_it_should_be(&self.model, last);
        let beside = self.model.beside(|model| as_it_should_be(model, last));
        let Some(beside) = beside else { return here };
        // Of two that want one name, one has it, and the other says so.
        let refused = |model: &mut Model| {
            let object = model.etcd.object.as_ref();
            let synced = object.and_then(|object| object.managed.condition(status::SYNCED));
            let alive = object.is_some_and(|object| object.managed.deletion.is_none())
                && last != Some(UserAction::Delete);
            alive && synced.is_some_and(|one| ["DoublyOwned", "AlreadyExists"].contains(&one.reason.as_str()))
        };
        let one_name = !self.model.subject.is_named_upstream();
        here && beside
            || one_name && here && self.model.beside(refused) == Some(true)
            || one_name && beside && refused(&mut self.model)
    }
}

/// Undoes what was done from outside.
fn heal(model: &mut Model, wait_limit: u32) -> bool {
    let mut healed = false;
    // It is put back to what the record speaks of.
    let recorded = model.etcd.object.as_ref().and_then(record_of);
    let account = recorded.map_or("account-1".to_owned(), |record| record.config.identity);
    if model.config != Ok(config(&account)) {
        model.config = Ok(config(&account));
        healed = true;
    }
    if std::mem::take(&mut model.secret_missing) {
        healed = true;
    }
    let Some(object) = model.etcd.object.clone() else {
        return healed;
    };
    if object.managed.paused() {
        model.etcd.annotate(names::PAUSED, None);
        healed = true;
    }
    if object.managed.policies != Policies::of(&json!({})) {
        model
            .etcd
            .edit(|object| object.managed.policies = Policies::of(&json!({})));
        healed = true;
    }
    if object.parameters.contains_key("invalid") {
        model.etcd.edit(|object| {
            object.parameters.remove("invalid");
        });
        healed = true;
    }
    let named = record_of(&object).map(|record| record.external_name);
    let named = named.filter(|name| !name.is_empty());
    let annotated = object.managed.annotation(names::EXTERNAL_NAME);
    if annotated == "elsewhere" && named.as_deref() != Some(annotated) {
        let name = named;
        model.etcd.annotate(names::EXTERNAL_NAME, name.as_deref());
        healed = true;
    }
    if model.cloud.objects.iter().any(|one| one.made_for.is_empty()) {
        model.cloud.remove_by_hand(|one| one.made_for.is_empty());
        healed = true;
    }
    // What was refused because of it is asked for again.
    let refused = |condition: &Condition| condition.message.contains("AlreadyExists");
    let asked = object.managed.annotation(names::RECONCILE_REQUESTED);
    let again = model.now.to_string();
    if object.managed.condition(status::SYNCED).is_some_and(refused) && *asked < *again && wait_limit > 6 {
        model.etcd.annotate(names::RECONCILE_REQUESTED, Some(&again));
        healed = true;
    }
    healed
}

/// A person answers truthfully, once a question is asked.
fn answer(model: &mut Model) -> bool {
    let Some(object) = model.etcd.object.clone() else {
        return false;
    };
    let Some(question) = &object.managed.status.progress.question else {
        return false;
    };
    let answer = match model.cloud.made_for(&object.managed.uid).first() {
        Some(one) => format!("exists/{}/{}", question.id, one.name),
        None => format!("absent/{}", question.id),
    };
    if object.managed.annotation(names::CREATE_OUTCOME) == answer {
        return false;
    }
    model.etcd.annotate(names::CREATE_OUTCOME, Some(&answer));
    true
}

fn as_it_should_be(model: &Model, last: Option<UserAction>) -> bool {
    let Some(object) = &model.etcd.object else {
        return true; // Whoever deletes it early does nothing more.
    };
    if object.managed.deletion.is_some() || last == Some(UserAction::Delete) {
        return false;
    }
    let yes = |kind: &str| {
        object
            .managed
            .condition(kind)
            .is_some_and(|condition| condition.status == "True")
    };
    let name = object.managed.annotation(names::EXTERNAL_NAME);
    let account = model.config.as_ref().map(|config| &config.identity);
    let mut objects = model.cloud.objects.iter();
    let there = objects.find(|one| one.name == name && Ok(&one.account) == account);
    let as_wished = there.is_some_and(|one| {
        let secrets = one.sensitive == model.sensitive || model.watcher.late_update;
        let marked = !model.watcher.replacements.lost_its_marker(one);
        one.parameters == object.parameters && secrets && marked
    });
    yes(status::READY) && yes(status::SYNCED) && as_wished
}
