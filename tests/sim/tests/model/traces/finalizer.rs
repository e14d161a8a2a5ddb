//! What is let go, replaced, or finished by another one: no Delete that is on its way hits what comes after.

use std::time::Duration;

use bridge_core::{external::Verb, managed::names};
use serde_json::json;

use super::delete::grow_old;
use crate::{
    bridge::Stage,
    fault_outcome::{CallOutcome, ObserveOutcome},
    kinds::{self, Pace},
    reference_model::{A, B, Model},
    script::Script,
};

#[test]
fn trace_38_an_orphan_goes_only_when_no_delete_can_execute() {
    // Found by reading: whoever takes back a deletion made by mistake lost the resource after all, under the object made anew.
    for subject in kinds::families() {
        let subject = subject.paced(Pace::AtOnce, Pace::AtOnce);
        let mut model = Model::at_rest(&subject);
        grow_old(&mut model);
        model.etcd.delete(model.now);
        model.stop_before(A, "delete");
        model.step(A, &mut Script::on(Verb::Delete, CallOutcome::CrashLate));
        let uid = model.object().managed.uid.clone();
        model.etcd.annotate(names::ORPHAN, Some(&uid));
        model.pass(A);
        assert_eq!(
            model.value("Ready"),
            "False/Deleting",
            "{} stays until then",
            subject.name
        );
        model.rest();
        assert!(model.etcd.object.is_none(), "{}", subject.name);
        let left = model.made().len();
        model.advance(Duration::from_mins(1));
        assert_eq!(model.made().len(), left, "{}: what is let go stays", subject.name);
    }
}

#[test]
fn trace_38_an_orphan_without_a_delete_is_released_at_once() {
    for subject in kinds::families() {
        let mut model = Model::at_rest(&subject);
        grow_old(&mut model);
        let uid = model.object().managed.uid.clone();
        model.etcd.annotate(names::ORPHAN, Some(&uid));
        model.etcd.delete(model.now);
        model.pass(A);
        assert!(model.etcd.object.is_none(), "{}", subject.name);
    }
}

#[test]
fn trace_43_a_late_delete_does_not_hit_the_replacement() {
    // Found by reading: the marker of the replacement is that of the same object.
    for subject in kinds::families() {
        let subject = subject.paced(Pace::AtOnce, Pace::AtOnce);
        let mut model = Model::at_rest(&subject);
        grow_old(&mut model);
        model.edit("fixed", json!("b"));
        model.rest();
        model.approve("2");
        model.stop_before(A, "delete");
        model.step(A, &mut Script::on(Verb::Delete, CallOutcome::CrashLate));
        model.rest();
        model.advance(Duration::from_mins(1));
        model.ends_ready();
        assert_eq!(model.calls("create"), 2, "{}", subject.name);
    }
}

#[test]
fn trace_39_memory_of_a_former_lease_term_is_dropped() {
    // Found by reading: A has sent the Delete of a replacement, B finishes it and makes the next one, A leads again and is asked to delete. Kinds
    // that are named upstream record no Delete, which would end what A remembers of one.
    for subject in [kinds::named(), kinds::token()] {
        let mut model = Model::at_rest(&subject);
        model.edit("fixed", json!("b"));
        model.rest();
        model.approve("2");
        model.stop_before(A, "delete");
        model.step(A, &mut Script::default());
        while model.calls("delete") == 0 || !matches!(model.bridges[A].stage(), Stage::Deciding) {
            model.step(A, &mut Script::default());
        }
        model.lead(B);
        model.ends_ready();
        model.advance(Duration::from_mins(5));
        model.lead(A);
        model.etcd.delete(model.now);
        model.rest_after(Script::look(ObserveOutcome::Absent));
        model.ends_gone();
        assert_eq!(model.calls("delete"), 2, "{}", subject.name);
    }
}

#[test]
fn trace_42_the_finalizer_goes_only_upon_the_version_that_was_decided_upon() {
    // Found by reading: A decides to let go and is stopped; B, which knows of no answer, deletes once more; A wakes while that is under way.
    let mut model = Model::at_rest(&kinds::named());
    grow_old(&mut model);
    model.etcd.delete(model.now);
    model.stop_before(A, "remove the finalizer");
    model.lead(B);
    model.stop_before(B, "delete");
    model.step(B, &mut Script::on(Verb::Delete, CallOutcome::Late));
    // It asked for its lease right before it lost it.
    model.bridges[A].leads = true;
    model.step(A, &mut Script::default());
    model.bridges[A].leads = false;
    assert!(model.etcd.object.is_some(), "B has recorded another Delete");
    model.rest();
    assert!(model.etcd.object.is_none());
    model.create();
    model.rest();
    model.advance(Duration::from_mins(1));
    model.ends_ready();
}
