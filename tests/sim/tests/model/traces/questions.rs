//! What people say, and when it counts.

use std::time::Duration;

use bridge_core::{
    external::{Effect, FailureCode, Verb},
    managed::{Question, names},
};

use crate::{
    fault_outcome::{CallOutcome, ObserveOutcome},
    kinds::{self, Pace},
    reference_model::{A, Model, config},
    script::Script,
};

/// A kind that nothing helps, with a create that nobody knows the end of.
fn unknown(fate: CallOutcome) -> Model {
    let mut model = Model::started(&kinds::nothing());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, fate));
    model
}

fn question(model: &Model) -> Option<Question> {
    model.object().managed.status.progress.question.clone()
}

#[test]
fn trace_30_the_question_is_asked_when_nothing_can_come_any_more() {
    let mut model = unknown(CallOutcome::Late);
    model.pass(A);
    model.advance(Duration::from_secs(8));
    model.pass(A);
    assert_eq!(question(&model), None);
    model.rest();
    assert!(model.flights.is_empty());
    let asked = question(&model).expect("a question");
    assert!(
        model
            .message()
            .contains(&format!("{}=absent/{}", names::CREATE_OUTCOME, asked.id))
    );
    assert!(model.message().contains(&format!("exists/{}/", asked.id)));
}

#[test]
fn trace_30_answers_to_other_questions_are_ignored() {
    let mut model = unknown(CallOutcome::LostAfter);
    model
        .etcd
        .annotate(names::CREATE_OUTCOME, Some("absent/question-0"));
    model.rest();
    let asked = question(&model).expect("a question");
    for word in ["absent", "absent/", "absent/other", "exists/other/cloud-1", "yes"] {
        model.etcd.annotate(names::CREATE_OUTCOME, Some(word));
        model.rest();
        assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown", "{word}");
        assert_eq!(
            question(&model).as_ref(),
            Some(&asked),
            "the question stays, whatever is said"
        );
        let message = model
            .etcd
            .object
            .as_ref()
            .expect("an object")
            .managed
            .condition("Synced");
        let message = message
            .map(|condition| condition.message.as_str())
            .unwrap_or_default();
        let told = format!("the annotation says {word:?}, which does not answer this question");
        assert!(message.ends_with(&told), "{message}");
    }
    let exists = format!("exists/{}/", asked.id);
    model.etcd.annotate(names::CREATE_OUTCOME, Some(&exists));
    model.rest();
    assert_eq!(
        model.value("Synced"),
        "False/CreateOutcomeUnknown",
        "a name is missing"
    );
    model
        .etcd
        .annotate(names::CREATE_OUTCOME, Some(&format!("{exists}cloud-1")));
    model.ends_ready();
    assert_eq!(model.calls("create"), 1);
}

#[test]
fn trace_30_a_used_answer_does_not_apply_to_the_next_create() {
    let mut model = unknown(CallOutcome::LostBefore);
    model.rest();
    let answer = format!("absent/{}", question(&model).expect("a question").id);
    model.etcd.annotate(names::CREATE_OUTCOME, Some(&answer));
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
    model.verify();
    // The old word stands there still, as GitOps would have it.
    assert_eq!(model.object().managed.annotation(names::CREATE_OUTCOME), answer);
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
    assert_eq!(model.calls("create"), 1, "the first one never arrived");
    assert_eq!(model.made().len(), 1);
}

#[test]
fn trace_30_a_used_answer_does_not_apply_to_a_repeat() {
    // The question is asked while the policy forbids to create; then it is as before, and the token is repeated, in vain.
    let mut model = Model::started(&kinds::token());
    let allow = |model: &mut Model, creates: bool| {
        model.etcd.edit(|object| object.managed.policies.create = creates);
    };
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostBefore));
    model.bridges[A].crash();
    allow(&mut model, false);
    model.rest();
    let answer = format!("absent/{}", question(&model).expect("a question").id);
    model.etcd.annotate(names::CREATE_OUTCOME, Some(&answer));
    allow(&mut model, true);
    model.stop_before(A, "create \"\" attempt 1");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
    model.bridges[A].crash();
    allow(&mut model, false);
    model.rest();
    model.verify();
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
    assert_eq!(model.made().len(), 1);
    assert_ne!(
        format!("absent/{}", question(&model).expect("a question").id),
        answer
    );
}

