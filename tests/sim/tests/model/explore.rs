//! Every state that few departures from the plain course can lead to, breadth first, each once.
//!
//! A state is the whole model: API server, cloud, both processes with their memories, what is under way, and what the user has done so far.
//! From each, one step is taken in every possible way. That no departure is left is part of the search, not of the state: a state that was
//! reached with more of them to spare counts as seen for less.

use std::{
    collections::{HashMap, hash_map::Entry},
    time::Duration,
};

use serde_json::json;

use crate::{
    choose::{Choices, Faults, Plan},
    counts,
    key::key,
    kinds::{self, Pace, Subject},
    nominal_schedule::{NominalSchedule, ONE_LIFE, ONE_REPLACED, SUCCESSOR, Setting, UserAction},
    reference_model::Tempo,
};

/// A state that was seen, and how it was come to.
struct Seen {
    parent: u32,
    /// The departures of the step from the parent.
    plan: Plan,
    /// Departures that were left.
    left: u8,
    /// Where the plain course leads.
    next: u32,
}

/// Where nothing more comes.
const END: u32 = u32::MAX;
/// Not known yet.
const OPEN: u32 = u32::MAX - 1;

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
struct SearchResult {
    states: usize,
    steps: usize,
    depth: usize,
    /// The way to a state in which something is wrong, and what.
    wrong: Option<(Vec<Plan>, Vec<String>)>,
}

struct Search {
    ids: HashMap<u128, u32>,
    seen: Vec<Seen>,
    steps: usize,
}

impl Search {
    /// From the first user action on, with at most so many faults.
    fn run(setting: &Setting, faults: u8) -> SearchResult {
        let mut begin = NominalSchedule::begin(setting, Choices::by_plan(Plan::new()));
        begin.model.etcd.forgets = true;
        if let Some(lane) = &mut begin.model.second {
            lane.etcd.forgets = true;
        }
        let mut search = Self {
            ids: HashMap::new(),
            seen: Vec::new(),
            steps: 0,
        };
        search.ids.insert(key(&begin), 0);
        search.seen.push(Seen {
            parent: 0,
            plan: Plan::new(),
            left: faults,
            next: OPEN,
        });
        let mut layer = vec![(0, begin)];
        let mut depth = 0;
        while !layer.is_empty() {
            depth += 1;
            let mut following = Vec::new();
            for (id, course) in layer {
                if let Some(wrong) = search.expand(id, course, &mut following) {
                    return search.found(depth, Some(wrong));
                }
            }
            layer = following;
        }
        let wrong = search.circle().map(|id| {
            let way = search.way(id);
            (way, vec!["STUCK: it goes round in circles from here".to_owned()])
        });
        search.found(depth, wrong)
    }

    fn found(&self, depth: usize, wrong: Option<(Vec<Plan>, Vec<String>)>) -> SearchResult {
        SearchResult {
            states: self.seen.len(),
            steps: self.steps,
            depth,
            wrong,
        }
    }

    /// One step in every possible way.
    fn expand(
        &mut self,
        id: u32,
        from: NominalSchedule,
        following: &mut Vec<(u32, NominalSchedule)>,
    ) -> Option<(Vec<Plan>, Vec<String>)> {
        let left = self.seen[id as usize].left;
        let mut from = Some(from);
        let mut plans = vec![Plan::new()];
        while let Some(plan) = plans.pop() {
            // Most have no departure left, and need no copy.
            let course = if left == 0 { from.take() } else { from.clone() };
            let Some(mut course) = course else { break };
            course.choices.go_by(plan.clone());
            course.go_on();
            self.steps += 1;
            if !course.model.watcher.violations.is_empty() {
                let mut way = self.way(id);
                way.push(plan);
                return Some((way, course.model.watcher.violations));
            }
            let used = u8::try_from(plan.len()).unwrap_or(u8::MAX);
            if used < left {
                let first = plan.last().map_or(0, |(point, _)| point + 1);
                for (point, options) in course.choices.points.iter().enumerate().skip(first) {
                    plans.extend((1..*options).map(|option| {
                        let mut longer = plan.clone();
                        longer.push((point, option));
                        longer
                    }));
                }
            }
            let to = self.arrive(id, &plan, left - used, course, following);
            if plan.is_empty() {
                self.seen[id as usize].next = to;
            }
        }
        None
    }

