use super::reasons;

reasons! {
    /// Something that happened, as it should.
    NormalEvent {
        CreatedExternalResource = "a Create succeeded, or began an operation",
        UpdatedExternalResource = "an Update succeeded, or began an operation",
        CorrectedDrift = "the resource had been changed by another actor, and was updated to the desired state; the message names the fields",
        DeletedExternalResource = "a Delete succeeded, or began an operation",
        AdoptedExternalResource = "a resource that existed already is managed by this object from now on",
        ReplacingExternalResource = "the resource is deleted, as approved, so that another one takes its place",
        PendingExternalResource = "the resource is not found, and is observed again before it is created anew",
        ProviderConfigChanged = "the resource was found by other settings of its ProviderConfig than those that it was created with",
        ReconcileRequestHandled = "the annotation `crossplane.io/reconcile-requested-at` was acted upon",
        ReconciliationPaused = "the object is paused, see `Synced`",
    }
}

reasons! {
    /// Something that a person may have to look after. The reason of each stop comes as a warning, too, and so do a plugin's own warnings.
    WarningEvent {
        CannotConnectToProvider = "the config or a Secret cannot be used, or a rate limit holds all calls; the message names the reason",
        CannotObserveExternalResource = "an Observe or a poll failed, or the resource is absent and may not be created",
        CannotCreateExternalResource = "a Create failed",
        CannotUpdateExternalResource = "an Update failed",
        CannotDeleteExternalResource = "a Delete failed",
        CannotPublishConnectionDetails = "the connection Secret cannot be written",
        CannotUpdateManagedResource = "the API server rejects a write of the bridge until a person changes something",
        ConnectionDetailsLost = "connection details that are given once were lost, see the condition `ConnectionDetails`",
        ContradictoryAnswer = "a bug of the plugin: it reports that a creation had no effect, and what it created",
        PluginUnavailable = "of a config: the plugin cannot be reached, so that nothing of its objects is observed or changed; one event for all of them",
        RecreatingExternalResource = "the resource existed, was deleted by another actor, and is created anew" => "find out who deleted it",
        LeftExternalResource = "an object was deleted without its resource; the message names what was left, and why",
        UndeclaredConnectionDetails = "an answer has connection keys that the kind does not declare, as for a moment after an upgrade of the plugin; the message names them" => "if it stays: a bug of the plugin",
        UsageAccounting = "of a config: its deletion waits for objects; the message names or counts them",
    }
}
