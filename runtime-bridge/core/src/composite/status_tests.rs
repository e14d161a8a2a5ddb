use super::*;
use crate::{
    composite::{Action, decide, sample},
    definition::Scope,
    managed::Decision,
};

fn snapshot(status: &Value) -> Snapshot {
    sample::snapshot(Scope::Namespaced, &json!({}), status)
}

fn condition(type_: &str, status: ConditionStatus, target: ResultTarget) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status,
        reason: "Because".to_owned(),
        message: Some("of this".to_owned()),
        target,
    }
}

/// Of a run that set these, all of them True.
fn set(types: &[&str]) -> Report {
    let conditions = types.iter();
    let conditions = conditions.map(|type_| condition(type_, ConditionStatus::True, ResultTarget::Composite));
    Report {
        conditions: Some(conditions.collect()),
        ..Report::default()
    }
}

/// Functions set these before.
fn memory(types: &[&str]) -> CompositeMemory {
    CompositeMemory {
        function_conditions: types.iter().map(|one| (*one).to_owned()).collect(),
        ..CompositeMemory::default()
    }
}

fn stored(type_: &str, value: &str) -> Value {
    json!({
        "type": type_, "status": value, "reason": "Before", "message": "",
        "lastTransitionTime": "2025-01-01T00:00:00Z",
    })
}