    fn arrive(
        &mut self,
        parent: u32,
        plan: &Plan,
        left: u8,
        mut course: NominalSchedule,
        following: &mut Vec<(u32, NominalSchedule)>,
    ) -> u32 {
        if course.over() {
            return END;
        }
        let second = course.model.second.iter_mut().flat_map(|lane| &mut lane.bridges);
        for bridge in course.model.bridges.iter_mut().chain(second) {
            bridge.reported.clear();
        }
        let new = u32::try_from(self.seen.len()).expect("the states can be counted");
        let id = match self.ids.entry(key(&course)) {
            Entry::Vacant(vacant) => {
                vacant.insert(new);
                self.seen.push(Seen {
                    parent,
                    plan: plan.clone(),
                    left,
                    next: OPEN,
                });
                new
            }
            Entry::Occupied(known) => {
                let known = *known.get();
                let seen = &mut self.seen[known as usize];
                if seen.left >= left {
                    return known;
                }
                (seen.parent, seen.plan, seen.left) = (parent, plan.clone(), left);
                known
            }
        };
        following.push((id, course));
        id
    }

    /// How a state was come to.
    fn way(&self, mut id: u32) -> Vec<Plan> {
        let mut way = Vec::new();
        while id != 0 {
            let seen = &self.seen[id as usize];
            way.push(seen.plan.clone());
            id = seen.parent;
        }
        way.reverse();
        way
    }

    /// A state from which the plain course never comes to an end.
    fn circle(&self) -> Option<u32> {
        let mut ends = vec![false; self.seen.len()];
        for start in 0..self.seen.len() {
            let (mut at, mut walked) = (start, Vec::new());
            while !ends[at] {
                ends[at] = true;
                walked.push(at);
                match self.seen[at].next {
                    END => break,
                    next => at = next as usize,
                }
                if walked.contains(&at) {
                    return u32::try_from(at).ok();
                }
            }
        }
        None
    }
}

/// The way again, told step by step.
fn reported(setting: &Setting, way: &[Plan], violations: &[String]) -> String {
    let setting = Setting {
        logs: true,
        ..setting.clone()
    };
    let recoveries = &setting.subject.kind.capabilities.create_recovery;
    let mut course = NominalSchedule::begin(&setting, Choices::by_plan(Plan::new()));
    for plan in way {
        course.choices.go_by(plan.clone());
        course.go_on();
    }
    // Where it is stuck, a while of it.
    for _ in 0..40 {
        if course.over() || !course.model.watcher.violations.is_empty() {
            break;
        }
        course.choices.go_by(Plan::new());
        course.go_on();
    }
    format!(
        "{} {recoveries:?} {:?} {:?}\n{}\nin {} steps: {}",
        setting.subject.name,
        setting.subject.manners,
        setting.actions,
        course.model.log.join("\n"),
        way.len(),
        violations.join("\n"),
    )
}

/// Searches with at most so many departures; with more where `MODEL_DEEP` is set.
fn search(subject: Subject, actions: &'static [UserAction], faults: Faults, most: [u8; 2]) {
    let setting = Setting {
        actions,
        faults,
        tempo: Tempo::COARSE,
        ..Setting::of(subject)
    };
    search_in(&setting, most);
}

/// Likewise, with two objects of one name in two namespaces.
fn search_two(subject: Subject, faults: [u8; 2]) {
    let setting = Setting {
        actions: ONE_LIFE,
        faults: Faults::Crashes,
        tempo: Tempo::COARSE,
        two: true,
        ..Setting::of(subject)
    };
    search_in(&setting, faults);
}

fn search_in(setting: &Setting, faults: [u8; 2]) {
    let faults = faults[usize::from(std::env::var_os("MODEL_DEEP").is_some())];
    let only = std::env::var("MODEL_KIND").ok();
    if only.is_some_and(|only| only != setting.subject.name) {
        return;
    }
    let found = Search::run(setting, faults);
    counts::tell(&json!({
        "what": "explored",
        "kind": setting.subject.name,
        "manners": format!("{:?}", setting.subject.manners),
        "actions": format!("{:?}", setting.actions),
        "faults": format!("{:?}", setting.faults),
        "objects": 1 + u8::from(setting.two),
        "departures": faults,
        "states": found.states,
        "steps": found.steps,
        "depth": found.depth,
    }));
    if let Some((way, violations)) = &found.wrong {
        panic!("{}", reported(setting, way, violations));
    }
}

