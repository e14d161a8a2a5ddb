use super::reasons;

reasons! {
    /// Why a condition of a definition of composite resources has its value. Of those that Crossplane has, the strings are its own.
    DefinitionReason {
        WatchingCompositeResource = "the CRD of the composite resources is established, and they are served",
        TerminatingCompositeResource = "the definition is being deleted; the message names what it waits for",
        WatchingCompositeResourceClaim = "the CRD of the claims is established",
        TerminatingCompositeResourceClaim = "the definition is being deleted; the message names what it waits for",
        InvalidDefinition = "no CRD can be made of the definition; what was served before goes on" => "correct the field that the message names",
        CrdRejected = "the API server rejects the CRD; the message is its own; what was served before goes on" => "correct the schema or the names of the definition",
        CrdConflict = "the CRD belongs to something else" => "delete one of the two, or rename this type",
        CrdNotEstablished = "the API server does not serve the CRD; the message is its own" => "see the message: often another CRD has the same names",
    }
}

reasons! {
    /// Something that happened to a definition, a composition or a revision. The strings are Crossplane's.
    DefinitionEvent {
        RenderCRD = "no CRD can be made of a definition",
        EstablishComposite = "the CRD of composite resources was written, is waited for, or cannot be written",
        TerminateComposite = "composite resources are deleted with their definition, and their CRD with it",
        OfferClaim = "the CRD of claims was written, is waited for, or cannot be written",
        RedactClaim = "claims are deleted with their definition, and their CRD with it",
        CreateRevision = "a new revision of a composition was created",
        UpdateRevision = "a revision of a composition cannot be created, changed or deleted",
        CheckCapabilities = "functions of a pipeline declare that they do other things than to compose",
    }
}