/// Type and status of each, in their order; those of the circuit aside, which are always there.
fn types(status: &Value) -> Vec<(String, String)> {
    let conditions = status["conditions"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    conditions
        .map(|one| (text(&one["type"]), text(&one["status"])))
        .filter(|(type_, _)| type_ != RESPONSIVE)
        .collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    let all = all.iter();
    all.map(|(type_, value)| ((*type_).to_owned(), (*value).to_owned()))
        .collect()
}

mod conditions {
    use super::*;

    #[test]
    fn those_of_others_survive() {
        let theirs = stored("Audited", "False");
        let snapshot = snapshot(&json!({"conditions": [theirs], "theirs": 1}));
        let status = set(&["Sized"]).status(&snapshot, &memory(&["Sized"]));
        assert_eq!(types(&status), pairs(&[("Audited", "False"), ("Sized", "True")]));
        let kept = stored_conditions(&status);
        assert_eq!((&kept["Audited"], &status["theirs"]), (&theirs, &json!(1)));
    }

    #[test]
    fn one_that_functions_no_longer_set_goes() {
        let snapshot = snapshot(&json!({"conditions": [stored("Old", "True"), stored("Sized", "True")]}));
        let status = set(&["Sized"]).status(&snapshot, &memory(&["Old", "Sized"]));
        assert_eq!(types(&status), pairs(&[("Sized", "True")]));
        // What no run has been asked for stays as it was.
        let status = Report::default().status(&snapshot, &memory(&["Old", "Sized"]));
        assert_eq!(types(&status), pairs(&[("Old", "True"), ("Sized", "True")]));
    }

    #[test]
    fn after_a_fatal_end_those_that_were_not_set_are_unknown() {
        let snapshot = snapshot(&json!({"conditions": [stored("Old", "True"), stored("Audited", "True")]}));
        let report = Report {
            fatal: true,
            ..set(&["Sized"])
        };
        let status = report.status(&snapshot, &memory(&["Old"]));
        let expected = [("Audited", "True"), ("Old", "Unknown"), ("Sized", "True")];
        assert_eq!(types(&status), pairs(&expected));
        let old = &stored_conditions(&status)["Old"];
        assert_eq!(
            (&old["reason"], &old["message"]),
            (
                &json!("FatalError"),
                &json!("A fatal error occurred before the status of this condition could be determined.")
            )
        );
        // The next run that ends well may still take it off.
        let types = report.function_conditions(&memory(&["Old"])).unwrap();
        assert_eq!(types, ["Old".to_owned(), "Sized".to_owned()].into());
    }

    /// After a restart, where the first run writes nothing.
    #[test]
    fn what_a_run_sets_and_the_status_says_is_known_for_the_functions() {
        let said = |type_: &str, reason: &str| {
            let mut condition = stored(type_, "True");
            (condition["reason"], condition["message"]) = (reason.into(), "of this".into());
            condition
        };
        let status = json!({
            "conditions": [said("Old", "Because"), said("Sized", "Because"), said("Theirs", "Before")],
            "theirs": 1, "size": {"now": 1, "then": 2},
        });
        let ended = |set: &[&str], desired: Value| {
            let mut snapshot = snapshot(&status);
            let mut outcome = sample::outcome();
            outcome.conditions = super::set(set).conditions.unwrap();
            if let Ok(all) = &mut outcome.result {
                all.composite = Some(crate::function::Resource::of(json!({"status": desired})));
            }
            sample::end_run(&mut snapshot, outcome);
            snapshot
        };
        let mut memory = CompositeMemory::default();
        // What is not stored yet is known when it is written, and may be another's until then.
        let before = ended(&["Sized", "Theirs", "New"], json!({"size": {"now": 3}}));
        memory.learn_status(&before);
        assert_eq!(memory, super::memory(&["Sized"]));
        let conditions = json!([stored("Ready", "True")]);
        let first = ended(&["Sized"], json!({"size": {"now": 1}, "conditions": conditions}));
        memory.learn_status(&first);
        let report = |set: &[&str], fatal| Report {
            fatal,
            desired: Some(json!({})),
            ..super::set(set)
        };
        let taken_off = report(&[], false).status(&first, &memory);
        assert_eq!(types(&taken_off), pairs(&[("Old", "True"), ("Theirs", "True")]));
        assert_eq!(
            (&taken_off["size"], &taken_off["theirs"]),
            (&json!({"then": 2}), &json!(1))
        );
        let unknown = report(&[], true).status(&first, &memory);
        let expected = [("Old", "True"), ("Sized", "Unknown"), ("Theirs", "True")];
        assert_eq!(types(&unknown), pairs(&expected));
        // What was desired then is taken off before that is forgotten.
        memory.learn_status(&ended(&[], json!({"theirs": 1})));
        assert_eq!(memory.desired_status, Some(json!({"size": {"now": 1}})));
    }

    #[test]
    fn recalled_ones_are_all_that_functions_may_set() {
        let status = json!({"conditions": [stored("Ready", "True"), stored("Old", "True"), stored("Healthy", "True")]});
        let mut recalled = CompositeMemory::default();
        recalled.recall_conditions(&status);
        assert_eq!(recalled, memory(&["Old"]));
    }

    #[test]
    fn ours_come_first_and_the_rest_by_type() {
        let report = Report {
            synced: Some(ConditionReport::yes(ConditionReason::ReconcileSuccess)),
            ready: Some(ConditionReport::no(
                ConditionReason::Creating,
                "Unready resources: a",
            )),
            ..set(&["Zoned", "Aged"])
        };
        let snapshot = snapshot(&json!({"conditions": [stored("Middle", "True")]}));
        let status = report.status(&snapshot, &memory(&[]));
        let order: Vec<&str> = status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["type"].as_str().unwrap())
            .collect();
        assert_eq!(
            order,
            ["Responsive", "Synced", "Ready", "Aged", "Middle", "Zoned"]
        );
    }

    #[test]
    fn functions_cannot_set_those_of_the_bridge() {
        let report = set(&["Ready", "Synced", "Responsive", "Healthy", "UpToDate", "Sized"]);
        let status = report.status(&snapshot(&json!({})), &memory(&[]));
        assert_eq!(types(&status), pairs(&[("Sized", "True")]));
    }

    #[test]
    fn one_keeps_its_time_while_it_keeps_its_value() {
        let snapshot = snapshot(&json!({"conditions": [stored("Same", "True"), stored("Turned", "False")]}));
        let status = set(&["Same", "Turned"]).status(&snapshot, &memory(&["Same", "Turned"]));
        let conditions = stored_conditions(&status);
        assert_eq!(conditions["Same"]["lastTransitionTime"], "2025-01-01T00:00:00Z");
        assert_eq!(conditions["Turned"]["lastTransitionTime"], "2026-01-01T00:00:00Z");
        // Those of functions speak of no generation.
        assert_eq!(conditions["Same"]["observedGeneration"], Value::Null);
        assert_eq!(conditions[RESPONSIVE]["observedGeneration"], 3);
    }
}