fn window(subject: Subject) -> Subject {
    subject.can(|can| can.consistency_window = Duration::from_secs(20))
}

fn late_name(subject: Subject) -> Subject {
    subject
        .paced(Pace::Long, Pace::AtOnce)
        .with(|manners| (manners.name_at_end, manners.frees_tokens) = (true, true))
}

/// Seen only when its creation has ended.
fn shown_late(subject: Subject) -> Subject {
    subject
        .paced(Pace::Long, Pace::AtOnce)
        .undeclared(Duration::from_mins(1))
        .shown_at_end()
}

fn driven(subject: Subject) -> Subject {
    subject.paced(Pace::Driven, Pace::Driven)
}

#[test]
fn one_lifecycle_with_any_fault_of_known_names() {
    for subject in [
        kinds::named(),
        kinds::bucket(),
        kinds::queue(),
        kinds::named_with_token(),
        window(kinds::table()),
        driven(kinds::named()),
        shown_late(kinds::named()),
    ] {
        search(subject, ONE_LIFE, Faults::All, [1, 2]);
    }
}

#[test]
fn one_lifecycle_with_any_fault_of_upstream_names() {
    for subject in [
        kinds::token(),
        window(kinds::marked()),
        kinds::nothing(),
        kinds::distribution(),
        late_name(kinds::token()),
        late_name(kinds::nothing()),
        driven(kinds::marked()),
        shown_late(kinds::marked()),
        shown_late(kinds::nothing()),
    ] {
        search(subject, ONE_LIFE, Faults::All, [1, 2]);
    }
}

#[test]
fn one_lifecycle_with_two_crashes_of_known_names() {
    search(kinds::named(), ONE_LIFE, Faults::Crashes, [2, 3]);
}

#[test]
fn one_lifecycle_with_two_crashes_of_names_by_token() {
    search(kinds::token(), ONE_LIFE, Faults::Crashes, [2, 3]);
}

#[test]
fn one_lifecycle_with_two_crashes_of_late_names_by_token() {
    search(late_name(kinds::token()), ONE_LIFE, Faults::Crashes, [2, 3]);
}

#[test]
fn one_lifecycle_with_two_crashes_of_names_by_marker() {
    search(window(kinds::marked()), ONE_LIFE, Faults::Crashes, [2, 3]);
}

#[test]
#[ignore = "takes minutes; `cargo xtask reliability` runs it"]
fn one_lifecycle_with_two_crashes_of_other_kinds() {
    for subject in [
        kinds::table(),
        window(kinds::table()),
        driven(kinds::named()),
        kinds::named_with_token(),
        kinds::distribution(),
        driven(kinds::marked()),
        kinds::nothing(),
        shown_late(kinds::marked()),
        shown_late(kinds::distribution()),
    ] {
        search(subject, ONE_LIFE, Faults::Crashes, [2, 2]);
    }
}

#[test]
fn a_successor_of_the_same_name() {
    for subject in [
        kinds::named(),
        driven(kinds::named()),
        kinds::queue(),
        kinds::table(),
        kinds::token(),
    ] {
        search(subject, SUCCESSOR, Faults::Crashes, [1, 2]);
    }
}

#[test]
fn one_life_with_a_replacement() {
    for subject in [
        kinds::named(),
        driven(kinds::named()),
        kinds::queue(),
        kinds::table(),
        kinds::token().paced(Pace::AtOnce, Pace::Long),
        window(kinds::marked()),
    ] {
        search(subject, ONE_REPLACED, Faults::Crashes, [1, 2]);
    }
}

#[test]
fn two_objects_of_names_given_beforehand() {
    for subject in [kinds::named(), kinds::bucket(), kinds::queue(), kinds::table()] {
        search_two(subject, [1, 2]);
    }
}

#[test]
fn two_objects_of_names_of_the_cloud() {
    for subject in [kinds::token(), kinds::marked(), kinds::distribution()] {
        search_two(subject, [1, 2]);
    }
}
