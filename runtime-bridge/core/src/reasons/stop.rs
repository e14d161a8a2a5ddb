use super::reasons;

reasons! {
    /// Why the bridge stops and waits for a person: reason of `Synced`, False, and of an event.
    StopReason {
        CreateOutcomeUnknown = "a creation was sent, its outcome is unknown, and this kind has no recovery"
            => "check the cloud; then annotate `crossbridge.dev/create-outcome: absent/<question>` or `exists/<question>/<name>`. With `crossplane.io/external-create-pending` of another provider: remove that annotation if nothing was created",
        ExternalNameChanged = "the annotation `crossplane.io/external-name` differs from the name that was sent or confirmed"
            => "put it back",
        DoublyOwned = "the resource is already owned by another object: it has that object's marker, or that object here manages it"
            => "if the other object is gone for good: `crossbridge.dev/adopt: <marker>`; else delete this object: the resource is left to the other",
        AlreadyExists = "another actor had the name before our creation arrived"
            => "`crossbridge.dev/adopt: <name>` to manage it, or choose another name",
        ReplacementRequired = "a field that cannot be changed in place differs, because the spec was edited or the resource drifted"
            => "change it back, or annotate `crossbridge.dev/approve-replacement: <value>`, where the value stands in the message: the resource is deleted and another one is created",
        ReplacementForbidden = "the same, and `managementPolicies` or the kind forbid it, or the resource does not bear this object's marker and cannot be updated to bear it"
            => "change it back, or set the marker that the message names",
        ConfigIdentityChanged = "the ProviderConfig means another account than when it was created, and nothing is found there, or something of the same name that is not ours; or nothing is found with other settings"
            => "put the config back, or `crossbridge.dev/orphan: <uid>` while deleting",
        RecordUnreadable = "the annotation `crossbridge.dev/record` was edited"
            => "restore it",
        RecordTooNew = "a newer bridge wrote the annotation `crossbridge.dev/record`, with a field that older ones must not ignore"
            => "run that version of the bridge, or a newer one",
        ExternalNameMissing = "the plugin derives the names of this kind, and does not report this one"
            => "a bug of the plugin: report it to its author",
        RecordTooLarge = "the object's annotations leave no room for the record"
            => "remove some",
    }
}
