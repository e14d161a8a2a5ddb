use super::reasons;

reasons! {
    /// Why a usage is not ready, where neither `Available` nor `Deleting` says it.
    UsageReason {
        ResourceNotFound = "the used or the using resource is not found, or cannot be read; the message says which" => "create the resource, or correct the usage",
        NotMarked = "the used resource cannot be labelled as in use; the message is the API server's" => "give the bridge the right to patch resources of that kind",
        FormerHeld = "the usage names another resource than before, and the former one cannot be let go; the message says why" => "see the message; give the bridge the rights to read and patch resources of the former kind",
        Unreadable = "the usage cannot be read, and is left as it is" => "make it shallower, or rename a key, as the message says",
        GuardNotProved = "it is not proved yet that deletions of what is in use are refused; the message says why" => "see the message",
    }
}

reasons! {
    /// Something that happened to a usage. Of those that Crossplane has, the strings are its own.
    UsageEvent {
        UsageConfigured = "the used resource is labelled, and its deletion is refused from now on",
        WaitingUsingDeleted = "the usage is being deleted, and stays until the using resource is gone",
        ResolveSelectors = "no resource matches a selector",
        GetUsedResource = "the used resource is not found, or cannot be read",
        GetUsingResource = "the using resource is not found, or cannot be read",
        AddFinalizer = "the usage itself cannot be written: finalizer, details, owner reference",
        AddInUseLabel = "the used resource cannot be labelled",
        RemoveInUseLabel = "the label cannot be taken off the used resource",
        RemoveFinalizer = "the finalizer cannot be taken off the usage",
        ReplayDeletion = "a deletion of the used resource that was refused before was done, or cannot be done; or the guard does not note which it refuses, so that `--usage-guard=webhook` is needed",
    }
}
