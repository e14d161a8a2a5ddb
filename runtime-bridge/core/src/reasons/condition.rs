use super::reasons;

reasons! {
    /// Why a condition has its value, where no person is needed.
    ConditionReason {
        Available = "the plugin reports that others can use it",
        Unavailable = "it exists, and cannot be used; the message states why",
        Creating = "it does not exist yet, or its creation is not finished",
        Deleting = "the object is being deleted; the message names what blocks",
        Replacing = "the resource is being deleted, as approved, so that another one takes its place",
        Waiting = "of a claim: its composite resource is not ready; the message is the error of the composite resource, if it has one",
        ReconcileSuccess = "the last reconcile succeeded. A message names what it waits for",
        ReconcileError = "the message begins with the step that failed: `observe`, `create`, `update`, `delete` or `operation failed`. What fails before, `connect failed`, has the reasons of docs/provider-config.md",
        ReconcilePaused = "annotation `crossplane.io/paused: \"true\"`, or `managementPolicies: []`",
        WatchCircuitClosed = "of a composite resource: changes come no faster than they are followed",
        WatchCircuitOpen = "of a composite resource: changes come without end, and its functions run some time apart; the message names what changes (`--circuit-breaker-burst` and the flags beside it)",
        Ongoing = "present while an operation runs, with phase and progress",
        Lost = "present once the answer that carried details which are given once was lost; the message names them and the remedy",
        Usable = "of a config: the plugin accepts it; the message names the authenticated identity",
        InUse = "of a config that is being deleted: managed resources still refer to it",
    }
}

impl ConditionReason {
    /// The type of the condition and its status.
    pub const fn condition(self) -> (&'static str, &'static str) {
        match self {
            Self::Available | Self::Usable => ("Ready", "True"),
            Self::Unavailable | Self::Creating | Self::Deleting | Self::Replacing | Self::Waiting => {
                ("Ready", "False")
            }
            Self::ReconcileSuccess => ("Synced", "True"),
            Self::ReconcileError | Self::ReconcilePaused => ("Synced", "False"),
            Self::WatchCircuitClosed => ("Responsive", "True"),
            Self::WatchCircuitOpen => ("Responsive", "False"),
            Self::Ongoing => ("AsyncOperation", "False"),
            Self::Lost => ("ConnectionDetails", "False"),
            Self::InUse => ("Terminating", "False"),
        }
    }

    /// Of a ProviderConfig or ClusterProviderConfig, not of a managed resource.
    pub const fn is_of_config(self) -> bool {
        matches!(self, Self::Usable | Self::InUse)
    }
}

reasons! {
    /// Why the deletion of a composite resource does not go on: conditions `DeletionBlocked` and `DeletionOverdue`.
    DeletionReason {
        Forbidden = "the API server does not delete an object; the message is its own" => "give the bridge the right, or change the policy that refuses",
        InUse = "an object is in use; the message names the usage" => "delete what uses it, or its usage",
        Cycle = "usages form a cycle, so that each of several objects waits for another; the message names them" => "delete one of the usages; if all of them are being deleted, take the finalizer off one",
        ExternalError = "an object that is being deleted says why it does not go, mostly the last answer of its cloud" => "see the message: often something must be emptied or let go there",
        ExternalDeletion = "an object that is being deleted reports that this is under way, and no error: its cloud, or what it composed in turn, takes its time" => "wait; `DeletionOverdue` says when it takes too long",
        Finalizers = "an object is being deleted, says nothing of it, and waits for who set its finalizers" => "find out why their controller does not take them off",
        Unreachable = "an object cannot be read, so that it may still exist" => "see the message",
        Moving = "of `DeletionBlocked=False`: it was blocked, and goes on",
        DeadlineExceeded = "of `DeletionOverdue`: `--deletion-deadline`, or annotation `crossbridge.dev/deletion-deadline`, has passed" => "see `DeletionBlocked`",
        DeadlineExtended = "of `DeletionOverdue=False`: it was overdue, and has a later deadline now",
    }
}