/// A person says that it exists under this name.
fn says_exists(model: &mut Model, name: &str) {
    let answer = format!("exists/{}/{name}", question(model).expect("a question").id);
    model.etcd.annotate(names::CREATE_OUTCOME, Some(&answer));
    model.rest();
    model.verify();
}

#[test]
fn trace_49_a_name_that_nobody_sees_is_not_taken() {
    let subject = kinds::nothing().named("cloud-[0-9]+", 10);
    let mut model = Model::started(&subject);
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
    let asked = question(&model);
    for (wrong, why) in [
        ("cloud-9", "nothing of the name \"cloud-9\" is seen"),
        ("Cloud 1!", "does not match"),
        ("xcloud-1", "does not match"),
        ("cloud-1234567", "is longer than 10 bytes"),
    ] {
        says_exists(&mut model, wrong);
        assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown", "{wrong}");
        assert!(model.message().contains(why), "{wrong}: {}", model.message());
        assert_eq!(question(&model), asked, "{wrong}: the question stays");
        assert_eq!(model.calls("create"), 1, "{wrong}");
        let writes = model.writes;
        for _ in 0..3 {
            model.advance(Duration::from_secs(61));
            model.pass(A);
        }
        assert_eq!(model.writes, writes, "{wrong}: it is said once");
    }
    says_exists(&mut model, "cloud-1");
    model.ends_ready();
    assert_eq!(model.calls("create"), 1);
}

#[test]
fn trace_49_a_wrong_name_does_not_wedge_the_deletion() {
    let mut model = Model::started(&kinds::nothing().named("cloud-[0-9]+", 0));
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
    model.etcd.delete(model.now);
    for wrong in ["cloud-9", "Cloud 1!"] {
        says_exists(&mut model, wrong);
        assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown", "{wrong}");
    }
    says_exists(&mut model, "cloud-1");
    model.ends_gone();
}

#[test]
fn trace_49_a_name_with_a_foreign_marker_is_not_taken() {
    let mut model = Model::started(&kinds::nothing().can(|can| can.holds_marker = true));
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
    let now = model.now;
    model
        .cloud
        .foreign("theirs", "m-other", &serde_json::Map::new(), now);
    says_exists(&mut model, "theirs");
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
    assert!(model.message().contains("theirs"), "{}", model.message());
    says_exists(&mut model, "cloud-1");
    model.ends_ready();
}

/// Whether the policy allows to create, and so to repeat a token.
fn allow_create(model: &mut Model, creates: bool) {
    model.etcd.edit(|object| object.managed.policies.create = creates);
}

#[test]
fn trace_57_a_name_is_taken_beside_a_reported_one() {
    // The first attempt hangs. The operation of the repeat reports a name and comes to nothing, which frees the token: the first one makes another.
    let subject = kinds::token()
        .paced(Pace::Long, Pace::AtOnce)
        .with(|manners| manners.frees_tokens = true);
    let mut model = Model::started(&subject);
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::Late));
    model.cloud.next_creation_fails = Some(Effect::None);
    model.cloud.work_takes = Duration::from_secs(5);
    model.stop_before(A, "poll");
    allow_create(&mut model, false);
    model.rest();
    let (reported, made) = (model.record().external_name, model.made()[0].name.clone());
    assert!(!reported.is_empty() && reported != made, "{reported:?} {made:?}");
    says_exists(&mut model, "cloud-99");
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
    let why = "nothing of the name \"cloud-99\" is seen";
    assert!(model.message().contains(why), "{}", model.message());
    says_exists(&mut model, &made);
    allow_create(&mut model, true);
    model.ends_ready();
    assert_eq!((model.record().external_name, model.tokens()), (made, 1));
}

#[test]
fn trace_57_a_wrong_name_hides_no_reported_one() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostBefore));
    model.stop_before(A, "create \"\" attempt 1");
    allow_create(&mut model, false);
    let partial = CallOutcome::DoneButFails(FailureCode::Internal, Effect::Partial);
    // It is asked after the first, and rests after the second.
    let unseen = Script::look(ObserveOutcome::Absent).and_look(ObserveOutcome::Absent);
    model.rest_after(unseen.and_on(Verb::Create, partial));
    let reported = model.record().external_name;
    let answer = format!("exists/{}/cloud-99", question(&model).expect("a question").id);
    model.etcd.annotate(names::CREATE_OUTCOME, Some(&answer));
    model.rest_after(Script::look(ObserveOutcome::Absent));
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
    model.advance(Duration::from_mins(1));
    model.rest();
    allow_create(&mut model, true);
    model.ends_ready();
    assert_eq!((model.record().external_name, model.tokens()), (reported, 1));
}

