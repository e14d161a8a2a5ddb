//! One row for each failure code: what the bridge does about it, and how far that reaches.

use std::time::Duration;

use crate::{
    back_off::policies::CallBackoffs,
    external::{Failure, FailureCode},
};

/// What a failure makes the bridge do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// This object waits until the user changes something, or asks for another try. It is tried again rarely all the same: what the desired state
    /// refers to may exist by then.
    WaitForUser,
    /// Observe again at once, then back off.
    Reobserve,
    /// Back off and retry.
    BackOff,
    /// Reported as waiting, not as an error; else like `BackOff`.
    WaitForDependency,
    /// Retry slowly: a person must do something that we cannot see.
    RetrySlowly,
    /// Every object of this config waits until its revision changes or CheckConfig succeeds.
    SuspendConfig,
    /// The credentials are read afresh and the call is repeated once; then like `SuspendConfig`.
    RereadCredentials,
    /// Every object of this config and rate-limit group waits.
    SuspendGroup,
}

/// The row of a code.
pub fn reaction(code: FailureCode) -> Reaction {
    match code {
        FailureCode::InvalidSpec
        | FailureCode::ImmutableField
        | FailureCode::Unsupported
        | FailureCode::AlreadyExists => Reaction::WaitForUser,
        FailureCode::NotFound => Reaction::Reobserve,
        FailureCode::DependencyNotReady => Reaction::WaitForDependency,
        FailureCode::Conflict
        | FailureCode::Unavailable
        | FailureCode::Timeout
        | FailureCode::OperationFailed
        | FailureCode::OperationExpired
        | FailureCode::TokenReused
        | FailureCode::Internal => Reaction::BackOff,
        FailureCode::PermissionDenied | FailureCode::QuotaExceeded => Reaction::RetrySlowly,
        FailureCode::InvalidConfig | FailureCode::Unauthenticated => Reaction::SuspendConfig,
        FailureCode::CredentialsExpired => Reaction::RereadCredentials,
        FailureCode::Throttled => Reaction::SuspendGroup,
    }
}

