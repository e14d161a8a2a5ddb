//! What becomes of the plugin's calls to the cloud.

use std::{future::pending, sync::Arc, time::Duration};

use bridge_engine::clock::Clock;
use fake_cloud::{
    cloud::{Answer, Ask, State, Verdict},
    fault::{Fate, Rpc},
    kinds::CALL,
    link::{Link, Unreachable},
    types::OutcomeResult,
};
use jiff::Timestamp;

use super::{
    tally::Death,
    world::{Side, World},
};

/// The plugin's way to the cloud, for the calls of one bridge.
pub(super) struct CloudLink {
    world: Arc<World>,
    bridge: usize,
}

impl CloudLink {
    pub(super) fn new(world: &Arc<World>, bridge: usize) -> Self {
        Self {
            world: Arc::clone(world),
            bridge,
        }
    }

    fn fate(&self, ask: &Ask, deadline: Option<Timestamp>) -> Fate {
        let storm = *self.world.storm.lock();
        let chance = &self.world.cloud_chance;
        if !chance.happens(storm.cloud) {
            return Fate::Serve;
        }
        let wait = chance.below(3_000);
        let choices: &[(u32, Fate)] = match ask.rpc() {
            Rpc::Observe if self.may_lie(ask) => &[
                (3, Fate::Lie),
                (1, Fate::Hang),
                (1, Fate::Status),
                (2, Fate::Unavailable),
            ],
            Rpc::Observe => &[
                (2, Fate::Hang),
                (2, Fate::Status),
                (2, Fate::Unavailable),
                (1, Fate::Throttle(2_000)),
                (1, Fate::CrashBefore),
            ],
            Rpc::CheckConfig => &[(1, Fate::Unavailable), (1, Fate::Status)],
            Rpc::Create | Rpc::Update | Rpc::Delete | Rpc::Poll => &[
                (2, Fate::Hang),
                (6, Fate::LoseAnswer),
                (6, Fate::Late(wait)),
                (4, Fate::Slow(wait)),
                (2, Fate::Throttle(2_000)),
                (2, Fate::Unavailable),
                (4, Fate::UnavailableAfter),
                (2, Fate::Status),
                (4, Fate::StatusAfter),
                (2, Fate::CrashBefore),
                (4, Fate::CrashAfter),
                (2, Fate::Doom),
            ],
        };
        let fate = chance.weighted(choices).unwrap_or_default();
        // What takes effect late would do so without a deadline at any time.
        if matches!(fate, Fate::Late(_)) && deadline.is_none() {
            return Fate::Hang;
        }
        fate
    }

    /// What came of a call. In a mood that answers everything, a fate is none.
    fn count(&self, fate: Fate, verdict: &Verdict) {
        let world = &self.world;
        let failure = match verdict {
            Verdict::Answer(Answer::Outcome(outcome), _) => match &outcome.result {
                OutcomeResult::Failure(failure) => Some(failure.code),
                _ => None,
            },
            _ => None,
        };
        if let Some(code) = failure {
            world.tally.count("answer", code);
        }
        let dooms = matches!(verdict, Verdict::Answer(Answer::Outcome(outcome), _) if matches!(outcome.result, OutcomeResult::Operation(_)));
        let happens = fate != Fate::Serve && (fate != Fate::Doom || dooms);
        if happens && !world.cloud.lock().mood.down {
            world.tally.count("cloud", fate);
        }
    }

    /// A lie that nobody can be blamed for not believing: one at a time, of what is there and was confirmed, within what the kind declares.
    fn may_lie(&self, ask: &Ask) -> bool {
        let Some(target) = ask.target() else { return false };
        let uid = &target.owner.uid;
        let ready = {
            let cloud = self.world.cloud.lock();
            let mut made = cloud.made_for(uid);
            made.next().is_some_and(|one| one.state == State::Ready)
        };
        ready && self.world.is_settled(uid) && self.world.watcher.lock().lies(uid, self.world.time.now())
    }
}

