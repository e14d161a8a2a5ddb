use super::reasons;

reasons! {
    /// Something that happened to a claim. The strings are Crossplane's.
    ClaimEvent {
        BindCompositeResource = "the composite resource was bound, is not ready yet, or cannot be bound; the message says which",
        PropagateConnectionSecret = "the connection Secret was copied, or cannot be",
        ReconciliationPaused = "the claim is paused, see `Synced`",
        DeleteCompositeResource = "the composite resource was deleted with its claim, or cannot be",
    }
}
