#![allow(clippy::doc_markdown)] // These comments are the help texts.

use std::time::Duration;

/// Flags for how composite resources, claims and usages end.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Compositions")]
pub struct DeletionArgs {
    /// A composite resource or claim whose deletion takes longer says DeletionOverdue. Annotation crossbridge.dev/deletion-deadline of one beats it.
    #[arg(
        long,
        env = "CROSSBRIDGE_DELETION_DEADLINE",
        value_name = "DURATION",
        default_value = "15m",
        value_parser = crate::duration::parse_positive
    )]
    pub deletion_deadline: Duration,
    /// A deleted composite resource goes once its deletions are sent, and with it a claim without compositeDeletePolicy Foreground, as with Crossplane: what is
    /// left is the garbage collector's, and nobody shows why it stays.
    #[arg(long, env = "CROSSBRIDGE_VANISHING_PARENTS")]
    pub vanishing_parents: bool,
    /// With replayDeletion of a Usage, a deletion that was refused at most so long before the Usage, or what uses the resource, began to go is repeated.
    #[arg(
        long,
        env = "CROSSBRIDGE_REPLAY_WINDOW",
        value_name = "DURATION",
        default_value = "10m",
        value_parser = crate::duration::parse_positive
    )]
    pub replay_window: Duration,
}
