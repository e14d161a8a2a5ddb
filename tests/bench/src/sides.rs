//! Which sides are measured.

use bridge_bench::report::Side;
use clap::ValueEnum;

/// Who is measured, one after another.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum Sides {
    /// The program on controller-runtime.
    Peer,
    /// The bridge.
    Ours,
    /// The peer, and then ours.
    #[default]
    Both,
}

impl Sides {
    pub(crate) fn all(self) -> &'static [Side] {
        match self {
            Self::Peer => &[Side::Peer],
            Self::Ours => &[Side::Ours],
            Self::Both => &[Side::Peer, Side::Ours],
        }
    }
}
