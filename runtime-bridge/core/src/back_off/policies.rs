//! All policies of the bridge: `docs/retries.md` is written from them.

use std::time::Duration;

use super::BackoffPolicy;

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What failed, and is tried again.
    pub what: &'static str,
    /// How long it waits.
    pub policy: BackoffPolicy,
    /// The flag of `serve` that sets it; empty: there is none.
    pub flag: &'static str,
}

macro_rules! policies {
    ($($(#[$attribute:meta])* $name:ident = $policy:expr, $flag:literal, $what:literal;)+) => {
        $(
            $(#[$attribute])*
            #[doc = $what]
            pub const $name: BackoffPolicy = $policy;
        )+

        /// All of them, in the order of the documents.
        pub const ALL: &[Row] = &[$(Row { what: $what, policy: $name, flag: $flag },)+];
    };
}

const fn millis(first: u64, longest: u64) -> BackoffPolicy {
    BackoffPolicy::new(Duration::from_millis(first), Duration::from_millis(longest))
}

const fn seconds(first: u64, longest: u64) -> BackoffPolicy {
    millis(first * 1000, longest * 1000)
}

policies! {
    CALL = seconds(1, 60), "--call-backoff",
        "a call to the plugin, for which it is enough to wait; an Update after which the resource still differs";
    SLOW_CALL = seconds(30, 600), "--slow-backoff",
        "a call that a person must make possible: `PERMISSION_DENIED`, `QUOTA_EXCEEDED`";
    REJECTED_CALL = seconds(600, 600), "",
        "a call whose desired state the plugin rejects (`INVALID_SPEC`, `IMMUTABLE_FIELD`, `UNSUPPORTED`, `ALREADY_EXISTS`), unless spec, config or an annotation changes before: `crossplane.io/reconcile-requested-at` tries again at once";
    CONFIG = seconds(5, 300), "--config-backoff",
        "a config that the plugin or the external system rejects, and the calls of its objects";
    THROTTLE = seconds(2, 120), "--throttle-backoff",
        "all calls of a config and rate-limit group: `THROTTLED`";
    CONFIG_UNANSWERED = seconds(1, 15), "",
        "CheckConfig, which the plugin did not answer";
    API = seconds(1, 60), "",
        "a request to the API server";
    API_CONFLICT = millis(10, 5_000), "",
        "a write that met another writer's; that version has been read meanwhile";
    API_REJECTED = seconds(30, 600), "",
        "a write that the API server rejects until a person changes something";
    AT_PROVIDER = seconds(60, 600).without_jitter(), "",
        "a `status.atProvider` that the API server rejects; the rest of the status is written meanwhile";
    PERSIST = millis(50, 5_000), "",
        "the write that stores an answer, before which nothing else is done";
    WATCH = millis(50, 5_000), "",
        "a list or a watch";
    WATCH_STARTING = millis(50, 1_000), "",
        "a watch of a kind that the API server does not serve yet";
    WATCH_FORBIDDEN = millis(50, 30_000), "",
        "a list or a watch that the bridge has no right to";
    DISCOVERY = millis(250, 30_000), "",
        "the question to the API server for kinds without definitions";
    RECONCILE = seconds(1, 300), "",
        "a reconcile that panicked or ran out of time";
    DEFINITION = seconds(1, 300).without_jitter(), "",
        "the inspection of a definition after a write, as another writer may want it otherwise";
    INSPECTION = seconds(1, 300), "",
        "the inspection of a definition that failed";
    GUARD = millis(250, 60_000), "",
        "the trial that proves the guard of usages, and the writes of its objects";
    RUN = seconds(1, 30), "",
        "the run of a composite resource's pipeline that failed";
    PUBLICATION = seconds(60, 900).without_jitter(), "",
        "a change of the kinds of a plugin, from the third within ten minutes on: what it published last is served meanwhile";
    PLUGIN = millis(200, 10_000), "",
        "the question to a plugin whether it is there";
    FUNCTION = seconds(1, 30), "",
        "a call of a function that is held, as it did not answer three times in a row: one probe at a time";
    STARTUP = millis(100, 2_000).without_jitter(), "",
        "plugin, API server and the bridge's Secret at startup, until `--startup-timeout`";
    DEV = millis(200, 10_000).without_jitter(), "",
        "the start of a program by `runtime-bridge dev`";
}

/// The policies that the operator may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallBackoffs {
    /// [`CALL`].
    pub call: BackoffPolicy,
    /// [`SLOW_CALL`].
    pub slow: BackoffPolicy,
    /// [`CONFIG`].
    pub config: BackoffPolicy,
    /// [`THROTTLE`].
    pub throttle: BackoffPolicy,
}

impl Default for CallBackoffs {
    fn default() -> Self {
        Self {
            call: CALL,
            slow: SLOW_CALL,
            config: CONFIG,
            throttle: THROTTLE,
        }
    }
}
