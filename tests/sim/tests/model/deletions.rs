//! A deletion that does not go on says so, names the way out, and answers whoever takes a wrong one.

use std::time::Duration;

use bridge_core::{
    external::{Effect, FailureCode, Verb},
    managed::{Problem, Suspension, names},
};

use crate::{
    fault_outcome::CallOutcome,
    kinds,
    reference_model::{A, Model},
    script::Script,
};

/// What is answered to an annotation that lets another object go.
const WRONG_UID: &str = "; the annotation crossbridge.dev/orphan says \"another-uid\", which is not the uid of this object, uid-1";

fn problem(reason: &str) -> Problem {
    Problem {
        reason: reason.to_owned(),
        message: "something is in the way".to_owned(),
    }
}

#[test]
fn a_deletion_whose_credentials_went_first_names_the_way_out() {
    let mut model = Model::at_rest(&kinds::named());
    model.config = Err(problem("SecretNotFound"));
    model.etcd.delete(model.now);
    model.rest();
    assert_eq!(model.value("Synced"), "False/SecretNotFound");
    let way_out = format!("; or annotate {}=uid-1 to remove the object", names::ORPHAN);
    assert!(model.message().contains(&way_out), "{}", model.message());
    model.etcd.annotate(names::ORPHAN, Some("another-uid"));
    model.rest();
    assert!(model.message().contains(&way_out), "{}", model.message());
    assert!(model.message().ends_with(WRONG_UID), "{}", model.message());
    assert!(model.etcd.object.is_some());
    model.etcd.annotate(names::ORPHAN, Some("uid-1"));
    model.rest();
    assert!(model.etcd.object.is_none());
    assert_eq!((model.cloud.objects.len(), model.calls("delete")), (1, 0));
}

#[test]
fn a_wrong_uid_is_answered_while_the_delete_keeps_failing() {
    for code in [
        FailureCode::PermissionDenied,
        FailureCode::InvalidSpec,
        FailureCode::DependencyNotReady,
    ] {
        let mut model = Model::at_rest(&kinds::named());
        model.etcd.delete(model.now);
        let failure = CallOutcome::Fails(code, Effect::None);
        model.pass_with(A, &mut Script::on(Verb::Delete, failure));
        let before = model.message();
        assert!(before.starts_with("delete failed: "), "{before}");
        assert!(!before.contains(names::ORPHAN), "{before}");

        model.etcd.annotate(names::ORPHAN, Some("another-uid"));
        model.pass_with(A, &mut Script::on(Verb::Delete, failure));
        assert_eq!(model.message(), format!("{before}{WRONG_UID}"));
        assert!(model.etcd.object.is_some());

        model.etcd.annotate(names::ORPHAN, Some("uid-1"));
        model.rest();
        assert!(model.etcd.object.is_none(), "{code:?}");
        assert_eq!(model.cloud.objects.len(), 1);
    }
}

#[test]
fn a_wrong_uid_is_answered_while_calls_are_suspended() {
    let mut model = Model::at_rest(&kinds::named());
    model.suspension = Some(Suspension {
        until: model.now + Duration::from_hours(1),
        problem: problem("Throttled"),
    });
    model.etcd.delete(model.now);
    model.pass(A);
    model.etcd.annotate(names::ORPHAN, Some("another-uid"));
    model.pass(A);
    assert!(model.message().ends_with(WRONG_UID), "{}", model.message());
    let writes = model.writes;
    model.pass(A);
    assert_eq!(model.writes, writes, "once");
}

#[test]
fn a_deletion_that_takes_too_long_says_so() {
    let mut model = Model::at_rest(&kinds::named());
    model.cloud.keeps_what_is_deleted = true;
    model.etcd.delete(model.now);
    let until = model.now + Duration::from_mins(11);
    while model.now < until {
        model.pass(A);
        model.advance(Duration::from_secs(10));
    }
    assert!(model.message().contains("overdue"), "{}", model.message());
    assert!(
        (10..30).contains(&model.calls("delete")),
        "each 30 s: {}",
        model.calls("delete")
    );
    model.cloud.keeps_what_is_deleted = false;
    model.ends_gone();
}
