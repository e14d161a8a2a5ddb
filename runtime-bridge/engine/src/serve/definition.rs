//! Brings the definition of one kind to what it should be, or says why it is not.

use std::{sync::Arc, time::Duration};

use super::{DefinitionMode, DesiredKind};
use crate::{
    client::ApiClient,
    crd::{self, Brought, DefinitionState},
    lease::Leadership,
};

/// How long a CRD may take to be established.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// What came of one inspection.
pub(super) struct Inspection {
    pub(super) kind: Arc<DesiredKind>,
    /// The definition as it was found good, or why it is not.
    pub(super) found: Result<Brought, String>,
}

/// Inspects a definition, and writes it if it is not as it should be and this process leads.
pub(super) async fn inspect(
    client: ApiClient,
    leadership: Leadership,
    mode: DefinitionMode,
    kind: Arc<DesiredKind>,
) -> Inspection {
    let found = match mode {
        DefinitionMode::Install => {
            let leads = || leadership.leads();
            crd::bring(&client, &kind.crd, &leads, ESTABLISHED_WITHIN)
                .await
                .map_err(|error| error.to_string())
        }
        DefinitionMode::Check => check(&client, &kind).await,
    };
    Inspection { kind, found }
}

async fn check(client: &ApiClient, kind: &DesiredKind) -> Result<Brought, String> {
    let inspected = crd::inspect(client, &kind.crd)
        .await
        .map_err(|error| error.to_string())?;
    as_wanted(kind.crd_name(), inspected.0)?;
    Ok(Brought {
        version: inspected.1,
        ..Brought::default()
    })
}

fn as_wanted(name: &str, found: DefinitionState) -> Result<(), String> {
    let apply = "apply what `runtime-bridge crds` prints, or run with --crds=install";
    match found {
        DefinitionState::Good => Ok(()),
        DefinitionState::Missing => Err(format!("the CRD {name} is not installed: {apply}")),
        DefinitionState::Different(mut at) => {
            at.truncate(3);
            Err(format!(
                "the CRD {name} is not the one that the plugin needs, it differs at {}: {apply}",
                at.join(", ")
            ))
        }
        DefinitionState::NotEstablished(why) => Err(format!("the CRD {name} is not established: {why}")),
    }
}
