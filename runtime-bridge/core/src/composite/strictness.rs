//! How much of what functions desire is judged here.

/// What is made of desired objects that upstream would send, though no API server takes them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// They are rejected by name: for what is written.
    #[default]
    Live,
    /// They are shown as upstream shows them: for `render`.
    Render,
}
