//! A course of calls, and the assertions that are judged by what came back.

use std::time::Duration;

use futures::future::BoxFuture;

use crate::{
    assertion::Assertion, kind_context::KindContext, process_control::END_FOLLOWS, run_context::RunContext,
    verdict::Stop,
};

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
        let run_ctx = context.run_ctx();
        let failed_before: Vec<_> = self
            .assertions
            .iter()
            .map(|assertion| run_ctx.has_failed(assertion))
            .collect();
        let ended = (self.run)(context).await;
        let mut stop = match ended {
            Ok(()) => Stop::not_applicable("nothing of it occurred"),
            Err(stop) => stop,
        };
        let within = match &stop {
            Stop::Blocked(_) => END_FOLLOWS,
            Stop::NotApplicable(_) => Duration::ZERO,
        };
        if let Some(end) = run_ctx.process_control.unexpected_end(within).await {
            stop = Stop::blocked(end);
            for (assertion, had_failed) in self.assertions.iter().zip(failed_before) {
                if !had_failed {
                    run_ctx.verdict_log.withdraw_failure(assertion, run_ctx.subject());
                }
            }
            // Of one that does not start again, each later suite finds the end anew.
            let _ = run_ctx
                .process_control
                .start_again(&run_ctx.client.channel())
                .await;
        }
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
