//! `Debug` for the messages that hold a field marked `debug_redact`: keys are printed, values never.
//!
//! `build.rs` leaves these messages without a `Debug` of prost's, so a new one fails to compile until it stands here.

use std::{collections::BTreeMap, fmt};

use crate::v1alpha1::{ConfigContext, DesiredState, Observation, Outcome, outcome};

/// The keys of a map that holds secrets.
struct Keys<'a, V>(&'a std::collections::HashMap<String, V>);

impl<V> fmt::Debug for Keys<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sorted: BTreeMap<&str, &str> = self.0.keys().map(|key| (key.as_str(), "redacted")).collect();
        f.debug_map().entries(sorted).finish()
    }
}

/// Destructures the message, so that a field cannot be forgotten: `plain` ones are printed, `secret` ones only by their keys.
macro_rules! redacted {
    ($message:ident { plain: [$($plain:ident),*], secret: [$($secret:ident),*] }) => {
        impl fmt::Debug for $message {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Self { $($plain,)* $($secret,)* } = self;
                f.debug_struct(stringify!($message))
                    $(.field(stringify!($plain), $plain))*
                    $(.field(stringify!($secret), &Keys($secret)))*
                    .finish()
            }
        }
    };
}

redacted!(ConfigContext {
    plain: [config_id, revision, settings, credentials_expire_time],
    secret: [credentials]
});
redacted!(DesiredState {
    plain: [parameters],
    secret: [sensitive_values]
});
redacted!(Observation {
    plain: [
        external_name,
        canonical_id,
        provider_state,
        parameters,
        status,
        ready,
        ready_message,
        up_to_date,
        diffs,
        etag,
        deleting,
        operation,
        found_marker,
        observe_after,
        warnings
    ],
    secret: [connection_details]
});
redacted!(Outcome {
    plain: [external_name, canonical_id, provider_state, warnings, result],
    secret: [connection_details]
});

/// Left out by prost together with its message; what it holds redacts itself.
impl fmt::Debug for outcome::Result {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed(completed) => completed.fmt(f),
            Self::Operation(operation) => operation.fmt(f),
            Self::Failure(failure) => failure.fmt(f),
        }
    }
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
