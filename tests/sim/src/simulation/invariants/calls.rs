//! What must hold whenever a call comes to the cloud.

use fake_cloud::{
    cloud::{Ask, Cloud},
    fault::Rpc,
    kinds::CALL,
    types::CreateRecovery,
};
use jiff::Timestamp;

use super::{InvariantChecker, is_change, violations};
use crate::simulation::{environment::Environment, journal::exposes_secret};

/// A call that has come, and what is known at that moment.
pub(super) struct Sent<'a> {
    pub(super) environment: &'a Environment,
    pub(super) watcher: &'a InvariantChecker,
    pub(super) cloud: &'a Cloud,
    /// The number of the bridge that sent it.
    pub(super) bridge: usize,
    pub(super) ask: &'a Ask,
    /// Of the object that it is about.
    pub(super) uid: &'a str,
    pub(super) deadline: Option<Timestamp>,
    pub(super) now: Timestamp,
}

impl Sent<'_> {
    /// The moment from which the deadline counts: at which the object was known to stand as it was.
    fn decided(&self) -> Option<Timestamp> {
        self.deadline?.checked_sub(CALL).ok()
    }

    fn described(&self) -> String {
        format!("{:?} for {}", self.ask.rpc(), self.uid)
    }
}

/// What does not hold.
pub(super) fn broken_by(sent: &Sent) -> Vec<String> {
    violations! { sent:
        nothing_is_sent_after_its_deadline,
        nothing_is_sent_while_paused,
        nothing_is_sent_without_the_lease,
        nothing_is_sent_for_what_is_gone,
        no_create_without_a_persisted_intent,
        no_create_is_blindly_repeated,
        no_create_while_another_may_run,
        no_delete_while_a_create_may_run,
        one_call_at_a_time,
        no_two_reconciles_of_one_object,
        no_secret_stands_in_a_document,
    }
}

fn nothing_is_sent_after_its_deadline(sent: &Sent) -> Option<String> {
    let (deadline, now) = (sent.deadline?, sent.now);
    let wrong = now >= deadline || deadline.duration_since(now).unsigned_abs() > CALL;
    wrong.then(|| format!("{} comes at {now}, its deadline is {deadline}", sent.described()))
}

fn nothing_is_sent_while_paused(sent: &Sent) -> Option<String> {
    let since = sent.watcher.objects.get(sent.uid)?.paused_since?;
    let wrong = is_change(sent.ask) && since < sent.decided()?;
    wrong.then(|| format!("{}, paused since {since}", sent.described()))
}

/// What was held up on its way was sent under the lease of then.
fn nothing_is_sent_without_the_lease(sent: &Sent) -> Option<String> {
    let environment = sent.environment;
    let process = environment.process(sent.bridge);
    if environment.bridges == 1 || !is_change(sent.ask) || process.valve.was_closed_since(sent.decided()?) {
        return None;
    }
    let (holder, sender) = (sent.watcher.holder_at(sent.now), process.identity);
    (holder != sender).then(|| {
        format!(
            "{} is sent by {sender}, {holder:?} has the lease",
            sent.described()
        )
    })
}

fn nothing_is_sent_for_what_is_gone(sent: &Sent) -> Option<String> {
    let gone = sent.watcher.objects.get(sent.uid)?.gone?;
    let wrong = is_change(sent.ask) && gone < sent.decided()?;
    wrong.then(|| format!("{}, gone since {gone}", sent.described()))
}

fn no_create_without_a_persisted_intent(sent: &Sent) -> Option<String> {
    let Ask::Create(create) = sent.ask else {
        return None;
    };
    let deadline = sent.deadline?.as_millisecond();
    let persisted = sent.watcher.objects.get(sent.uid).is_some_and(|seen| {
        seen.intents
            .iter()
            .any(|(token, persisted)| *token == create.token && persisted.as_millisecond() == deadline)
    });
    (!persisted).then(|| format!("{} has no persisted intent", sent.described()))
}

/// The same token again: only where that resolves what became of the first, and with `outcome_unknown`.
fn no_create_is_blindly_repeated(sent: &Sent) -> Option<String> {
    let Ask::Create(create) = sent.ask else {
        return None;
    };
    if !sent.watcher.tokens.contains(&create.token) {
        return None;
    }
    let kind = &create.target.resource_type.kind;
    let subject = sent.cloud.subject(kind);
    // A name or a marker is searched for by Observe. That the cloud does so upon a repeat is its kindness, and nothing to lean on.
    let settles = subject.is_some_and(|subject| subject.recovers_by(CreateRecovery::ClientToken));
    (!settles || !create.outcome_unknown).then(|| format!("{} ({kind}) is a blind repeat", sent.described()))
}

/// Another token: only when nothing of the former can take effect any more.
fn no_create_while_another_may_run(sent: &Sent) -> Option<String> {
    let Ask::Create(create) = sent.ask else {
        return None;
    };
    let another = |ask: &Ask| match ask {
        Ask::Create(other) => other.target.owner.uid == sent.uid && other.token != create.token,
        _ => false,
    };
    let runs = sent.cloud.expected(sent.now).any(another);
    runs.then(|| {
        format!(
            "{} with a new token while the former may take effect",
            sent.described()
        )
    })
}

fn no_delete_while_a_create_may_run(sent: &Sent) -> Option<String> {
    let removes = is_change(sent.ask) && matches!(sent.ask, Ask::Delete(_) | Ask::Poll(_));
    let concerns = |ask: &Ask| {
        ask.rpc() == Rpc::Create && ask.target().is_some_and(|target| target.owner.uid == sent.uid)
    };
    (removes && sent.cloud.expected(sent.now).any(concerns))
        .then(|| format!("{} while a Create may still take effect", sent.described()))
}

/// Of those that change something. Around a change of leaders, one of the old leader may still be under way.
fn one_call_at_a_time(sent: &Sent) -> Option<String> {
    let others = sent.watcher.flights(sent.bridge, sent.uid).changes;
    (is_change(sent.ask) && others > 0).then(|| format!("{} beside another call", sent.described()))
}

/// A pass does one thing after the other: whatever comes beside another call is of another pass.
fn no_two_reconciles_of_one_object(sent: &Sent) -> Option<String> {
    let others = sent.watcher.flights(sent.bridge, sent.uid).all;
    (others > 0).then(|| format!("{} beside another call of the same bridge", sent.described()))
}

/// Sensitive values have a place of their own.
fn no_secret_stands_in_a_document(sent: &Sent) -> Option<String> {
    let desired = match sent.ask {
        Ask::Observe(ask) => &ask.desired,
        Ask::Create(ask) | Ask::Update(ask) | Ask::Delete(ask) | Ask::Poll(ask) => &ask.desired,
        Ask::CheckConfig(_) => return None,
    };
    let is_shown = exposes_secret(&format!("{:?}", desired.parameters));
    is_shown.then(|| format!("a secret stands in the parameters of {}", sent.described()))
}
