//! What a running bridge knows of an object.

use std::net::SocketAddr;

use crate::{
    admin::{PATIENCE, Seen},
    healthcheck::ask,
};

/// The admin endpoint of a bridge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endpoint(pub(super) SocketAddr);

impl Endpoint {
    /// `path`: group, kind, namespace, name and uid of the object. `Err`: why it could not be asked.
    pub(super) async fn seen(&self, path: [&str; 5]) -> Result<Seen, String> {
        let address = self.0;
        let path = format!("/debug/objects/{}", path.join("/"));
        let asked = tokio::time::timeout(PATIENCE, ask(address, &path)).await;
        let (status, text) = asked
            .map_err(|_| format!("no bridge answers at {address}"))?
            .map_err(|error| format!("no bridge answers at {address}: {error}"))?;
        if !status.is_success() {
            return Err(format!("the bridge at {address} answers {status}"));
        }
        serde_json::from_str(&text)
            .map_err(|error| format!("the answer of {address} cannot be read: {error}"))
    }
}
