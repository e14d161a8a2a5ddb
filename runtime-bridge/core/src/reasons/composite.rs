use super::reasons;

reasons! {
    /// Something that happened to a composite resource. Of those that Crossplane has, the strings are its own.
    CompositeEvent {
        SelectComposition = "a composition and its revision were selected, or cannot be",
        CompositionSelection = "the definition's default or enforced composition was taken",
        PublishConnectionSecret = "connection details were published, or could not be; of legacy composite resources alone",
        ComposeResources = "the pipeline, a result of a function, or a composed resource; the message names which",
        NamespaceOverridden = "a function wants another namespace than that of a namespaced composite resource, which is used",
        ReconcileRequestHandled = "a new token stands in the annotation `crossplane.io/reconcile-requested-at`: what was refused is tried again now, and the pipeline runs again",
        ReconciliationPaused = "the composite resource is paused, see `Synced`",
        DeleteCompositeResource = "the deletion of a composite resource cannot go on; the message says why",
        DeletionBlocked = "nothing of a deletion has moved for 10 s; the message names what holds it up and what to do",
        DeletionOverdue = "a deletion takes longer than its deadline; nothing is given up" => "see the condition `DeletionBlocked`",
        ReleasedComposed = "a composed resource was left behind, as annotation `crossbridge.dev/release` asks" => "delete it by hand once it is not needed: Crossbridge no longer does",
        LeftComposed = "a composite resource ended, and left objects that it referred to and did not control; the message names them, and who controls them" => "delete them by hand if nothing needs them any more",
        Adopted = "an object that nobody controlled, and that was composed under this name before, is composed again",
        KindChanged = "under a name another kind is desired than before: the former object stays until it is deleted by hand or the composite resource is" => "delete the former object if nothing needs it any more",
    }
}
