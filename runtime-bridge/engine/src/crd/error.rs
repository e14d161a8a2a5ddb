//! Why a definition was not installed or could not be checked, and what to do about it.

use bridge_core::crd::{MANAGED_BY, MANAGED_BY_LABEL, PLUGIN};

use crate::api_error::ApiError;

/// Why a definition was not installed or could not be checked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CrdError {
    /// There is one that was not made by a bridge, and it is otherwise.
    #[error(
        "the CRD {name} exists, is different at {} and was not made by Crossbridge. Delete it if it is a leftover, hand it over \
         with `kubectl label crd {name} {MANAGED_BY_LABEL}={MANAGED_BY}`, or update it where it comes from and run with \
         --crds=check", at.join(", ")
    )]
    Foreign {
        /// Its name.
        name: String,
        /// Where, as JSON Pointers.
        at: Vec<String>,
    },
    /// It is another plugin's, whatever it looks like.
    #[error(
        "the CRD {name} belongs to the plugin {owner}, as its annotation {PLUGIN} says, and is left alone. If that plugin is gone for \
         good, hand the CRD over with `kubectl annotate crd {name} {PLUGIN}-`"
    )]
    OtherPlugin {
        /// Its name.
        name: String,
        /// The plugin that it belongs to.
        owner: String,
    },
    /// It is as it should be, and the API server does not serve it, or not yet.
    #[error("the CRD {name} is not established: {why}")]
    NotEstablished {
        /// Its name.
        name: String,
        /// What the API server says about it.
        why: String,
    },
    /// The API server.
    #[error("cannot {verb} the CRD {name}: {source}")]
    Api {
        /// `create`, `update` or `read`.
        verb: &'static str,
        /// Its name.
        name: String,
        /// Why.
        source: ApiError,
    },
    /// It is not as it should be, and this process does not lead.
    #[error("the CRD {name} is not as it should be yet: the bridge that leads installs it")]
    NotLeader {
        /// Its name.
        name: String,
    },
    /// It is not as it should be, and was written a moment ago: another client wants it otherwise.
    #[error(
        "the CRD {name} is not as it should be: another client changed it after the bridge wrote it; written again later"
    )]
    Paused {
        /// Its name.
        name: String,
    },
    /// It was deleted a moment ago, by someone who may create another one.
    #[error("the CRD {name} was deleted; installed again in a while")]
    Deleted {
        /// Its name.
        name: String,
    },
    /// There is none, and this process only checks.
    #[error("the CRD {name} is not installed: {APPLY}")]
    Missing {
        /// Its name.
        name: String,
    },
    /// It is otherwise, and this process only checks.
    #[error(
        "the CRD {name} is not the one that the plugin needs, it differs at {}: {APPLY}",
        some(at)
    )]
    Different {
        /// Its name.
        name: String,
        /// Where, as JSON Pointers.
        at: Vec<String>,
    },
    /// It was written by something newer, which serves another version of the kind.
    #[error(
        "the CRD {name} was written by {newer}, which is newer, and no longer serves the version of this plugin"
    )]
    VersionNotServed {
        /// Its name.
        name: String,
        /// What wrote it, for people.
        newer: String,
    },
    /// What is to be installed has no name.
    #[error("a CRD without metadata.name cannot be installed")]
    NoName,
}

/// What is done about a definition where nothing is written.
const APPLY: &str = "apply what `runtime-bridge crds` prints, or run with --crds=install";

/// The first few places, for people.
fn some(at: &[String]) -> String {
    at.iter()
        .take(3)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}
