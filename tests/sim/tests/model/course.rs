//! A life of an object, from the user's first wish to the end, with whatever comes between.

use std::time::Duration;

use bridge_core::managed::{Condition, Hold, Policies, Problem, names, status};
use jiff::SignedDuration;
use serde_json::json;

use crate::{
    bridge::Phase,
    choose::{Choices, Plan},
    invariants::record_of,
    kinds::Subject,
    world::{A, B, Model, config},
};

/// More steps than any life takes.
const MOST_STEPS: u32 = 1500;
/// So often may it be at rest without being as it should.
const PATIENCE: u32 = 12;

/// What surrounds a life.
#[derive(Debug, Clone)]
pub struct Setting {
    pub subject: Subject,
    /// How B's clock differs.
    pub offset: SignedDuration,
    /// How long what is made stays invisible, within the kind's window.
    pub visibility: Duration,
    /// Somebody else may make things of our name.
    pub foreigners: bool,
    /// Made, deleted, and no more: for searches that have many lives to try.
    pub short: bool,
    /// Keeps a log.
    pub logs: bool,
}

impl Setting {
    pub fn of(subject: Subject) -> Self {
        let visibility = subject.window();
        Self {
            subject,
            offset: SignedDuration::ZERO,
            visibility,
            foreigners: false,
            short: false,
            logs: false,
        }
    }
}

/// How a life went.
#[derive(Debug)]
pub struct Went {
    pub violations: Vec<String>,
    pub taken: Plan,
    pub points: Vec<usize>,
    pub log: Vec<String>,
    pub steps: u32,
}

/// What is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Ready,
    Changed,
    Deleted,
    Again,
    DeletedAgain,
    Over,
}

struct Course {
    model: Model,
    choices: Choices,
    stage: Stage,
    patience: u32,
    lives: u32,
    /// That have been looked at.
    versions: usize,
}

/// Lives it.
pub fn live(setting: &Setting, choices: Choices) -> Went {
    let mut model = Model::new(&setting.subject);
    model.logs = setting.logs;
    model.bridges[B].offset = setting.offset;
    model.cloud.visibility = setting.visibility;
    model.cloud.marker_visibility = setting.subject.window();
    model.watcher.foreigners = setting.foreigners;
    model.create();
    let mut course = Course {
        model,
        choices,
        stage: if setting.short {
            Stage::Changed
        } else {
            Stage::Ready
        },
        patience: PATIENCE,
        lives: if setting.short { 1 } else { 2 },
        versions: 0,
    };
    let mut steps = 0;
    while course.stage != Stage::Over && course.model.watcher.violations.is_empty() {
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
        points: course.choices.points,
        log: course.model.log,
        steps,
    }
}

impl Course {
    fn go_on(&mut self) {
        self.event();
        let versions = self.model.etcd.history.len() + self.model.etcd.gone.len();
        if std::mem::replace(&mut self.versions, versions) != versions {
            let known = self.model.etcd.object.as_ref().and_then(record_of);
            self.choices.may_blip = known.is_some_and(|record| record.confirmed);
        }
        let due = self.model.bridges.each_ref().map(super::bridge::Bridge::due);
        let now = self.model.now;
        let is_due = |b: usize| due[b].is_some_and(|due| due <= now);
        let who = match (is_due(A), is_due(B)) {
            (true, true) => {
                let leader = usize::from(!self.model.bridges[A].leads);
                Some(if self.choices.choose(2) == 0 {
                    leader
                } else {
                    1 - leader
                })
            }
            (true, false) => Some(A),
            (false, true) => Some(B),
            (false, false) => None,
        };
        if let Some(b) = who {
            self.model.step(b, &mut self.choices);
            return;
        }
        let quiet = self.model.flights.is_empty()
            && self.model.late_writes.is_empty()
            && [A, B].into_iter().all(|b| self.model.quiet(b));
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
        let bridges = model.bridges.iter().filter_map(super::bridge::Bridge::due);
        let next = flights.chain(writes).chain(bridges).min();
        match next {
            Some(next) => model.advance_to(next.max(model.now + Duration::from_millis(1))),
            None => model.advance(Duration::from_mins(1)),
        }
    }