#[test]
fn a_question_survives_a_deletion_request_and_a_restart() {
    let mut model = unknown(CallOutcome::LostAfter);
    model.rest();
    let asked = question(&model);
    assert!(asked.is_some());
    model.etcd.delete(model.now);
    model.bridges[A].crash();
    model.rest();
    assert_eq!(question(&model), asked);
    assert_eq!(model.value("Ready"), "False/Deleting");
    let answer = format!("exists/{}/cloud-1", asked.expect("a question").id);
    model.etcd.annotate(names::CREATE_OUTCOME, Some(&answer));
    model.ends_gone();
}

#[test]
fn a_question_of_a_deletion_names_the_way_out_and_answers_a_wrong_one() {
    let mut model = unknown(CallOutcome::LostAfter);
    model.rest();
    assert!(!model.message().contains(names::ORPHAN), "{}", model.message());
    model.etcd.delete(model.now);
    model.rest();
    let way_out = format!("; or annotate {}=uid-1 to remove the object", names::ORPHAN);
    assert!(model.message().contains(&way_out), "{}", model.message());
    model.etcd.annotate(names::ORPHAN, Some("another-uid"));
    model.rest();
    let answer = "says \"another-uid\", which is not the uid of this object, uid-1";
    assert!(model.message().ends_with(answer), "{}", model.message());
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
    model.etcd.annotate(names::ORPHAN, Some("uid-1"));
    model.rest();
    assert!(model.etcd.object.is_none());
}

#[test]
fn a_true_answer_absent_leads_to_a_new_create() {
    let mut model = unknown(CallOutcome::LostBefore);
    model.rest();
    assert_eq!(model.value("Ready"), "False/Creating");
    let answer = format!("absent/{}", question(&model).expect("a question").id);
    model.etcd.annotate(names::CREATE_OUTCOME, Some(&answer));
    model.ends_ready();
    assert_eq!(question(&model), None);
    assert_eq!(model.tokens(), 2);
}

#[test]
fn a_reported_name_is_observed_without_asking_a_person() {
    // It failed in the middle, and told the name: a look settles it, also where nothing else would help.
    for subject in [kinds::nothing(), kinds::token()] {
        let mut model = Model::started(&subject);
        let partial =
            CallOutcome::DoneButFails(FailureCode::Internal, bridge_core::external::Effect::Partial);
        model.rest_after(Script::on(Verb::Create, partial));
        model.ends_ready();
        assert_eq!(model.calls("create"), 1, "{}", subject.name);
    }
}

#[test]
fn a_deleted_resource_of_a_token_is_recreated() {
    // The repeat is told that its work is gone: it was made, under this name.
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
    model.cloud.remove_by_hand(|_| true);
    model.ends_ready();
    assert_eq!(model.tokens(), 2);
    model.ends_gone();
}

#[test]
fn another_account_stops_recovery_until_it_is_put_back() {
    for subject in [kinds::named(), kinds::token(), kinds::marked(), kinds::nothing()] {
        let mut model = Model::started(&subject);
        model.stop_before(A, "create");
        model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
        model.config = Ok(config("account-2"));
        model.bridges[A].crash();
        model.rest();
        assert_eq!(
            model.value("Synced"),
            "False/ConfigIdentityChanged",
            "{}",
            subject.name
        );
        assert_eq!(model.calls("create"), 1);
        model.config = Ok(config("account-1"));
        model.rest();
        model.verify();
        assert_ne!(
            model.value("Synced"),
            "False/ConfigIdentityChanged",
            "{}",
            subject.name
        );
    }
}

#[test]
fn an_absence_of_a_former_resource_says_nothing_of_the_next() {
    let mut model = Model::at_rest(&kinds::nothing());
    model.cloud.remove_by_hand(|_| true);
    model.advance(Duration::from_mins(2));
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
    let asked = question(&model).expect("a question");
    let name = model.made()[0].name.clone();
    let answer = format!("exists/{}/{name}", asked.id);
    model.etcd.annotate(names::CREATE_OUTCOME, Some(&answer));
    // The first look at it does not see it.
    model.rest_after(Script::look(ObserveOutcome::Absent));
    model.ends_ready();
    assert_eq!(model.calls("create"), 2);
}
