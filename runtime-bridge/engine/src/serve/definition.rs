//! Brings the definition of one kind to what it should be, or says why it is not.

use std::sync::Arc;

use tokio::time::Instant;

use super::{DefinitionMode, DesiredKind};
use crate::{
    client::ApiClient,
    crd::{self, Bringing, MayWrite},
    lease::Leadership,
};

/// What came of one inspection.
pub(super) struct Inspection {
    pub(super) kind: Arc<DesiredKind>,
    pub(super) brought: Bringing,
}

/// Inspects a definition, and writes it if it is not as it should be and this process leads, but not before `may_write_at`. Unless
/// `may_create`, one that is missing was deleted a moment ago. It waits for nothing but its two requests.
pub(super) async fn inspect(
    client: ApiClient,
    leadership: Leadership,
    mode: DefinitionMode,
    kind: Arc<DesiredKind>,
    may_write_at: Instant,
    may_create: bool,
) -> Inspection {
    let may_write = || match mode {
        DefinitionMode::Check => MayWrite::Never,
        DefinitionMode::Install if !leadership.leads() => MayWrite::NotLeader,
        DefinitionMode::Install if Instant::now() < may_write_at => MayWrite::Later,
        DefinitionMode::Install if may_create => MayWrite::Yes,
        DefinitionMode::Install => MayWrite::Update,
    };
    let brought = crd::bring(&client, &kind.crd, &may_write).await;
    Inspection { kind, brought }
}