#[tonic::async_trait]
impl Link for CloudLink {
    async fn ask(&self, ask: Ask, deadline: Option<Timestamp>) -> Result<Verdict, Unreachable> {
        let world = &self.world;
        let latency = world.storm.lock().latency;
        let _flight = world.begin_call(self.bridge, &ask, deadline);
        let crash = if is_change(&ask) {
            world.crash.passes()
        } else {
            None
        };
        let about = || {
            let target = ask.target();
            let owner = target
                .map(|target| target.owner.name.as_str())
                .unwrap_or_default();
            let name = target
                .map(|target| target.external_name.as_str())
                .unwrap_or_default();
            format!("{:?} {owner} {name:?}", ask.rpc())
        };
        // A call that is on its way when its caller dies takes its effect at any time until its deadline.
        if crash == Some(Side::After) && deadline.is_some() && world.cloud_chance.happens(0.4) {
            let wait = world.cloud_chance.below(3_000);
            world
                .cloud
                .lock()
                .serve_as(&ask, deadline, world.time.now(), Fate::Late(wait));
            world
                .log
                .note(|| format!("the bridge dies on the way of: {}: {wait} ms", about()));
            world.tally.count("bridge dies", Death::AmidCall);
            world.watch_cloud();
            world.crash.reach();
            return pending().await;
        }
        if crash == Some(Side::Before) {
            world.log.note(|| format!("the bridge dies before: {}", about()));
            world.tally.count("bridge dies", Death::BeforeCall);
            world.crash.reach();
            return pending().await;
        }
        let mut fate = self.fate(&ask, deadline);
        let now = world.time.now();
        let verdict = {
            let mut cloud = world.cloud.lock();
            if fate == Fate::Serve {
                let owner = ask.target().map(|target| target.owner.name.as_str());
                fate = cloud.faults.take(ask.rpc(), owner.unwrap_or_default());
            }
            cloud.serve_as(&ask, deadline, now, fate)
        };
        world
            .log
            .note(|| format!("cloud: {}: {fate:?} -> {}", about(), told(&verdict)));
        self.count(fate, &verdict);
        world.end_call(&ask, &verdict);
        world.watch_cloud();
        if crash == Some(Side::After) {
            world.log.note(|| format!("the bridge dies after: {}", about()));
            world.tally.count("bridge dies", Death::AfterCall);
            world.crash.reach();
            return pending().await;
        }
        tokio::time::sleep(world.cloud_chance.millis(latency)).await;
        Ok(verdict)
    }

    fn came_late(&self, deadline: Timestamp) {
        // It was refused. What was sent in time and held up on its way may come late; nothing else may.
        let sent = deadline - CALL;
        if !self.world.process(self.bridge).valve.was_closed_since(sent) {
            self.world
                .blame(format!("a call came after its deadline {deadline}"));
        }
    }
}

fn is_change(ask: &Ask) -> bool {
    matches!(ask.rpc(), Rpc::Create | Rpc::Update | Rpc::Delete | Rpc::Poll)
}

fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Answer(answer, wait) => {
            let wait = if *wait == Duration::ZERO {
                String::new()
            } else {
                format!(" after {wait:?}")
            };
            let answer = match answer {
                Answer::Look(look) => match look {
                    fake_cloud::types::Look::Found(found) => {
                        format!("found {:?}, ready={}", found.external_name, found.ready)
                    }
                    fake_cloud::types::Look::Absent(_) => "absent".to_owned(),
                    fake_cloud::types::Look::Failed(failure) => format!("{:?}", failure.code),
                },
                Answer::Outcome(outcome) => match &outcome.result {
                    fake_cloud::types::OutcomeResult::Completed(_) => {
                        format!("completed {:?}", outcome.external_name)
                    }
                    fake_cloud::types::OutcomeResult::Operation(operation) => {
                        format!("operation {:?} {:?}", operation.handle, outcome.external_name)
                    }
                    fake_cloud::types::OutcomeResult::Failure(failure) => {
                        format!("{:?} effect {:?}", failure.code, failure.effect)
                    }
                },
                Answer::Config(_) => "config".to_owned(),
            };
            format!("{answer}{wait}")
        }
        Verdict::Silence => "silence".to_owned(),
        Verdict::Crash => "the plugin dies".to_owned(),
        Verdict::Status => "a gRPC error".to_owned(),
        Verdict::Refused(why) => format!("refused: {why}"),
    }
}