mod fields {
    use super::*;

    fn desired(desired: Value) -> Report {
        Report {
            desired: Some(desired),
            ..Report::default()
        }
    }

    #[test]
    fn what_was_desired_and_is_no_more_goes_and_the_rest_stays() {
        let snapshot = snapshot(&json!({"size": {"now": 1, "then": 2}, "theirs": 3}));
        let memory = CompositeMemory {
            desired_status: Some(json!({"size": {"now": 1, "then": 2}})),
            ..CompositeMemory::default()
        };
        let status = desired(json!({"size": {"now": 4}})).status(&snapshot, &memory);
        assert_eq!(
            (&status["size"], &status["theirs"]),
            (&json!({"now": 4}), &json!(3))
        );
        let status = desired(json!({})).status(&snapshot, &memory);
        assert_eq!((&status["size"], &status["theirs"]), (&Value::Null, &json!(3)));
    }

    #[test]
    fn conditions_are_none_that_functions_could_desire_as_fields() {
        let report = desired(json!({"conditions": [stored("Ready", "True")], "size": 1}));
        let status = report.status(&snapshot(&json!({})), &memory(&[]));
        assert_eq!((types(&status), &status["size"]), (Vec::new(), &json!(1)));
    }

    #[test]
    fn types_for_the_claim_are_added_and_stay() {
        let status = json!({"claimConditionTypes": ["Old"]});
        let for_claim = Report {
            conditions: Some(vec![
                condition("Old", ConditionStatus::True, ResultTarget::CompositeAndClaim),
                condition("Sized", ConditionStatus::True, ResultTarget::CompositeAndClaim),
                condition("Inner", ConditionStatus::True, ResultTarget::Composite),
                condition("Ready", ConditionStatus::True, ResultTarget::CompositeAndClaim),
            ]),
            ..Report::default()
        };
        let legacy = sample::snapshot(Scope::LegacyCluster, &json!({}), &status);
        let types = &for_claim.status(&legacy, &memory(&[]))["claimConditionTypes"];
        assert_eq!(types, &json!(["Old", "Sized"]));
        let types = &set(&[]).status(&legacy, &memory(&[]))["claimConditionTypes"];
        assert_eq!(types, &json!(["Old"]));
        // No other composite resource has a claim.
        let types = &for_claim.status(&snapshot(&json!({})), &memory(&[]))["claimConditionTypes"];
        assert_eq!(types, &Value::Null);
    }

    /// Names of types, in the order of their numbers.
    fn numbered(numbers: std::ops::Range<usize>) -> Vec<String> {
        numbers.map(|number| format!("Type{number:03}")).collect()
    }

    /// What a run that sets these for the claim makes of a legacy composite resource's status.
    fn set_for_claim(types: &[String], status: &Value) -> Value {
        let conditions = types.iter();
        let conditions =
            conditions.map(|type_| condition(type_, ConditionStatus::True, ResultTarget::CompositeAndClaim));
        let report = Report {
            conditions: Some(conditions.collect()),
            ..Report::default()
        };
        let legacy = sample::snapshot(Scope::LegacyCluster, &json!({}), status);
        report.status(&legacy, &memory(&[]))
    }