/// How long to wait after the `failures`-th failure in a row (from 1); `None`: a call without an answer.
pub fn delay(backoffs: &CallBackoffs, failure: Option<&Failure>, failures: u32, chance: f64) -> Duration {
    let least = failure
        .and_then(|failure| failure.retry_after)
        .unwrap_or_default();
    let policy = match failure.map(|failure| reaction(failure.code)) {
        Some(Reaction::Reobserve | Reaction::RereadCredentials) if failures <= 1 => return least,
        Some(Reaction::RetrySlowly) => backoffs.slow,
        Some(Reaction::SuspendConfig | Reaction::RereadCredentials) => backoffs.config,
        Some(Reaction::SuspendGroup) => backoffs.throttle,
        Some(
            Reaction::WaitForUser | Reaction::Reobserve | Reaction::BackOff | Reaction::WaitForDependency,
        )
        | None => backoffs.call,
    };
    policy.wait_at_least(least, failures, chance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{back_off::policies, external::Effect};

    fn failure(code: FailureCode, retry_after: Option<u64>) -> Failure {
        Failure {
            code,
            effect: Effect::None,
            reason: "Test".to_owned(),
            message: String::new(),
            retry_after: retry_after.map(Duration::from_secs),
            violations: Vec::new(),
            upstream_code: String::new(),
            upstream_request_id: String::new(),
            existing_external_name: String::new(),
        }
    }

    /// How far a code reaches, and how long it makes its objects wait: first and longest.
    fn documented(code: FailureCode) -> [String; 2] {
        let reach = match reaction(code) {
            Reaction::SuspendConfig | Reaction::RereadCredentials => "config",
            Reaction::SuspendGroup => "config and rate-limit group",
            Reaction::WaitForUser
            | Reaction::Reobserve
            | Reaction::BackOff
            | Reaction::WaitForDependency
            | Reaction::RetrySlowly => "object",
        };
        let after = |failures| match delay(
            &CallBackoffs::default(),
            Some(&failure(code, None)),
            failures,
            0.0,
        )
        .as_secs()
        {
            seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
            seconds => format!("{seconds} s"),
        };
        let waits = match reaction(code) {
            Reaction::WaitForUser => {
                let wait = policies::REJECTED_CALL;
                assert_eq!(wait.wait(1, 0.0), wait.wait(u32::MAX, 0.0), "one wait for all");
                format!("{} min", wait.wait(1, 0.0).as_secs() / 60)
            }
            Reaction::Reobserve | Reaction::RereadCredentials => {
                format!("not, then up to {}", after(u32::MAX))
            }
            _ => format!("{} to {}", after(1), after(u32::MAX)),
        };
        [reach.to_owned(), waits]
    }

    /// `INVALID_SPEC` as this crate calls it.
    fn code(name: &str) -> FailureCode {
        let words = name.split('_').map(|word| {
            let (first, rest) = word.split_at(1);
            format!("{first}{}", rest.to_lowercase())
        });
        let name = serde_json::Value::String(words.collect());
        serde_json::from_value(name).expect("a code of the contract is known here")
    }

    #[test]
    fn the_contract_page_lists_the_reaction_to_every_code() {
        let (_, page) = include_str!("../../../../docs/contract.md")
            .split_once("## What the bridge does with a failure\n")
            .expect("it has a table of codes");
        let mut reported = Vec::new();
        for row in page.lines().skip_while(|line| !line.starts_with("| `")) {
            let cells: Vec<&str> = row.split(" | ").collect();
            let &[codes, reach, waits, _] = cells.as_slice() else {
                break;
            };
            // Every second part stands between two of them.
            for name in codes.split('`').skip(1).step_by(2) {
                assert_eq!(
                    [reach, waits].map(str::to_owned),
                    documented(code(name)),
                    "{name}"
                );
                reported.push(name);
            }
        }
        let contract = include_str!("../../../../proto/crossbridge/provider/v1alpha1/failure.proto");
        let mut known: Vec<&str> = contract
            .lines()
            .filter_map(|line| line.trim().strip_prefix("FAILURE_CODE_")?.split_once(" = "))
            .map(|(name, _)| name)
            .filter(|name| *name != "UNSPECIFIED")
            .collect();
        known.sort_unstable();
        reported.sort_unstable();
        assert_eq!(reported, known);
    }

    #[test]
    fn delays_double_up_to_a_limit_and_never_undercut_the_advice() {
        let delay = |failure: Option<&Failure>, failures, chance| {
            delay(&CallBackoffs::default(), failure, failures, chance)
        };
        let unavailable = failure(FailureCode::Unavailable, None);
        let seconds: Vec<u64> = (1..9)
            .map(|n| delay(Some(&unavailable), n, 0.0).as_secs())
            .collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        let advised = failure(FailureCode::Throttled, Some(90));
        assert_eq!(delay(Some(&advised), 1, 0.0), Duration::from_secs(90));
        assert!(delay(Some(&advised), 1, 1.0) > Duration::from_secs(90));
        for at_once in [FailureCode::NotFound, FailureCode::CredentialsExpired] {
            assert_eq!(delay(Some(&failure(at_once, None)), 1, 0.0), Duration::ZERO);
        }
        assert_eq!(
            delay(Some(&failure(FailureCode::CredentialsExpired, None)), 2, 0.0),
            Duration::from_secs(10)
        );
        assert!(delay(None, u32::MAX, 1.0) >= Duration::from_secs(40));
    }

    #[test]
    fn the_operator_sets_each_back_off_of_calls() {
        let backoffs = CallBackoffs {
            call: "2s..3m".parse().unwrap(),
            slow: "3s..3m".parse().unwrap(),
            config: "4s..3m".parse().unwrap(),
            throttle: "5s..3m".parse().unwrap(),
        };
        let first = |code| delay(&backoffs, Some(&failure(code, None)), 1, 0.0).as_secs();
        let codes = [
            FailureCode::Unavailable,
            FailureCode::QuotaExceeded,
            FailureCode::InvalidConfig,
            FailureCode::Throttled,
        ];
        assert_eq!(codes.map(first), [2, 3, 4, 5]);
        assert_eq!(delay(&backoffs, None, 1, 0.0).as_secs(), 2);
    }
}
