//! What becomes of the bridge's requests to the API server.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use fake_kube::fault::{Chaos, Outcome, Request, RequestOutcome, Telling};

use super::{
    compositions::Sender,
    coverage::{KillPoint, WatchFault},
    environment::{Environment, Process, Side},
    journal::Journal,
};

/// The way of one bridge's process to the API server.
pub(super) struct KubeLink {
    environment: Arc<Environment>,
    bridge: usize,
    process: Process,
}

impl KubeLink {
    pub(super) fn new(environment: &Arc<Environment>, bridge: usize, process: &Process) -> Self {
        Self {
            environment: Arc::clone(environment),
            bridge,
            process: process.clone(),
        }
    }

    fn outcome(&self, request: &Request, fault_burst: f64) -> Outcome {
        let chance = &self.environment.kube_chance;
        if !chance.happens(fault_burst) {
            return Outcome::Serve;
        }
        let wait = 1 + chance.below(3);
        let choices: &[(u32, Outcome)] = if request.writes() {
            &[
                (4, Outcome::BreakBefore),
                (8, Outcome::BreakAfter),
                (2, Outcome::HangBefore),
                (4, Outcome::HangAfter),
                (2, Outcome::Unavailable),
                (4, Outcome::ErrorAfter),
                (4, Outcome::Conflict),
                (2, Outcome::Throttle(wait)),
                (1, Outcome::Invalid),
                (3, Outcome::Late(wait * 12)),
            ]
        } else if matches!(request.verb, "list" | "watch") {
            &[
                (4, Outcome::BreakBefore),
                (2, Outcome::Unavailable),
                (2, Outcome::Gone),
                (6, Outcome::Stale(wait * 3)),
                (1, Outcome::Throttle(wait)),
            ]
        } else {
            &[
                (4, Outcome::BreakBefore),
                (1, Outcome::HangBefore),
                (2, Outcome::Unavailable),
                (1, Outcome::Throttle(wait)),
            ]
        };
        chance.weighted(choices).unwrap_or_default()
    }
}

/// Neither people's news nor the election.
fn counts(request: &Request) -> bool {
    request.writes() && !matches!(request.resource.as_str(), "events" | "leases")
}

impl Chaos for KubeLink {
    fn fate(&self, request: &Request) -> RequestOutcome {
        let fault_burst = *self.environment.fault_burst.lock();
        let chance = &self.environment.kube_chance;
        let mut fate = RequestOutcome {
            before: chance.millis(fault_burst.latency),
            outcome: self.outcome(request, fault_burst.kube),
            after: chance.millis(fault_burst.latency),
        };
        if fate.outcome != Outcome::Serve {
            self.environment.coverage.count("api", fate.outcome);
        }
        if counts(request) {
            match self.environment.crash.passes() {
                Some(Side::Before) => {
                    self.environment
                        .coverage
                        .count("bridge dies", KillPoint::BeforeWrite);
                    fate.outcome = Outcome::HangBefore;
                    self.environment
                        .log
                        .note(|| format!("the bridge dies before: {request}"));
                    self.environment.crash.reach();
                }
                Some(Side::After) => {
                    self.environment
                        .coverage
                        .count("bridge dies", KillPoint::AfterWrite);
                    fate = RequestOutcome {
                        before: Duration::ZERO,
                        outcome: Outcome::HangAfter,
                        after: Duration::ZERO,
                    };
                    self.environment
                        .log
                        .note(|| format!("the bridge dies after: {request}"));
                    self.environment.crash.reach();
                }
                None => {}
            }
            if let Some(outcome) = self.environment.write_fault(&self.process, request) {
                fate.outcome = outcome;
            }
        }
        if fate.outcome != Outcome::Serve {
            self.environment
                .log
                .note(|| Journal::without_chance(&format!("api: {request}: {:?}", fate.outcome)));
        }
        fate
    }

    fn closed(&self) -> bool {
        self.process.valve.is_closed()
    }

    fn watching(&self, resource: &str, opened: bool) {
        let mut watches = self.environment.watches.lock();
        let count = watches.entry((self.bridge, resource.to_owned())).or_default();
        *count = if opened {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
    }

    fn telling(&self, _: &str) -> Telling {
        let fault_burst = *self.environment.fault_burst.lock();
        let chance = &self.environment.kube_chance;
        let late = if chance.happens(fault_burst.watch) {
            chance.millis(fault_burst.lag)
        } else {
            chance.millis(fault_burst.latency)
        };
        let telling = Telling {
            late: late.max(self.environment.faults.staleness()),
            twice: chance.happens(fault_burst.watch),
            cut: chance.happens(fault_burst.watch / 4.0),
        };
        let latency = Duration::from_millis(fault_burst.latency.into());
        let news = [
            (late > latency, WatchFault::Late),
            (telling.twice, WatchFault::Twice),
            (telling.cut, WatchFault::Cut),
        ];
        for (happens, what) in news {
            if happens {
                self.environment.coverage.count("watch", what);
            }
        }
        telling
    }

    fn served(&self, request: &Request, code: u16) {
        if request.writes() && request.resource != "leases" {
            self.environment.writes_asked.fetch_add(1, Ordering::Relaxed);
        }
        if counts(request) {
            self.environment.log.note(|| format!("api: {request}: {code}"));
        }
        let sender = Sender {
            crossed: self.environment.departure.is_crossing(request),
            successors: self.environment.successors(self.bridge, &self.process),
            is_starting: self.environment.is_starting(&self.process),
        };
        self.environment
            .watch_compositions((code < 300).then_some(request), sender);
        self.environment.watch_refusal(request, code);
        let writer = (self.environment.bridges > 1).then_some(self.process.identity.as_str());
        self.environment.watch_api(writer);
    }
}
