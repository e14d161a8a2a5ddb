//! A course of calls, and the assertions that are judged by what came back.

use futures::future::BoxFuture;

use crate::{assertion::Assertion, kind_context::KindContext, run_context::RunContext, verdict::Stop};

/// What a suite runs with: the plugin as a whole, or one kind.
pub(crate) trait SuiteContext: Send + Sync {
    fn run_ctx(&self) -> &RunContext;
}

impl SuiteContext for RunContext {
    fn run_ctx(&self) -> &RunContext {
        self
    }
}

impl SuiteContext for KindContext {
    fn run_ctx(&self) -> &RunContext {
        &self.run_ctx
    }
}

/// A suites about `C`.
pub(crate) struct Suite<C: 'static> {
    /// What it judges. Those without a verdict at its end get the reason for which it ended.
    pub assertions: &'static [&'static Assertion],
    pub run: for<'a> fn(&'a C) -> BoxFuture<'a, Result<(), Stop>>,
}

impl<C: SuiteContext> Suite<C> {
    /// Runs it. Whatever it leaves unjudged is blocked, or not applicable.
    pub(crate) async fn execute(&self, context: &C) {
        let ended = (self.run)(context).await;
        let stop = match ended {
            Ok(()) => Stop::not_applicable("nothing of it occurred"),
            Err(stop) => stop,
        };
        let run_ctx = context.run_ctx();
        for assertion in self.assertions {
            if run_ctx
                .verdict_log
                .verdict(assertion, run_ctx.subject())
                .is_none()
            {
                run_ctx.note(assertion, stop.clone().into());
            }
        }
    }

    /// Whether it judges any of these.
    pub(crate) fn judges(&self, wanted: impl Fn(&Assertion) -> bool) -> bool {
        self.assertions.iter().any(|assertion| wanted(assertion))
    }
}
