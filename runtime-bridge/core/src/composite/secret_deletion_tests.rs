//! The end of a connection Secret.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Action, ChoiceProblem, Composite, CompositeMemory, InUse, ObjectState, Performed, RunState, Settings,
    Snapshot, decide, results::record,
};
use crate::{
    claim::names::CLAIM_UID,
    definition::Scope,
    driver::{Follow, Leadership, Moment},
    managed::Decision,
    reasons::CompositeEvent,
};

const REFUSED: &str = "cannot delete connection Secret team/db: forbidden";

fn at(second: u32) -> Timestamp {
    format!("2026-01-01T01:00:{second:02}Z").parse().unwrap()
}

/// A composite resource that is being deleted, of which its connection Secret alone is left.
fn snapshot(release: &str, second: u32) -> Snapshot {
    let xr = json!({
        "apiVersion": "shop.example.org/v1", "kind": "XShop",
        "metadata": {
            "name": "shop", "uid": "uid-xr", "resourceVersion": "2", "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T00:59:00Z",
            "finalizers": [super::names::FINALIZER],
            "annotations": {CLAIM_UID: "uid-claim", super::names::RELEASE: release},
        },
        "spec": {"writeConnectionSecretToRef": {"namespace": "team", "name": "db"}},
        "status": {"conditions": [
            {"type": "Ready", "status": "False", "reason": "Deleting", "observedGeneration": 1},
        ]},
    });
    Snapshot {
        xr: Composite::parse(xr, Scope::LegacyCluster),
        choice: Err(ChoiceProblem {
            event: CompositeEvent::SelectComposition,
            message: String::new(),
            may_pass: false,
        }),
        seen: BTreeMap::new(),
        strays: Vec::new(),
        required: BTreeMap::new(),
        secrets: BTreeMap::new(),
        secrets_watched: true,
        unlisted_secrets: None,
        connection_keys: Arc::new(BTreeSet::new()),
        in_use: InUse::default(),
        is_unwatched: false,
        run: RunState::None,
        function_news: false,
        namespaced: BTreeMap::new(),
        reserved: BTreeMap::new(),
        term_began: at(0),
        may_act: true,
        settings: Arc::new(Settings::default()),
        jitter: 0.5,
        now: at(second),
    }
}

fn decided(of: &Snapshot, memory: &mut CompositeMemory) -> Decision<Action> {
    memory.completed(of);
    decide(of, memory)
}

fn answered(memory: &mut CompositeMemory, of: &Snapshot, answer: Result<(), String>) {
    let Decision::Act(action @ Action::DeleteSecret(_)) = decided(of, memory) else {
        panic!("it is not to be deleted");
    };
    let moment = Moment {
        now: of.now,
        leadership: Leadership {
            leads: true,
            term: 0,
            draining: false,
        },
        jitter: 0.5,
    };
    let performed = Performed::SecretDeleted(answer);
    let follow: Follow<()> = record(memory, &mut of.clone(), &action, performed, of.now, &moment);
    assert!(matches!(follow, Follow::Decide));
}

fn condition(decision: &Decision<Action>, type_: &str) -> Value {
    let Decision::Act(Action::WriteStatus(write)) = decision else {
        panic!("{decision:?}");
    };
    let mut conditions = write.status["conditions"].as_array().unwrap().iter();
    let condition = conditions.find(|condition| condition["type"] == type_);
    condition.cloned().unwrap_or_default()
}

#[test]
fn a_refused_deletion_of_a_secret_is_reported_and_repeated() {
    let mut memory = CompositeMemory::default();
    answered(&mut memory, &snapshot("", 0), Err(REFUSED.to_owned()));
    let status = decided(&snapshot("", 0), &mut memory);
    assert_eq!(condition(&status, "Synced")["message"], REFUSED);
    assert_eq!(condition(&status, "DeletionBlocked"), Value::Null);
    let retry_at = memory.failed_secret_deletion.as_ref().unwrap().retry_at;
    memory.failed_secret_deletion.as_mut().unwrap().retry_at = at(59);
    let status = decided(&snapshot("", 10), &mut memory);
    let blocked = condition(&status, "DeletionBlocked");
    assert_eq!(blocked["reason"], "Forbidden");
    let message = blocked["message"].as_str().unwrap();
    assert!(
        message.starts_with(REFUSED) && message.contains("=all/uid-xr"),
        "{message}"
    );
    memory.failed_secret_deletion.as_mut().unwrap().retry_at = retry_at;
    answered(&mut memory, &snapshot("", 30), Ok(()));
    let end = decided(&snapshot("", 30), &mut memory);
    assert!(matches!(end, Decision::Act(Action::RemoveFinalizer)), "{end:?}");
}

#[test]
fn a_secret_that_cannot_be_deleted_is_left_behind_by_release() {
    let mut memory = CompositeMemory::default();
    answered(&mut memory, &snapshot("all/uid-xr", 0), Err(REFUSED.to_owned()));
    let end = decided(&snapshot("all/uid-xr", 0), &mut memory);
    assert!(matches!(end, Decision::Act(Action::RemoveFinalizer)), "{end:?}");
}

/// Right after a start little is known: what is to be left behind would go with its owner.
#[test]
fn a_release_of_all_gives_up_only_what_cannot_be_read_for_long() {
    let unread = |second| {
        let mut of = snapshot("all/uid-xr", second);
        let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "part", "namespace": "team"});
        let mut object = of.xr.object.clone();
        object["metadata"]["annotations"][CLAIM_UID] = Value::Null;
        object["spec"] = json!({"resourceRefs": [reference]});
        of.xr = Composite::parse(object, Scope::LegacyCluster);
        let ids = of
            .xr
            .ids()
            .map(|id| (id, ObjectState::Unknown("starting".to_owned())));
        of.seen = ids.collect();
        of
    };
    let unlisted = |second| {
        let mut of = unread(second);
        of.xr = snapshot("all/uid-xr", second).xr;
        of.xr.object["spec"] = json!({});
        of.seen.clear();
        of.unlisted_secrets = Some("starting".to_owned());
        of
    };
    let unknown: [&dyn Fn(u32) -> Snapshot; 2] = [&unread, &unlisted];
    for of in unknown {
        let mut memory = CompositeMemory::default();
        for second in [0, 5, 9] {
            let decision = decided(&of(second), &mut memory);
            assert!(
                !matches!(decision, Decision::Act(Action::RemoveFinalizer)),
                "{decision:?}"
            );
        }
        // What was read in between begins anew.
        let mut known = of(9);
        known
            .seen
            .values_mut()
            .for_each(|seen| *seen = ObjectState::Absent);
        known.unlisted_secrets = None;
        memory.completed(&known);
        for second in [10, 19] {
            let decision = decided(&of(second), &mut memory);
            assert!(
                !matches!(decision, Decision::Act(Action::RemoveFinalizer)),
                "{decision:?}"
            );
        }
        let end = decided(&of(20), &mut memory);
        assert!(matches!(end, Decision::Act(Action::RemoveFinalizer)), "{end:?}");
    }
}
