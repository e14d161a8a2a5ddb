//! Credentials that come to mean another account.

use std::time::Duration;

use bridge_core::{
    external::{Config, Verb},
    managed::{Policies, Problem, names},
};
use serde_json::{Map, Value, json};

use crate::{
    fault_outcome::CallOutcome,
    kinds::{self, Pace, Subject},
    reference_model::{A, Model, config},
    script::Script,
};

/// It is made and at rest; somebody else has its name in another account, and the config comes to mean that one.
fn moved(subject: &Subject, marker: &str) -> Model {
    let mut model = Model::at_rest(subject);
    let theirs: Map<String, Value> = json!({"size": 5, "fixed": "a"})
        .as_object()
        .cloned()
        .unwrap_or_default();
    let name = model.made()[0].name.clone();
    model
        .cloud
        .foreign_in("account-2", &name, marker, &theirs, model.now);
    model.config = Ok(config("account-2"));
    model
}

/// Nothing was sent to what is theirs, and ours is where it was.
fn untouched(model: &Model, subject: &Subject) {
    model.verify();
    let name = subject.name;
    assert_eq!((model.calls("update"), model.calls("delete")), (0, 0), "{name}");
    let theirs = model.cloud.objects.iter().find(|one| one.made_for.is_empty());
    assert_eq!(theirs.expect("theirs is there").parameters["size"], 5, "{name}");
    assert_eq!(model.made().len(), 1, "{name}");
    assert_eq!(model.record().config.identity, "account-1", "{name}");
}

fn known_names() -> [Subject; 4] {
    [kinds::named(), kinds::bucket(), kinds::queue(), kinds::table()]
}

#[test]
fn trace_34_details_of_another_account_are_not_published() {
    let mut model = moved(&kinds::named(), "");
    model
        .etcd
        .edit(|object| object.managed.wants_connection_secret = true);
    // Nothing is remembered of ours.
    model.bridges[A].crash();
    model.secret.0.clear();
    model.rest();
    assert_eq!(model.value("Synced"), "False/ConfigIdentityChanged");
    assert!(model.secret.0.is_empty());
    // Nor while nobody can tell what the config means.
    model.config = Err(Problem {
        reason: "SecretNotFound".to_owned(),
        message: "the Secret is not there".to_owned(),
    });
    model.rest();
    assert!(model.secret.0.is_empty(), "{}", model.log.join("\n"));
    model.config = Ok(config("account-1"));
    model.ends_ready();
    assert!(!model.secret.0.is_empty());
}

#[test]
fn trace_34_a_name_in_another_account_is_not_updated() {
    for subject in known_names() {
        for marker in ["", "m-other"] {
            let mut model = moved(&subject, marker);
            model.edit("size", json!(7));
            model.rest();
            assert_eq!(
                model.value("Synced"),
                "False/ConfigIdentityChanged",
                "{}",
                subject.name
            );
            untouched(&model, &subject);
            model.config = Ok(config("account-1"));
            model.ends_ready();
            model.ends_gone();
        }
    }
}

#[test]
fn trace_34_a_name_in_another_account_is_not_deleted() {
    for subject in known_names() {
        for marker in ["", "m-other"] {
            let mut model = moved(&subject, marker);
            model.etcd.delete(model.now);
            model.rest();
            assert!(model.etcd.object.is_some(), "{}: ours is left", subject.name);
            assert_eq!(model.value("Synced"), "False/ConfigIdentityChanged");
            let uid = model.object().managed.uid.clone();
            assert!(model.message().contains(&format!("{}={uid}", names::ORPHAN)));
            untouched(&model, &subject);
            model.config = Ok(config("account-1"));
            model.ends_gone();
        }
    }
}

#[test]
fn trace_34_operations_are_not_polled_in_another_account() {
    // What the other account says of a handle of ours says nothing of ours.
    let subject = kinds::nothing().paced(Pace::Long, Pace::Long);
    let mut model = Model::started(&subject);
    model.stop_before(A, "poll");
    model.config = Ok(config("account-2"));
    model.bridges[A].crash();
    model.rest();
    assert_eq!(model.value("Synced"), "False/ConfigIdentityChanged");
    assert_eq!(model.calls("poll"), 0);
    model.config = Ok(config("account-1"));
    model.ends_ready();
    assert_eq!(model.calls("create"), 1);
}

