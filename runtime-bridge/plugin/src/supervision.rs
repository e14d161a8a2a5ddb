//! Notices that a plugin was restarted, was replaced or no longer answers.

use std::{sync::Arc, time::Duration};

use bridge_core::back_off::policies;
use bridge_transport::{Endpoint, Now, TlsFiles};
use crossbridge_types::limits;
use jiff::Timestamp;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    HandshakeError,
    handshake::Handshake,
    observer::{CallObserver, Unobserved},
    random,
    state::{ConnectionStatus, PluginState},
};

/// How to reach a plugin, and what to report to it.
#[derive(Clone)]
pub struct Options {
    /// The endpoint that the plugin serves.
    pub endpoint: Endpoint,
    /// TLS files; required for `https://` endpoints.
    pub tls: Option<TlsFiles>,
    /// Build of the bridge, for the plugin's logs.
    pub bridge_version: String,
    /// What an answer to a call about a resource may have, in bytes: [`limits::ANSWER`], unless the operator gives it more.
    pub max_answer_bytes: usize,
    /// How often a plugin is asked whether it is still the same.
    pub check_every: Duration,
    /// Receives each call when it has ended.
    pub observer: Arc<dyn CallObserver>,
    /// The clock: a simulation passes virtual time.
    pub now: Now,
}

impl Options {
    /// Asks every 10 s, counts nothing.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            tls: None,
            bridge_version: env!("CARGO_PKG_VERSION").into(),
            max_answer_bytes: limits::ANSWER,
            check_every: Duration::from_secs(10),
            observer: Arc::new(Unobserved),
            now: Arc::new(Timestamp::now),
        }
    }
}

/// After so many questions in a row without an answer, the connection is replaced.
const RENEW_AFTER: u32 = 3;

/// After a question because of a call, the next such question waits at least so long.
const RECHECK_AFTER: Duration = Duration::from_secs(1);

/// When a call may cause the next question: a plugin that fails each of them, and each time says that it is another process, is not asked for
/// all its kinds each time.
struct RecheckPace {
    not_before: Instant,
    pause: Duration,
}

impl RecheckPace {
    fn new(now: Instant) -> Self {
        Self {
            not_before: now,
            pause: RECHECK_AFTER / 2,
        }
    }

    /// A call causes a question now. The pause grows until none was caused for as long again.
    fn caused(&mut self, now: Instant, longest: Duration) {
        let was_calm = now > self.not_before + self.pause;
        let longest = longest.max(RECHECK_AFTER);
        self.pause = if was_calm {
            RECHECK_AFTER
        } else {
            (self.pause * 2).min(longest)
        };
        self.not_before = now + self.pause;
    }
}

/// Keeps the state of one plugin up to date while it runs.
pub struct Supervision {
    pub(crate) handshake: Handshake,
    pub(crate) state: watch::Sender<PluginState>,
    pub(crate) recheck: Arc<Notify>,
    pub(crate) check_every: Duration,
    pub(crate) now: Now,
}

impl Supervision {
    /// Runs until the token is cancelled. It asks at intervals, at once when a call found the connection broken, unless calls do so again and
    /// again, and with backoff while there is no answer.
    pub async fn run(self, stop: CancellationToken) {
        let mut misses = 0_u32;
        let mut pace = RecheckPace::new(Instant::now());
        loop {
            let wait = self.pause(misses);
            tokio::select! {
                // In a fixed order, so that a simulation repeats itself.
                biased;
                () = stop.cancelled() => return,
                () = self.recheck_from(pace.not_before), if misses == 0 => {
                    pace.caused(Instant::now(), self.check_every);
                }
                () = sleep(wait) => {}
            }
            let answered = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                answered = self.ask() => answered,
            };
            match answered {
                Ok(()) => misses = 0,
                Err(error) => {
                    misses = misses.saturating_add(1);
                    self.lost(&error);
                    if misses.is_multiple_of(RENEW_AFTER) {
                        self.renew();
                    }
                }
            }
        }
    }

    async fn recheck_from(&self, not_before: Instant) {
        self.recheck.notified().await;
        sleep_until(not_before).await;
    }

    /// A connection to a machine that is down may seem alive for many minutes, and a certificate may have been renewed.
    fn renew(&self) {
        if let Err(error) = self.handshake.channels.renew() {
            tracing::warn!(%error, "failed to open a new connection to the plugin: the former one is kept");
        }
    }

    fn pause(&self, misses: u32) -> Duration {
        if misses == 0 {
            return self.check_every;
        }
        policies::PLUGIN
            .up_to(self.check_every)
            .wait(misses, random::fraction())
    }

    async fn ask(&self) -> Result<(), HandshakeError> {
        self.handshake.health().await?;
        let info = self.handshake.info().await?;
        let before = self.state.borrow().clone();
        if info == before.served.info {
            if before.link != ConnectionStatus::Up {
                tracing::info!(plugin = info.name, "the plugin answers again");
                self.state.send_modify(|state| state.link = ConnectionStatus::Up);
            }
            return Ok(());
        }
        if info.name != before.served.info.name {
            return Err(HandshakeError::Invalid {
                endpoint: self.handshake.endpoint.clone(),
                method: "GetPluginInfo",
                why: format!(
                    "it was called {}, and now calls itself {}",
                    before.served.info.name, info.name
                ),
            });
        }
        tracing::info!(
            plugin = info.name,
            version = info.version,
            instance = info.instance_id,
            "the plugin was restarted"
        );
        let served = self.handshake.kinds_again(info, &before.served).await?;
        self.state.send_replace(before.renewed(served));
        Ok(())
    }

    fn lost(&self, error: &HandshakeError) {
        let why = error.to_string();
        self.state.send_if_modified(|state| match &mut state.link {
            ConnectionStatus::Up => {
                tracing::warn!(
                    plugin = state.served.info.name,
                    why,
                    "the plugin does not answer: asking again with backoff"
                );
                state.link = ConnectionStatus::Down {
                    since: (self.now)(),
                    why,
                };
                true
            }
            ConnectionStatus::Down { why: known, .. } if *known != why => {
                *known = why;
                true
            }
            ConnectionStatus::Down { .. } => false,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_calls_cause_come_less_and_less_often() {
        let begun = Instant::now();
        let longest = Duration::from_secs(10);
        let mut pace = RecheckPace::new(begun);
        assert_eq!(pace.not_before, begun, "the first comes at once");
        let mut pauses = Vec::new();
        for _ in 0..6 {
            let now = pace.not_before;
            pace.caused(now, longest);
            pauses.push((pace.not_before - now).as_secs());
        }
        assert_eq!(pauses, [1, 2, 4, 8, 10, 10]);
        let calm = pace.not_before + longest + Duration::from_secs(1);
        pace.caused(calm, longest);
        assert_eq!(pace.not_before - calm, RECHECK_AFTER);
    }
}
