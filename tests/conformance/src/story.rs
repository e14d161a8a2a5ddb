//! A course of calls, and the assertions that are judged by what came back.

use futures::future::BoxFuture;

use crate::{assertion::Assertion, bench::Bench, lab::Lab, verdict::Stop};

/// What a story runs with: the plugin as a whole, or one kind.
pub(crate) trait Stage: Send + Sync {
    fn bench(&self) -> &Bench;
}

impl Stage for Bench {
    fn bench(&self) -> &Bench {
        self
    }
}

impl Stage for Lab {
    fn bench(&self) -> &Bench {
        &self.bench
    }
}

/// A story about `C`.
pub(crate) struct Story<C: 'static> {
    /// What it judges. Those without a verdict at its end get the reason for which it ended.
    pub assertions: &'static [&'static Assertion],
    pub run: for<'a> fn(&'a C) -> BoxFuture<'a, Result<(), Stop>>,
}

impl<C: Stage> Story<C> {
    /// Runs it. Whatever it leaves unjudged is blocked, or not applicable.
    pub(crate) async fn tell(&self, stage: &C) {
        let ended = (self.run)(stage).await;
        let stop = match ended {
            Ok(()) => Stop::not_applicable("nothing of it occurred"),
            Err(stop) => stop,
        };
        let bench = stage.bench();
        for assertion in self.assertions {
            if bench.book.verdict(assertion, bench.subject()).is_none() {
                bench.note(assertion, stop.clone().into());
            }
        }
    }

    /// Whether it judges any of these.
    pub(crate) fn judges(&self, wanted: impl Fn(&Assertion) -> bool) -> bool {
        self.assertions.iter().any(|assertion| wanted(assertion))
    }
}
