//! Strings of the guard that other programs and people know: to the letter Crossplane's where Crossplane has them.

/// The policy that refuses, and its binding.
pub const POLICY: &str = "crossbridge-no-usages";
/// The configuration of the webhook.
pub const WEBHOOK_CONFIGURATION: &str = "crossplane-no-usages";
/// The webhook in it.
pub const WEBHOOK: &str = "nousages.protection.crossplane.io";
/// Where the webhook answers.
pub const WEBHOOK_PATH: &str = "/validate-no-usages";
/// Secret with the certificates of the webhook, in the bridge's own namespace.
pub const WEBHOOK_SECRET: &str = "crossbridge-usage-webhook";
/// `ConfigMap` in the bridge's own namespace, whose deletion is tried.
pub const TRIAL: &str = "crossbridge-usage-guard";
