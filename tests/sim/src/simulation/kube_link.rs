//! What becomes of the bridge's requests to the API server.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use fake_kube::fault::{Chaos, Fate, Outcome, Request, Telling};

use super::{
    tally::{Death, News},
    world::{Process, Side, World},
};

/// The way of one bridge's process to the API server.
pub(super) struct KubeLink {
    world: Arc<World>,
    bridge: usize,
    process: Process,
}

impl KubeLink {
    pub(super) fn new(world: &Arc<World>, bridge: usize, process: &Process) -> Self {
        Self {
            world: Arc::clone(world),
            bridge,
            process: process.clone(),
        }
    }

    fn outcome(&self, request: &Request, storm: f64) -> Outcome {
        let chance = &self.world.kube_chance;
        if !chance.happens(storm) {
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
    fn fate(&self, request: &Request) -> Fate {
        let storm = *self.world.storm.lock();
        let chance = &self.world.kube_chance;
        let mut fate = Fate {
            before: chance.millis(storm.latency),
            outcome: self.outcome(request, storm.kube),
            after: chance.millis(storm.latency),
        };
        if fate.outcome != Outcome::Serve {
            self.world.tally.count("api", fate.outcome);
        }
        if counts(request) {
            match self.world.crash.passes() {
                Some(Side::Before) => {
                    self.world.tally.count("bridge dies", Death::BeforeWrite);
                    fate.outcome = Outcome::HangBefore;
                    self.world
                        .log
                        .note(|| format!("the bridge dies before: {request}"));
                    self.world.crash.reach();
                }
                Some(Side::After) => {
                    self.world.tally.count("bridge dies", Death::AfterWrite);
                    fate = Fate {
                        before: Duration::ZERO,
                        outcome: Outcome::HangAfter,
                        after: Duration::ZERO,
                    };
                    self.world
                        .log
                        .note(|| format!("the bridge dies after: {request}"));
                    self.world.crash.reach();
                }
                None => {}
            }
        }
        if fate.outcome != Outcome::Serve {
            self.world
                .log
                .note(|| format!("api: {request}: {:?}", fate.outcome));
        }
        fate
    }

    fn closed(&self) -> bool {
        self.process.valve.is_closed()
    }

    fn watching(&self, resource: &str, opened: bool) {
        let mut watches = self.world.watches.lock();
        let count = watches.entry((self.bridge, resource.to_owned())).or_default();
        *count = if opened {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
    }

    fn telling(&self, _: &str) -> Telling {
        let storm = *self.world.storm.lock();
        let chance = &self.world.kube_chance;
        let late = if chance.happens(storm.watch) {
            chance.millis(storm.lag)
        } else {
            chance.millis(storm.latency)
        };
        let telling = Telling {
            late,
            twice: chance.happens(storm.watch),
            cut: chance.happens(storm.watch / 4.0),
        };
        let latency = Duration::from_millis(storm.latency.into());
        let news = [
            (late > latency, News::Late),
            (telling.twice, News::Twice),
            (telling.cut, News::Cut),
        ];
        for (happens, what) in news {
            if happens {
                self.world.tally.count("watch", what);
            }
        }
        telling
    }

    fn served(&self, request: &Request, code: u16) {
        if request.writes() && request.resource != "leases" {
            self.world.writes_asked.fetch_add(1, Ordering::Relaxed);
        }
        if counts(request) {
            self.world.log.note(|| format!("api: {request}: {code}"));
        }
        let writer = (self.world.bridges > 1).then_some(self.process.identity.as_str());
        self.world.watch_api(writer);
    }
}