    #[test]
    fn of_more_than_100_types_for_the_claim_the_oldest_go() {
        let status = set_for_claim(
            &numbered(99..100),
            &json!({"claimConditionTypes": numbered(0..99)}),
        );
        assert_eq!(status["claimConditionTypes"], json!(numbered(0..100)));
        let full = json!({"claimConditionTypes": numbered(0..100)});
        let status = set_for_claim(&numbered(100..102), &full);
        assert_eq!(status["claimConditionTypes"], json!(numbered(2..102)));
        // Those stay of which there is a condition: set by this run, or left by another.
        let mut left = full;
        left["conditions"] = json!([stored("Type002", "True")]);
        let status = set_for_claim(&[numbered(0..1), numbered(100..102)].concat(), &left);
        let expected = [numbered(0..1), numbered(2..3), numbered(4..102)].concat();
        assert_eq!(status["claimConditionTypes"], json!(expected));
    }

    #[test]
    fn of_more_than_100_types_set_at_once_the_same_ones_stay() {
        let set = numbered(0..150);
        let once = set_for_claim(&set, &json!({"claimConditionTypes": ["Old"]}));
        assert_eq!(once["claimConditionTypes"], json!(numbered(0..100)));
        assert!(!differs(&set_for_claim(&set, &once), &once));
    }
}

mod writes {
    use super::*;

    fn to_write_of(snapshot: &Snapshot, memory: &CompositeMemory, report: &Report) -> Option<Value> {
        to_write(&Facts::new(snapshot, memory), report)
    }

    #[test]
    fn a_status_that_is_stored_is_not_written_again() {
        let report = set(&["Sized"]);
        let new = to_write_of(&snapshot(&json!({})), &memory(&[]), &report).expect("it is new");
        assert_eq!(to_write_of(&snapshot(&new), &memory(&["Sized"]), &report), None);
    }

    #[test]
    fn neither_order_nor_an_absent_message_is_a_difference() {
        let stored = |message: Value| {
            let mut one = stored("B", "True");
            one["message"] = message;
            one
        };
        let mut absent = stored(json!(""));
        absent.as_object_mut().unwrap().remove("message");
        let first = json!({"conditions": [super::stored("A", "True"), stored(json!(""))]});
        let second = json!({"conditions": [absent, super::stored("A", "True")]});
        assert!(!differs(&first, &second));
        let other = json!({"conditions": [super::stored("A", "True"), stored(json!("news"))]});
        assert!(differs(&first, &other));
    }

    #[test]
    fn what_the_api_server_made_of_a_status_is_not_written_again() {
        let report = Report {
            desired: Some(json!({"size": 1, "pruned": 2})),
            ..Report::default()
        };
        let sent = to_write_of(&snapshot(&json!({})), &memory(&[]), &report).unwrap();
        let mut kept = sent.clone();
        kept.as_object_mut().unwrap().remove("pruned");
        let echoed = CompositeMemory {
            status_echo: Some(Box::new((sent, kept.clone()))),
            ..CompositeMemory::default()
        };
        assert_eq!(to_write_of(&snapshot(&kept), &echoed, &report), None);
        // Another actor has changed it since.
        let mut changed = kept;
        changed["size"] = 3.into();
        assert!(to_write_of(&snapshot(&changed), &echoed, &report).is_some());
    }
}

#[test]
fn a_paused_composite_says_so_once_and_nothing_else() {
    let paused = |status: &Value| {
        let mut snapshot = sample::snapshot(
            Scope::Namespaced,
            &json!({"crossplane.io/paused": "true"}),
            status,
        );
        snapshot.xr.object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        snapshot
    };
    let memory = CompositeMemory::default();
    let before = json!({"conditions": [stored("Ready", "True"), stored("Sized", "True")]});
    let Decision::Act(Action::WriteStatus(write)) = decide(&paused(&before), &memory) else {
        panic!("it does not say so");
    };
    let expected = [("Synced", "False"), ("Ready", "True"), ("Sized", "True")];
    assert_eq!(types(&write.status), pairs(&expected));
    let synced = &stored_conditions(&write.status)[SYNCED];
    assert_eq!(synced["reason"], "ReconcilePaused");
    assert_eq!(
        synced["message"],
        "Reconciliation (including deletion) is paused via the pause annotation"
    );
    let Decision::Rest(rest) = decide(&paused(&write.status), &memory) else {
        panic!("it says so again");
    };
    assert_eq!(rest.wake, None);
}
