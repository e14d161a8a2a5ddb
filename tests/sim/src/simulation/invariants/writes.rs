//! What must hold after each write to the API server, and whenever the cloud changed.

use bridge_core::managed::{PendingDelete, names};
use fake_cloud::{
    cloud::{Cloud, State},
    kinds::CALL,
    types::CreateRecovery,
};
use fake_kube::state::{Commit, EventKind};
use serde_json::Value;

use super::{InvariantChecker, annotation, is_paused, may_leave, record_of, text, violations};
use crate::simulation::journal::exposes_secret;

/// Where a status holds the id of the question to a person.
const QUESTION: &str = "/status/crossbridge/question/id";

/// Where a status holds the Delete that it begins with.
const DELETION: &str = "/status/crossbridge/deletion";

/// A write that was committed, and what is known at that moment.
pub(super) struct Written<'a> {
    pub(super) watcher: &'a InvariantChecker,
    pub(super) cloud: &'a Cloud,
    pub(super) commit: &'a Commit,
    /// Identity of the bridge that wrote it, where bridges elect a leader; `None`: another client.
    pub(super) writer: Option<&'a str>,
}

impl Written<'_> {
    fn is_of_a_bridge(&self) -> bool {
        self.commit.manager.starts_with("crossbridge.dev")
    }

    fn name(&self) -> &str {
        text(&self.commit.new, "/metadata/name")
    }

    /// An intent is another token, or another deadline of the same, in the record or of a deletion that the status begins.
    fn new_intent(&self) -> Option<jiff::Timestamp> {
        let recorded = |object: &Value| {
            let intent = record_of(object)?.intent?;
            Some((intent.token, intent.deadline))
        };
        let pending = |object: &Value| {
            let deletion = object.pointer(DELETION)?.clone();
            let deletion: PendingDelete = serde_json::from_value(deletion).ok()?;
            Some((deletion.token, deletion.deadline))
        };
        let Commit { old, new, .. } = self.commit;
        let new_recorded = recorded(new).filter(|after| recorded(old).as_ref() != Some(after));
        let new_pending = || pending(new).filter(|after| pending(old).as_ref() != Some(after));
        let (_, deadline) = new_recorded.or_else(new_pending)?;
        self.is_of_a_bridge().then_some(deadline)
    }
}

/// What does not hold after it.
pub(super) fn broken_by(written: &Written) -> Vec<String> {
    violations! { written:
        no_intent_while_paused,
        no_intent_without_the_lease,
        no_name_is_lost,
        no_secret_is_exposed,
        no_question_where_recovery_is_possible,
        the_finalizer_goes_after_an_absence,
    }
}

fn no_intent_while_paused(written: &Written) -> Option<String> {
    let paused = is_paused(&written.commit.old);
    (paused && written.new_intent().is_some()).then(|| format!("for {}", written.name()))
}

/// The lease is asked for when the intent is drawn up; on its way, the object's version guards it.
fn no_intent_without_the_lease(written: &Written) -> Option<String> {
    let writer = written.writer?;
    let drawn_up = written.new_intent()?.checked_sub(CALL).ok()?;
    let holder = written.watcher.holder_at(drawn_up);
    (holder != writer).then(|| {
        format!(
            "for {} by {writer}, when {holder:?} had the lease",
            written.name()
        )
    })
}

/// Of what there is, the bridge keeps the name.
fn no_name_is_lost(written: &Written) -> Option<String> {
    let Commit { old, new, .. } = written.commit;
    let (before, after) = (
        annotation(old, names::EXTERNAL_NAME),
        annotation(new, names::EXTERNAL_NAME),
    );
    let mut made = written.cloud.created_for(text(new, "/metadata/uid"));
    let lost = !before.is_empty()
        && before != after
        && made.any(|one| one.name == before && !matches!(one.state, State::Deleting(_)));
    (lost && written.is_of_a_bridge()).then(|| format!("{before:?} of {}", written.name()))
}

fn no_secret_is_exposed(written: &Written) -> Option<String> {
    let (plural, _) = &written.commit.resource;
    let is_shown = plural != "secrets" && exposes_secret(&written.commit.new.to_string());
    is_shown.then(|| format!("in {plural} {}", written.name()))
}

/// A person is asked only where Observe cannot find it, and there is no token by which the request could be sent again.
fn no_question_where_recovery_is_possible(written: &Written) -> Option<String> {
    let Commit { old, new, .. } = written.commit;
    let question = text(new, QUESTION);
    if question.is_empty() || question == text(old, QUESTION) {
        return None;
    }
    let kind = text(new, "/kind");
    let subject = written.cloud.subject(kind)?;
    let looks = [CreateRecovery::DeterministicName, CreateRecovery::Marker];
    let can_look = looks.into_iter().any(|way| subject.recovers_by(way));
    let can_repeat = subject.recovers_by(CreateRecovery::ClientToken);
    (can_look || can_repeat).then(|| format!("about {} ({kind})", written.name()))
}

/// What was created and is known by its record goes first, and is observed absent, also where it is removed at once.
fn the_finalizer_goes_after_an_absence(written: &Written) -> Option<String> {
    let Commit {
        old, new, happened, ..
    } = written.commit;
    let goes = is_kept(old) && (*happened == EventKind::Deleted || !is_kept(new));
    let uid = text(old, "/metadata/uid");
    let made = record_of(old).is_some_and(|record| record.confirmed);
    if !goes || !made || !written.is_of_a_bridge() || may_leave(old, uid) {
        return None;
    }
    let seen = written.watcher.objects.get(uid)?.end.is_seen();
    (!seen).then(|| format!("{} is let go unseen", written.name()))
}

/// It bears our finalizer.
fn is_kept(object: &Value) -> bool {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|all| all.iter().any(|one| one == names::FINALIZER))
}

/// The cloud as it is, and what is known of the objects.
pub(super) struct Standing<'a> {
    pub(super) watcher: &'a InvariantChecker,
    pub(super) cloud: &'a Cloud,
}

/// What does not hold.
pub(super) fn violations_in(standing: &Standing) -> Vec<String> {
    violations! { standing:
        at_most_one_external_object,
        nothing_is_left_behind,
        nothing_of_others_is_deleted,
    }
}

fn at_most_one_external_object(standing: &Standing) -> Option<String> {
    let mut uids = standing.watcher.objects.keys();
    let doubled = uids.find(|uid| standing.cloud.created_for(uid).count() > 1)?;
    Some(format!("two for {doubled}"))
}

/// The finalizer goes only after the absence of what was created.
fn nothing_is_left_behind(standing: &Standing) -> Option<String> {
    let exists = |uid: &str| standing.cloud.created_for(uid).next().is_some();
    let (left, seen) = standing
        .watcher
        .objects
        .iter()
        .find(|(uid, seen)| seen.gone.is_some() && !seen.may_leave && exists(uid))?;
    Some(format!(
        "{} {left} is deleted, and its external object is not",
        seen.kind
    ))
}

fn nothing_of_others_is_deleted(standing: &Standing) -> Option<String> {
    let removed = &standing.cloud.removed;
    let new = &removed[standing.watcher.removed.min(removed.len())..];
    let wrong = new
        .iter()
        .find(|removed| !removed.by.is_empty() && removed.by != removed.external.created_for)?;
    Some(format!(
        "{} deleted {:?}, created for {:?}",
        wrong.by, wrong.external.name, wrong.external.created_for
    ))
}
