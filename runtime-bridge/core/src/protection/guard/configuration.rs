//! The configuration by which the API server asks the webhook.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::names::{WEBHOOK, WEBHOOK_CONFIGURATION, WEBHOOK_PATH};
use crate::{
    composite::names::IN_USE,
    crd::{MANAGED_BY, MANAGED_BY_LABEL},
};

/// How the API server reaches the webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Through a Service, at its port 443.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Directly: this process alone.
    Host {
        /// DNS name or IP address.
        host: String,
        /// Where the process listens.
        port: u16,
    },
}

impl Reach {
    /// What the server's certificate must name.
    pub fn hosts(&self) -> Vec<String> {
        vec![match self {
            Self::Service { namespace, name } => format!("{name}.{namespace}.svc"),
            Self::Host { host, .. } => host.clone(),
        }]
    }

    fn client_config(&self) -> Value {
        match self {
            Self::Service { namespace, name } => json!({"service": {
                "namespace": namespace, "name": name, "path": WEBHOOK_PATH, "port": 443,
            }}),
            Self::Host { host, port } => {
                let host = if host.contains(':') {
                    format!("[{host}]")
                } else {
                    host.clone()
                };
                json!({"url": format!("https://{host}:{port}{WEBHOOK_PATH}")})
            }
        }
    }
}

/// The configuration, by Crossplane's names. `bundle`: PEM of who is trusted. Every field that the API server would fill in is given, as what is
/// stored is compared with it.
pub fn webhook_configuration(reach: &Reach, bundle: &str) -> Value {
    let mut client_config = reach.client_config();
    client_config["caBundle"] = STANDARD.encode(bundle).into();
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": WEBHOOK_CONFIGURATION, "labels": {MANAGED_BY_LABEL: MANAGED_BY}},
        "webhooks": [{
            "name": WEBHOOK,
            "admissionReviewVersions": ["v1"],
            "clientConfig": client_config,
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {"matchLabels": {IN_USE: "true"}},
            "rules": [{
                "apiGroups": ["*"],
                "apiVersions": ["*"],
                "operations": ["DELETE"],
                "resources": ["*"],
                "scope": "*",
            }],
            "sideEffects": "None",
            "timeoutSeconds": 10,
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_and_a_host_are_reached_by_what_the_certificate_names() {
        let service = Reach::Service {
            namespace: "system".to_owned(),
            name: "bridge".to_owned(),
        };
        assert_eq!(service.hosts(), ["bridge.system.svc"]);
        let of = |reach: &Reach| webhook_configuration(reach, "CA")["webhooks"][0]["clientConfig"].clone();
        assert_eq!(
            of(&service),
            json!({
                "service": {"namespace": "system", "name": "bridge", "path": "/validate-no-usages", "port": 443},
                "caBundle": "Q0E=",
            })
        );
        let url = |host: &str| {
            let host = host.to_owned();
            of(&Reach::Host { host, port: 9443 })["url"].clone()
        };
        assert_eq!(url("127.0.0.1"), "https://127.0.0.1:9443/validate-no-usages");
        assert_eq!(url("::1"), "https://[::1]:9443/validate-no-usages");
    }
}
