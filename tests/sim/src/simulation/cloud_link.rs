//! What becomes of the plugin's calls to the cloud.

use std::{future::pending, sync::Arc, time::Duration};

use bridge_engine::clock::Clock;
use fake_cloud::{
    cloud::{Answer, Ask, State, Verdict},
    fault::{FaultOutcome, Rpc},
    kinds::CALL,
    link::{Link, Unreachable},
    types::OutcomeResult,
};
use jiff::Timestamp;

use super::{
    coverage::KillPoint,
    environment::{Environment, Side},
};

/// The plugin's way to the cloud, for the calls of one bridge.
pub(super) struct CloudLink {
    environment: Arc<Environment>,
    bridge: usize,
}

impl CloudLink {
    pub(super) fn new(environment: &Arc<Environment>, bridge: usize) -> Self {
        Self {
            environment: Arc::clone(environment),
            bridge,
        }
    }

    fn fate(&self, ask: &Ask, deadline: Option<Timestamp>) -> FaultOutcome {
        let fault_burst = *self.environment.fault_burst.lock();
        let chance = &self.environment.cloud_chance;
        if !chance.happens(fault_burst.cloud) {
            return FaultOutcome::Serve;
        }
        let wait = chance.below(3_000);
        let choices: &[(u32, FaultOutcome)] = match ask.rpc() {
            Rpc::Observe if self.may_lie(ask) => &[
                (3, FaultOutcome::Lie),
                (1, FaultOutcome::Hang),
                (1, FaultOutcome::Status),
                (2, FaultOutcome::Unavailable),
            ],
            Rpc::Observe => &[
                (2, FaultOutcome::Hang),
                (2, FaultOutcome::Status),
                (2, FaultOutcome::Unavailable),
                (1, FaultOutcome::Throttle(2_000)),
                (1, FaultOutcome::CrashBefore),
            ],
            Rpc::CheckConfig => &[(1, FaultOutcome::Unavailable), (1, FaultOutcome::Status)],
            Rpc::Create | Rpc::Update | Rpc::Delete | Rpc::Poll => &[
                (2, FaultOutcome::Hang),
                (6, FaultOutcome::LoseAnswer),
                (6, FaultOutcome::Late(wait)),
                (4, FaultOutcome::Slow(wait)),
                (2, FaultOutcome::Throttle(2_000)),
                (2, FaultOutcome::Unavailable),
                (4, FaultOutcome::UnavailableAfter),
                (2, FaultOutcome::Status),
                (4, FaultOutcome::StatusAfter),
                (2, FaultOutcome::CrashBefore),
                (4, FaultOutcome::CrashAfter),
                (2, FaultOutcome::Doom),
            ],
        };
        let fate = chance.weighted(choices).unwrap_or_default();
        // What takes effect late would do so without a deadline at any time.
        if matches!(fate, FaultOutcome::Late(_)) && deadline.is_none() {
            return FaultOutcome::Hang;
        }
        fate
    }

    /// What came of a call. In a profile that answers everything, a fault does not count.
    fn count(&self, fate: FaultOutcome, verdict: &Verdict) {
        let environment = &self.environment;
        let failure = match verdict {
            Verdict::Answer(Answer::Outcome(outcome), _) => match &outcome.result {
                OutcomeResult::Failure(failure) => Some(failure.code),
                _ => None,
            },
            _ => None,
        };
        if let Some(code) = failure {
            environment.coverage.count("answer", code);
        }
        let dooms = matches!(verdict, Verdict::Answer(Answer::Outcome(outcome), _) if matches!(outcome.result, OutcomeResult::Operation(_)));
        let happens = fate != FaultOutcome::Serve && (fate != FaultOutcome::Doom || dooms);
        if happens && !environment.cloud.lock().profile.down {
            environment.coverage.count("cloud", fate);
        }
    }

    /// A lie that a correct bridge survives: one at a time, about what exists and was confirmed, within what the kind declares.
    fn may_lie(&self, ask: &Ask) -> bool {
        let Some(target) = ask.target() else { return false };
        let uid = &target.owner.uid;
        let ready = {
            let cloud = self.environment.cloud.lock();
            let mut made = cloud.created_for(uid);
            made.next().is_some_and(|one| one.state == State::Ready)
        };
        ready
            && self.environment.is_settled(uid)
            && self
                .environment
                .watcher
                .lock()
                .lies(uid, self.environment.time.now())
    }
}

#[tonic::async_trait]
impl Link for CloudLink {
    async fn ask(&self, ask: Ask, deadline: Option<Timestamp>) -> Result<Verdict, Unreachable> {
        let environment = &self.environment;
        let latency = environment.fault_burst.lock().latency;
        let _flight = environment.begin_call(self.bridge, &ask, deadline);
        let crash = if is_change(&ask) {
            environment.crash.passes()
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
        if crash == Some(Side::After) && deadline.is_some() && environment.cloud_chance.happens(0.4) {
            let wait = environment.cloud_chance.below(3_000);
            environment.cloud.lock().serve_as(
                &ask,
                deadline,
                environment.time.now(),
                FaultOutcome::Late(wait),
            );
            environment
                .log
                .note(|| format!("the bridge dies on the way of: {}: {wait} ms", about()));
            environment.coverage.count("bridge dies", KillPoint::AmidCall);
            environment.watch_cloud();
            environment.crash.reach();
            return pending().await;
        }
        if crash == Some(Side::Before) {
            environment
                .log
                .note(|| format!("the bridge dies before: {}", about()));
            environment.coverage.count("bridge dies", KillPoint::BeforeCall);
            environment.crash.reach();
            return pending().await;
        }
        let mut fate = self.fate(&ask, deadline);
        let now = environment.time.now();
        let verdict = {
            let mut cloud = environment.cloud.lock();
            if fate == FaultOutcome::Serve {
                let owner = ask.target().map(|target| target.owner.name.as_str());
                fate = cloud.faults.take(ask.rpc(), owner.unwrap_or_default());
            }
            cloud.serve_as(&ask, deadline, now, fate)
        };
        environment
            .log
            .note(|| format!("cloud: {}: {fate:?} -> {}", about(), told(&verdict)));
        self.count(fate, &verdict);
        environment.end_call(&ask, &verdict);
        environment.watch_cloud();
        if crash == Some(Side::After) {
            environment
                .log
                .note(|| format!("the bridge dies after: {}", about()));
            environment.coverage.count("bridge dies", KillPoint::AfterCall);
            environment.crash.reach();
            return pending().await;
        }
        tokio::time::sleep(environment.cloud_chance.millis(latency)).await;
        Ok(verdict)
    }

    fn came_late(&self, deadline: Timestamp) {
        // It was rejected. What was sent in time and held up on its way may come late; nothing else may.
        let sent = deadline - CALL;
        if !self.environment.process(self.bridge).was_held_back_since(sent) {
            self.environment
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
                Answer::ObserveResult(look) => match look {
                    fake_cloud::types::ObserveResult::Found(found) => {
                        format!("found {:?}, ready={}", found.external_name, found.ready)
                    }
                    fake_cloud::types::ObserveResult::Absent(_) => "absent".to_owned(),
                    fake_cloud::types::ObserveResult::Failed(failure) => format!("{:?}", failure.code),
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
        Verdict::Refused(why) => format!("rejected: {why}"),
    }
}
