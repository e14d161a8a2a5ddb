use super::reasons;

reasons! {
    /// Why nothing can be asked of the plugin: its config, or a Secret. Reason of `Ready` of a config, and the beginning of the message of
    /// `Synced` of each object that refers to it.
    ProblemReason {
        InvalidProviderConfigReference = "`spec.providerConfigRef` cannot be read"
            => "write `spec.providerConfigRef` as shown above",
        ProviderConfigNotFound = "there is no config of that name"
            => "create the config, or name another",
        InvalidProviderConfig = "settings or credentials are not of the form that they must have"
            => "correct `spec.settings` or `spec.credentials`; the message names the field",
        InvalidSecretReference = "a field of `spec.forProvider` does not refer to a key of a Secret as it must"
            => "correct the reference; the message names the field",
        SecretNotFound = "the Secret that is referred to does not exist"
            => "create the Secret",
        SecretKeyMissing = "the Secret has no such key"
            => "add the key to the Secret, or name another",
        SecretNotText = "the value in the Secret is not UTF-8 text"
            => "store text under the key that the message names",
        ParametersTooDeep = "`spec.forProvider` is nested more than 64 levels deep"
            => "nest it less deeply",
        SecretsTooLarge = "the values of all Secrets that the object refers to are larger than 4 MiB together"
            => "refer to smaller ones, or to fewer",
        TooManySecrets = "the object refers to more than 1024 values of Secrets"
            => "refer to fewer, or put several values into one",
        SecretNotRead = "the Secret cannot be read"
            => "create it if it does not exist; else the API server did not let the bridge read it: see its rights, or its health",
        ProviderConfigNotRead = "the config cannot be read"
            => "the API server did not let the bridge read it: see its rights, or its health",
        CredentialMissing = "the plugin needs a credential that the Secret, variable or file does not hold"
            => "add it; the message names it",
        EnvironmentVariableMissing = "the bridge has no such variable"
            => "see its Deployment",
        CredentialsFileMissing = "the bridge has no such regular file"
            => "see its Deployment",
        CredentialsFileNotRead = "the bridge cannot read the file within 10 s"
            => "see its Deployment",
        CredentialsSourceForbidden = "a config of a namespace names a variable or file of the bridge, or gives the plugin no credentials"
            => "use a Secret or a ClusterProviderConfig, or start the bridge with the flag that the message names",
        EndpointForbidden = "a config of a namespace sets `settings.endpoint`"
            => "leave it out or use a ClusterProviderConfig, or start the bridge with `--namespaced-endpoints`",
        ProviderConfigNotChecked = "the plugin did not answer CheckConfig"
            => "nothing: it is asked again",
    }
}