    /// Something that comes from outside, or nothing.
    fn event(&mut self) {
        let option = self.choices.choose(24);
        if option == 0 {
            return;
        }
        let model = &mut self.model;
        let leader = usize::from(!model.bridges[A].leads);
        let now = model.now;
        model.note(|| format!("EVENT {option}"));
        match option {
            1 => model.bridges[leader].crash(),
            // The lease moves; the former leader stands still where it is, and goes on later.
            2..=5 => {
                let still = [0, 8, 14, 40][option - 2];
                model.bridges[leader].leads = false;
                model.bridges[leader].stalled_until = Some(now + Duration::from_secs(still));
                model.bridges[1 - leader].leads = true;
                model.bridges[1 - leader].dirty = true;
            }
            6..=8 => {
                let still = [4, 9, 40][option - 6];
                model.bridges[leader].stalled_until = Some(now + Duration::from_secs(still));
            }
            9 => model.edit("size", json!(7)),
            10 => model.edit("invalid", json!(true)),
            11 => model.etcd.delete(now),
            12 => model.etcd.annotate(names::PAUSED, Some("true")),
            13 => model.etcd.edit(|object| {
                object.managed.policies = Policies::of(&json!({"managementPolicies": ["Observe", "Delete"]}));
            }),
            14 => model.etcd.annotate(names::EXTERNAL_NAME, Some("elsewhere")),
            15 => model.cloud.remove_by_hand(|one| !one.made_for.is_empty()),
            16 if model.watcher.foreigners => {
                let name = if model.subject.cloud_named() {
                    "foreign"
                } else {
                    "thing"
                };
                model.cloud.foreign(
                    name,
                    "",
                    &json!({"size": 1}).as_object().cloned().unwrap_or_default(),
                    now,
                );
            }
            17 => model.bridges[leader].lags_until = Some(now + Duration::from_secs(6)),
            18 => {
                model.hold = Some(Hold {
                    until: now + Duration::from_secs(7),
                    problem: problem("Throttled"),
                });
            }
            19 => model.config = Err(problem("ProviderConfigNotFound")),
            20 => model.config = Ok(config("account-2")),
            21 => model.sensitive = crate::cloud::secrets(&[("/password", "canary-2")]),
            22 => model.secret_missing = true,
            23 => model.cloud.forget_operations(),
            _ => {}
        }
        model.wake_all();
        model.check();
    }

    /// Whatever was done comes to an end: it is undone, people answer, and then the next wish comes.
    fn at_rest(&mut self) {
        if self.heal() || self.answer() {
            self.model.wake_all();
            return;
        }
        if !self.as_it_should_be() {
            self.patience -= 1;
            if self.patience == 0 {
                let stage = self.stage;
                self.model
                    .watcher
                    .violation(format!("STUCK: {stage:?} does not come about"));
            }
            return self.wait();
        }
        self.patience = PATIENCE;
        self.stage = match self.stage {
            Stage::Ready => {
                self.rests();
                self.model.edit("size", json!(2));
                Stage::Changed
            }
            Stage::Changed => {
                if self.lives == 2 {
                    self.rests();
                } else {
                    // Otherwise what made it hides what deletes it.
                    self.model.advance(Duration::from_secs(30));
                }
                self.model.etcd.delete(self.model.now);
                Stage::Deleted
            }
            Stage::Deleted if self.lives == 2 => Stage::Again,
            Stage::Deleted | Stage::DeletedAgain => {
                self.model.advance(Duration::from_mins(5));
                Stage::Over
            }
            Stage::Again => {
                self.lives = 1;
                if self.model.etcd.object.is_none() {
                    self.model.create();
                }
                Stage::Ready
            }
            Stage::Over => Stage::Over,
        };
        self.model.wake_all();
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

    fn heal(&mut self) -> bool {
        let model = &mut self.model;
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
        if object.managed.condition(status::SYNCED).is_some_and(refused)
            && *asked < *again
            && self.patience > 6
        {
            model.etcd.annotate(names::RECONCILE_REQUESTED, Some(&again));
            healed = true;
        }
        healed
    }

    /// A person answers truthfully, once a question is asked.
    fn answer(&mut self) -> bool {
        let model = &mut self.model;
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

    fn as_it_should_be(&self) -> bool {
        let model = &self.model;
        let Some(object) = &model.etcd.object else {
            return true; // Whoever deletes it early has nothing more to wish.
        };
        if object.managed.deletion.is_some()
            || self.stage == Stage::Deleted
            || self.stage == Stage::DeletedAgain
        {
            return false;
        }
        let yes = |kind: &str| {
            object
                .managed
                .condition(kind)
                .is_some_and(|condition| condition.status == "True")
        };
        let name = object.managed.annotation(names::EXTERNAL_NAME);
        let there = model.cloud.objects.iter().find(|one| one.name == name);
        let as_wished = there.is_some_and(|one| {
            let secrets = one.sensitive == model.sensitive || model.watcher.late_update;
            one.parameters == object.parameters && secrets
        });
        yes(status::READY) && yes(status::SYNCED) && as_wished
    }
}

fn problem(reason: &str) -> Problem {
    Problem {
        reason: reason.to_owned(),
        message: "something is in the way".to_owned(),
    }
}
