//! What the plugin's own output holds, at the end of everything.

use crate::{
    assertion::assertions,
    run_context::RunContext,
    secrets::Canaries,
    verdict::{Judgement, Verdict},
};

assertions! {
    NO_SECRETS = "secrets/not-in-logs", Durable, "ConfigContext.credentials",
        "No credential and no sensitive value stands in the plugin's standard output, standard error or log.",
        "Log keys, never values; take care with debug output of requests and with errors that quote them.";
}

/// Observes through all that was written.
pub(crate) fn judge(run_ctx: &RunContext, canaries: &Canaries) {
    let logs = run_ctx.process_control.logs();
    if logs.is_empty() {
        run_ctx.not_applicable(NO_SECRETS, "give --plugin-command or --plugin-log");
        return;
    }
    if canaries.is_empty() {
        run_ctx.not_applicable(NO_SECRETS, "the plugin is given no secret of six bytes or more");
        return;
    }
    for log in logs {
        match std::fs::read(&log) {
            Ok(said) => run_ctx.judge(NO_SECRETS, silent(canaries, &said)),
            Err(error) => run_ctx.note(
                NO_SECRETS,
                Verdict::Blocked(format!("cannot read {}: {error}", log.display())),
            ),
        }
    }
}

fn silent(canaries: &Canaries, said: &[u8]) -> Judgement {
    match canaries.found_in(said) {
        Some(what) => Err(format!("it holds the {what}")),
        None => Ok(()),
    }
}
