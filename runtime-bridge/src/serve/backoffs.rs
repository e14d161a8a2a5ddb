//! What the operator may set of the waits after calls that failed.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

use bridge_core::back_off::{BackoffPolicy, policies::CallBackoffs};
use clap::Args;

/// Waits between retries of calls: the first and the longest, doubled with each failure in a row.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Retries")]
#[allow(clippy::struct_field_names)] // They are called as the flags are.
pub struct BackoffArgs {
    /// After a call for which it is enough to wait.
    #[arg(
        long,
        env = "CROSSBRIDGE_CALL_BACKOFF",
        value_name = "FIRST..LONGEST",
        default_value_t = CallBackoffs::default().call
    )]
    pub call_backoff: BackoffPolicy,
    /// After a call that a person must make possible: PERMISSION_DENIED, QUOTA_EXCEEDED.
    #[arg(
        long,
        env = "CROSSBRIDGE_SLOW_BACKOFF",
        value_name = "FIRST..LONGEST",
        default_value_t = CallBackoffs::default().slow
    )]
    pub slow_backoff: BackoffPolicy,
    /// While a config is rejected: INVALID_CONFIG, UNAUTHENTICATED.
    #[arg(
        long,
        env = "CROSSBRIDGE_CONFIG_BACKOFF",
        value_name = "FIRST..LONGEST",
        default_value_t = CallBackoffs::default().config
    )]
    pub config_backoff: BackoffPolicy,
    /// While the calls of a config and rate-limit group are throttled and the plugin does not advise a longer wait.
    #[arg(
        long,
        env = "CROSSBRIDGE_THROTTLE_BACKOFF",
        value_name = "FIRST..LONGEST",
        default_value_t = CallBackoffs::default().throttle
    )]
    pub throttle_backoff: BackoffPolicy,
}

impl From<CallBackoffs> for BackoffArgs {
    fn from(backoffs: CallBackoffs) -> Self {
        Self {
            call_backoff: backoffs.call,
            slow_backoff: backoffs.slow,
            config_backoff: backoffs.config,
            throttle_backoff: backoffs.throttle,
        }
    }
}

impl From<&BackoffArgs> for CallBackoffs {
    fn from(args: &BackoffArgs) -> Self {
        Self {
            call: args.call_backoff,
            slow: args.slow_backoff,
            config: args.config_backoff,
            throttle: args.throttle_backoff,
        }
    }
}