#[test]
fn trace_34_a_running_update_does_not_hide_the_stop() {
    for subject in [kinds::named(), kinds::table(), kinds::nothing()] {
        let subject = subject.with(|manners| manners.update = Pace::Long);
        let mut model = Model::at_rest(&subject);
        model.edit("size", json!(7));
        model.stop_before(A, "poll");
        let polls = model.calls("poll");
        model.config = Ok(config("account-2"));
        for crash in [false, true] {
            if crash {
                model.bridges[A].crash();
            } else {
                model.bridges[A].phase = crate::bridge::Phase::Resting(None);
            }
            model.rest();
            model.verify();
            assert_eq!(
                model.value("Synced"),
                "False/ConfigIdentityChanged",
                "{}",
                subject.name
            );
            assert_eq!(model.calls("poll"), polls);
        }
        model.config = Ok(config("account-1"));
        model.ends_ready();
    }
}

#[test]
fn what_bears_our_marker_is_ours_whatever_the_account_is_called() {
    // A plugin may come to tell the account in other words.
    let mut model = Model::at_rest(&kinds::table());
    for one in &mut model.cloud.objects {
        one.account = "account-2".to_owned();
    }
    model.config = Ok(config("account-2"));
    model.ends_ready();
    assert_eq!(model.record().config.identity, "account-2");
    model.ends_gone();
}

#[test]
fn a_newly_reported_identity_is_recorded() {
    let mut model = Model::new(&kinds::named());
    model.config = Ok(config(""));
    model.create();
    model.rest();
    assert_eq!(model.record().config.identity, "");
    for one in &mut model.cloud.objects {
        one.account = "account-1".to_owned();
    }
    model.config = Ok(config("account-1"));
    model.ends_ready();
    assert_eq!(model.record().config.identity, "account-1");
    // One that is not told any more parts nobody, and is not forgotten.
    for one in &mut model.cloud.objects {
        one.account.clear();
    }
    model.config = Ok(config(""));
    model.ends_ready();
    assert_eq!(model.record().config.identity, "account-1");
}

#[test]
fn an_object_that_has_nothing_yet_is_made_where_the_config_says() {
    let mut model = Model::started(&kinds::named());
    let refused = CallOutcome::Fails(
        bridge_core::external::FailureCode::Unavailable,
        bridge_core::external::Effect::None,
    );
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, refused));
    model
        .etcd
        .edit(|object| object.managed.policies = Policies::of(&json!({})));
    model.config = Ok(config("account-2"));
    model.ends_ready();
    assert_eq!(model.made()[0].account, "account-2");
}

/// Another `ProviderConfig`, or one that was made anew, for the same account.
fn another_config() -> Config {
    Config {
        id: "config-2".to_owned(),
        ..config("account-1")
    }
}

#[test]
fn another_config_of_the_same_account_denotes_the_same_location() {
    for subject in [kinds::named(), kinds::token(), kinds::marked()] {
        let mut model = Model::at_rest(&subject);
        model.config = Ok(another_config());
        model.cloud.remove_by_hand(|_| true);
        model.advance(Duration::from_mins(2));
        model.ends_ready();
        assert_eq!(model.calls("create"), 2, "{}", subject.name);
        assert_eq!(model.record().config.id, "config-2");
        model.ends_gone();
    }
}

#[test]
fn an_unanswered_create_is_observed_by_a_config_of_the_same_account() {
    for subject in [kinds::named(), kinds::marked(), kinds::token()] {
        let mut model = Model::started(&subject);
        model.stop_before(A, "create");
        model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
        model.config = Ok(another_config());
        model.bridges[A].crash();
        model.rest();
        assert_eq!(
            model.calls("create"),
            1,
            "{}: a token is another's there",
            subject.name
        );
        let can_look = subject.name != "token";
        let asks = model.value("Synced") == "False/CreateOutcomeUnknown";
        assert_eq!(can_look, !asks, "{}", subject.name);
        if can_look {
            model.ends_ready();
            model.ends_gone();
        }
    }
}

#[test]
fn a_deletion_waiting_for_an_account_names_the_orphan_annotation() {
    // Confirmed, or not even answered.
    for fate in [CallOutcome::Answered, CallOutcome::LostAfter] {
        let mut model = Model::started(&kinds::token());
        model.stop_before(A, "create");
        model.step(A, &mut Script::on(Verb::Create, fate));
        if fate == CallOutcome::Answered {
            model.rest();
        }
        model.config = Ok(config("account-2"));
        model.etcd.delete(model.now);
        model.bridges[A].crash();
        model.rest();
        assert_eq!(model.value("Synced"), "False/ConfigIdentityChanged");
        let uid = model.object().managed.uid.clone();
        assert!(
            model.message().ends_with(&format!(
                "annotate {}={uid} to remove the object without deleting the external resource",
                names::ORPHAN
            )),
            "{}",
            model.message()
        );
        model.etcd.annotate(names::ORPHAN, Some(&uid));
        model.rest();
        assert!(model.etcd.object.is_none());
    }
}
