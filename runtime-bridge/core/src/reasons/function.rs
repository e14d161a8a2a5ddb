use super::reasons;

reasons! {
    /// Why a `Function` is installed or healthy, or is not: Crossplane's own strings.
    FunctionReason {
        ActivePackageRevision = "`Installed`: it is known where the function listens",
        InactivePackageRevision = "`Installed=False`: it is not known where the function listens; the message says why" => "name its endpoint by the annotation `crossbridge.dev/endpoint`, or by `--function`",
        HealthyPackageRevision = "`Healthy`: it answers",
        UnhealthyPackageRevision = "`Healthy=False`: it has not answered several times in a row; the message says why" => "see that the function runs and listens there",
        UnknownPackageRevisionHealth = "`Healthy=Unknown`: nothing has called it since the bridge began",
    }
}
