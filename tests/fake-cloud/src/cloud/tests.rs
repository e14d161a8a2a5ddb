use std::sync::Arc;

use crossbridge_types::{
    Call, Config, DesiredState, Document, Observe, ObserveResult, OutcomeResult, Owner, ResourceType, Target,
    Verb,
};
use jiff::{SignedDuration, Timestamp};

use super::{Answer, Ask, Cloud, Verdict};
use crate::{
    fault::{Fault, FaultOutcome, Rpc},
    kinds::{self, GROUP, VERSION},
};

fn target(kind: &str, name: &str) -> Target {
    Target {
        resource_type: ResourceType {
            group: GROUP.to_owned(),
            version: VERSION.to_owned(),
            kind: kind.to_owned(),
        },
        config: Arc::new(Config {
            id: "c".to_owned(),
            revision: "1".to_owned(),
            settings_digest: String::new(),
            identity: String::new(),
            settings: None,
            credentials: super::no_secrets(),
            credentials_expire: None,
        }),
        owner: Owner {
            namespace: "team".to_owned(),
            name: "one".to_owned(),
            uid: "uid-1".to_owned(),
            generation: 1,
        },
        external_name: name.to_owned(),
        ownership_marker: "marker-1".to_owned(),
        former_marker: String::new(),
        provider_state: String::new(),
    }
}

fn create(kind: &str, name: &str) -> Ask {
    Ask::Create(Call {
        token: "6f1f1d5e-2d9c-4a51-8a53-4d1ad3a8f0d1".to_owned(),
        ..call(Verb::Create, target(kind, name))
    })
}

fn call(verb: Verb, target: Target) -> Call {
    Call::new(verb, target, DesiredState::default(), Timestamp::MAX)
}

fn given_name(kind: &str) -> &'static str {
    let subject = kinds::all()
        .into_iter()
        .find(|subject| subject.name() == kind)
        .unwrap();
    match subject.kind.external_name.source {
        crossbridge_types::NameSource::User => "one",
        _ => "",
    }
}

struct Fixture {
    cloud: Cloud,
    now: Timestamp,
}

impl Fixture {
    fn new() -> Self {
        Self {
            cloud: Cloud::new(),
            now: Timestamp::UNIX_EPOCH,
        }
    }

    fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
        self.cloud.settle(self.now);
    }

    fn deadline(&self) -> Timestamp {
        self.now + SignedDuration::from_secs(1)
    }

    fn verdict(&mut self, ask: &Ask) -> Verdict {
        self.cloud.serve(ask, Some(self.deadline()), self.now)
    }

    fn result(&mut self, ask: &Ask) -> OutcomeResult {
        match self.verdict(ask) {
            Verdict::Answer(Answer::Outcome(outcome), _) => outcome.result,
            other => panic!("{other:?}"),
        }
    }

    fn look(&mut self, kind: &str, name: &str) -> ObserveResult {
        let ask = Ask::Observe(Observe {
            target: target(kind, name),
            desired: DesiredState::default(),
        });
        match self.verdict(&ask) {
            Verdict::Answer(Answer::ObserveResult(look), _) => look,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn every_kind_passes_its_lifecycle() {
    for subject in kinds::all() {
        let kind = subject.name();
        let mut stage = Fixture::new();
        stage.result(&create(kind, given_name(kind)));
        stage.pass(3);
        assert_eq!(stage.cloud.objects.len(), 1, "{kind}");
        let name = stage.cloud.objects[0].name.clone();
        let ObserveResult::Found(found) = stage.look(kind, &name) else {
            panic!("{kind} is not found");
        };
        assert!(found.ready, "{kind}");
        let delete = Ask::Delete(call(Verb::Delete, target(kind, &name)));
        stage.result(&delete);
        for _ in 0..3 {
            stage.pass(3);
            let poll = Ask::Poll(Call {
                handle: "remove".to_owned(),
                ..call(Verb::Poll, target(kind, &name))
            });
            stage.result(&poll);
        }
        assert!(stage.cloud.objects.is_empty(), "{kind}");
        assert_eq!(stage.cloud.removed[0].by, "uid-1", "{kind}");
    }
}

#[test]
fn a_token_has_one_effect() {
    let mut stage = Fixture::new();
    stage
        .cloud
        .inject(Fault::once(Rpc::Create, FaultOutcome::LoseAnswer));
    assert_eq!(stage.verdict(&create("Token", "")), Verdict::Silence);
    let OutcomeResult::Completed(again) = stage.result(&create("Token", "")) else {
        panic!("it is not complete");
    };
    assert!(again.already_done);
    assert_eq!(stage.cloud.objects.len(), 1);
    stage
        .cloud
        .remove_by_hand("Token", &again.observation.unwrap().external_name);
    assert!(matches!(
        stage.result(&create("Token", "")),
        OutcomeResult::Failure(_)
    ));
}

#[test]
fn a_kind_without_recovery_creates_one_each_time() {
    let mut stage = Fixture::new();
    stage.result(&create("Nothing", ""));
    stage.result(&create("Nothing", ""));
    assert_eq!(stage.cloud.created_for("uid-1").count(), 2);
}

#[test]
fn a_late_call_takes_effect_within_its_late_margin() {
    for (kind, seconds) in [("Nothing", 1), ("Token", 2)] {
        let mut stage = Fixture::new();
        stage
            .cloud
            .inject(Fault::once(Rpc::Create, FaultOutcome::Late(60_000)));
        assert_eq!(stage.verdict(&create(kind, "")), Verdict::Silence);
        let expected = |cloud: &Cloud, now| cloud.expected(now).any(|ask| ask.rpc() == Rpc::Create);
        assert!(expected(&stage.cloud, stage.now));
        // Also while nothing else comes to the cloud.
        let due = stage.now + SignedDuration::from_secs(seconds);
        assert!(!expected(&stage.cloud, due), "{kind}");
        stage.pass(seconds - 1);
        assert!(stage.cloud.objects.is_empty(), "{kind}");
        stage.pass(1);
        assert_eq!(stage.cloud.objects.len(), 1, "{kind}");
    }
}

#[test]
fn a_late_call_shows_as_of_its_own_time() {
    let mut stage = Fixture::new();
    stage.cloud.profile.invisible = 2_000;
    stage
        .cloud
        .inject(Fault::once(Rpc::Create, FaultOutcome::Late(500)));
    assert_eq!(stage.verdict(&create("Marked", "")), Verdict::Silence);
    // It was not observed in between.
    stage.now += SignedDuration::from_secs(10);
    assert!(matches!(stage.look("Marked", ""), ObserveResult::Found(_)));
}

#[test]
fn a_false_absence_is_served_once() {
    let mut stage = Fixture::new();
    stage.result(&create("Named", "one"));
    stage.cloud.inject(Fault::once(Rpc::Observe, FaultOutcome::Lie));
    assert!(matches!(stage.look("Named", "one"), ObserveResult::Absent(_)));
    assert!(matches!(stage.look("Named", "one"), ObserveResult::Found(_)));
}

#[test]
fn a_created_resource_may_become_visible_later() {
    let mut stage = Fixture::new();
    stage.cloud.profile.invisible = 60_000;
    stage.result(&create("Marked", ""));
    assert!(matches!(stage.look("Marked", ""), ObserveResult::Absent(_)));
    // Not later than the kind's consistency window.
    stage.pass(2);
    assert!(matches!(stage.look("Marked", ""), ObserveResult::Found(_)));
}

#[test]
fn a_kind_shown_at_its_end_is_absent_before_it() {
    let mut stage = Fixture::new();
    stage.result(&create("Cluster", ""));
    assert!(matches!(stage.look("Cluster", ""), ObserveResult::Absent(_)));
    assert!(matches!(
        stage.look("Cluster", "cloud-1"),
        ObserveResult::Absent(_)
    ));
    stage.pass(3);
    assert!(matches!(stage.look("Cluster", ""), ObserveResult::Found(_)));
}

#[test]
fn a_doomed_creation_leaves_nothing() {
    let mut stage = Fixture::new();
    stage.cloud.inject(Fault::once(Rpc::Create, FaultOutcome::Doom));
    let OutcomeResult::Operation(operation) = stage.result(&create("Job", "")) else {
        panic!("it is short");
    };
    stage.pass(3);
    let poll = Ask::Poll(Call {
        handle: operation.handle,
        ..call(Verb::Poll, target("Job", ""))
    });
    assert!(matches!(stage.result(&poll), OutcomeResult::Failure(_)));
    assert!(stage.cloud.objects.is_empty());
}

#[test]
fn a_foreign_resource_is_not_deleted() {
    let mut stage = Fixture::new();
    stage.cloud.foreign("Bucket", "one", "marker-2", stage.now);
    let delete = Ask::Delete(call(Verb::Delete, target("Bucket", "one")));
    assert!(matches!(stage.result(&delete), OutcomeResult::Failure(_)));
    assert_eq!(stage.cloud.objects.len(), 1);
}

#[test]
fn a_long_update_shows_when_it_has_ended() {
    let mut stage = Fixture::new();
    stage.result(&create("Table", "one"));
    stage.pass(3);
    let mut parameters = Document::new();
    parameters.insert("size".to_owned(), 2.into());
    let update = Ask::Update(Call {
        desired: DesiredState {
            parameters: parameters.clone(),
            ..DesiredState::default()
        },
        ..call(Verb::Update, target("Table", "one"))
    });
    stage.result(&update);
    stage.pass(1);
    assert!(stage.cloud.objects[0].parameters.is_empty());
    stage.pass(1);
    assert_eq!(stage.cloud.objects[0].parameters, parameters);
}
