//! What must survive the plugin's processes.

use std::time::Duration;

use crossbridge_proto::checked::{CreateRecovery, Outcome, OutcomeResult};

use crate::{
    assertion::{Assertion, assertions},
    client::Client,
    lab::{Lab, Thing},
    stories::kind::{
        life::{exists, handle_good},
        repeat::recover,
    },
    story::Story,
    verdict::{Stop, Verdict, holds},
};

/// How long a creation runs before the plugin is killed.
const BEFORE_KILL: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(4),
    Duration::from_millis(30),
];

assertions! {
    KILLED = "durable/killed-in-create-one-resource", Durable, "CreateRequest.outcome_unknown",
        "A plugin that is killed inside Create, started again and asked again, ends with one resource.",
        "Make each step findable by token, name or marker before it is begun; remember nothing in the process.";
    FOUND = "durable/found-after-kill", Durable, "plugin_service.proto",
        "What was made is found, updated and removed by a new process.",
        "Keep nothing between calls that the next one cannot do without.";
    TOKEN = "durable/token-after-kill", Durable, "CreateRecovery.CREATE_RECOVERY_CLIENT_TOKEN",
        "A token is honoured by a new process.",
        "Hand the token to the upstream, or store it beside the resource, before the effect.";
    HANDLE_AFTER_KILL = "durable/handle-after-kill", Durable, "Operation.handle",
        "An operation is followed by a new process, by its handle alone.",
        "Put into the handle what is needed to ask the upstream; no key into a map of this process.";
    HANDLE_ON_REPLICA = "durable/handle-on-replica", Durable, "Operation.handle",
        "An operation is followed by another replica.",
        "The handle is self-contained: no host name, no local file.";
    HANDLE_ON_NEXT = "durable/handle-on-next-build", Durable, "Operation.handle",
        "An operation is followed by the next build of the plugin.",
        "Give handles a version, and go on reading the former ones.";
    REPLICA = "durable/seen-by-replica", Durable, "plugin_service.proto",
        "What one replica made is found and removed by another.",
        "Keep nothing between calls that the next one cannot do without.";
}

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
    if !lab.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    unless(lab, &[HANDLE_ON_REPLICA, REPLICA], on_replica(lab).await);
    unless(lab, &[HANDLE_AFTER_KILL, FOUND, TOKEN], after_kill(lab).await);
    unless(lab, &[HANDLE_ON_NEXT], on_next_build(lab).await);
    killed_inside(lab).await
}

