//! A user of the real API server.

use std::{path::Path, time::Duration};

use bridge_sim::scenario::Unexpected;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;

pub(crate) struct User(Client);

impl User {
    pub(crate) async fn connect(kubeconfig: impl AsRef<Path>) -> Self {
        // A build of the whole workspace includes two providers: one must be named. An error means that it is.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        // One that hangs is asked again.
        let mut config = config.unwrap();
        config.read_timeout = Some(Duration::from_secs(10));
        config.default_retry = false;
        Self(Client::try_from(config).unwrap())
    }

    /// One request: code and body. A patch is a merge patch.
    pub(crate) async fn request(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<(u16, Value), Unexpected> {
        let content_type = if method == Method::PATCH {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let bytes = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(Body::from(bytes))
            .map_err(unexpected)?;
        let response = self.0.send(request).await.map_err(unexpected)?;
        let code = response.status().as_u16();
        let bytes = response
            .into_body()
            .collect()
            .await
            .map_err(unexpected)?
            .to_bytes();
        Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
    }
}

pub(crate) fn unexpected(error: impl std::fmt::Display) -> Unexpected {
    Unexpected(error.to_string())
}