/// What was not possible is noted, and the story goes on.
fn unless(lab: &Lab, assertions: &[&'static Assertion], ended: Result<(), Stop>) {
    let Err(stop) = ended else { return };
    for assertion in assertions {
        if lab.bench.book.verdict(assertion, lab.bench.subject()).is_none() {
            lab.bench.note(assertion, stop.clone().into());
        }
    }
}

/// Begins a creation; the handle of its operation, if it has one.
async fn begin(lab: &Lab) -> Result<(Thing, Outcome, Option<String>), Stop> {
    let mut thing = lab.thing()?;
    let outcome = lab.create_once(&mut thing, false).await?;
    let handle = match &outcome.result {
        OutcomeResult::Operation(operation) => Some(operation.handle.clone()),
        OutcomeResult::Completed(_) => None,
        OutcomeResult::Failure(failure) => {
            return Err(Stop::blocked(format!("Create failed: {}", failure.message)));
        }
    };
    Ok((thing, outcome, handle))
}

/// Polls the handle with this client, judges that it is good, and follows it to the end.
async fn follow_elsewhere(
    lab: &Lab,
    assertion: &'static Assertion,
    thing: &mut Thing,
    (outcome, handle): (Outcome, Option<String>),
) -> Result<(), Stop> {
    let Some(handle) = handle else {
        lab.bench
            .not_applicable(assertion, "its creation is done at once");
        return Ok(());
    };
    let answer = lab
        .bench
        .client
        .poll_operation(thing.poll(&handle), lab.terms())
        .await;
    lab.bench.judge(assertion, handle_good(&answer));
    answer.map_err(|status| Stop::blocked(crate::client::told(&status)))?;
    let trail = lab.follow(thing, outcome, lab.kind.timeouts.create).await?;
    trail.completed("Create").map(drop)
}

async fn after_kill(lab: &Lab) -> Result<(), Stop> {
    lab.bench.hands.can_restart()?;
    let channel = lab.bench.client.channel();
    let (mut thing, outcome, handle) = begin(lab).await?;
    lab.bench.hands.restart(&channel).await?;
    follow_elsewhere(lab, HANDLE_AFTER_KILL, &mut thing, (outcome, handle)).await?;
    lab.bench.hands.restart(&channel).await?;
    let seen = lab.presence(&thing).await?;
    lab.bench.judge(FOUND, exists(seen.as_ref()));
    if lab.recovers_by(CreateRecovery::ClientToken) {
        let mut repeat = thing.clone();
        let outcome = lab.create_once(&mut repeat, true).await?;
        lab.bench.judge(
            TOKEN,
            holds(outcome.external_name == thing.name(), || {
                format!(
                    "the first process made {:?}, the second {:?}",
                    thing.name(),
                    outcome.external_name
                )
            }),
        );
        if outcome.external_name != thing.name() {
            repeat.token = uuid::Uuid::new_v4().to_string();
            repeat.target.external_name.clone_from(&outcome.external_name);
            lab.bench.registry.enter(&repeat);
            lab.bench.registry.enter(&thing);
        }
    } else {
        lab.bench
            .not_applicable(TOKEN, "the kind has no CLIENT_TOKEN recovery");
    }
    lab.remove(&thing).await
}

async fn on_replica(lab: &Lab) -> Result<(), Stop> {
    let replica = lab.bench.hands.replica().await?;
    let mut other = lab.clone();
    other.bench.client = Client::over(&lab.bench.client, replica.channel.clone());
    let (mut thing, outcome, handle) = begin(lab).await?;
    follow_elsewhere(&other, HANDLE_ON_REPLICA, &mut thing, (outcome, handle)).await?;
    let seen = other.presence(&thing).await?;
    lab.bench.judge(REPLICA, exists(seen.as_ref()));
    other.remove(&thing).await
}

async fn on_next_build(lab: &Lab) -> Result<(), Stop> {
    lab.bench.hands.can_upgrade()?;
    let after_kill = lab.bench.book.verdict(HANDLE_AFTER_KILL, lab.bench.subject());
    if matches!(after_kill, Some(Verdict::Failed(_))) {
        return Err(Stop::blocked(
            "a new process of the same build does not follow it either",
        ));
    }
    let (mut thing, outcome, handle) = begin(lab).await?;
    if handle.is_some() {
        lab.bench.hands.upgrade(&lab.bench.client.channel()).await?;
    }
    follow_elsewhere(lab, HANDLE_ON_NEXT, &mut thing, (outcome, handle)).await?;
    lab.remove(&thing).await
}

/// Killed while Create runs, at several moments.
async fn killed_inside(lab: &Lab) -> Result<(), Stop> {
    if lab.kind.capabilities.create_recovery.is_empty() {
        return Err(Stop::not_applicable(
            "the kind declares no recovery: a person is asked",
        ));
    }
    lab.bench.hands.can_restart()?;
    let channel = lab.bench.client.channel();
    // A plugin that cannot even create is none that loses creations.
    lab.remove(&lab.made().await?).await?;
    for before in BEFORE_KILL {
        let mut thing = lab.thing()?;
        lab.bench.registry.enter(&thing);
        let running = tokio::spawn({
            let client = lab.bench.client.clone();
            let request = thing.create(false);
            let terms = lab.terms().rough();
            // However it ends: the bridge that sent it has lost the answer.
            async move { client.create(request, terms).await.map(drop) }
        });
        tokio::time::sleep(before).await;
        lab.bench.hands.restart(&channel).await?;
        running.abort();
        recover(lab, &mut thing, KILLED).await?;
        lab.remove(&thing).await?;
    }
    Ok(())
}
