//! Steps on the definitions of a scenario's kinds: deleted, and created again.

use fake_cloud::kinds::GROUP;
use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::runner::{LOOK_AGAIN, Runner, ScenarioBackend, Unexpected, ask, plural};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

impl Runner {
    pub(super) async fn delete_definitions(
        &mut self,
        backend: &mut dyn ScenarioBackend,
    ) -> Result<(), Unexpected> {
        self.definitions.clear();
        let mut uids = Vec::new();
        for (kind, _) in self.objects.clone() {
            let path = definition(&kind);
            let live = ask(backend, Method::GET, &path, &Value::Null).await?;
            uids.push((kind, live["metadata"]["uid"].clone()));
            self.definitions.push(json!({
                "apiVersion": live["apiVersion"],
                "kind": live["kind"],
                "metadata": {"name": live["metadata"]["name"], "labels": live["metadata"]["labels"]},
                "spec": live["spec"],
            }));
            ask(backend, Method::DELETE, &path, &Value::Null).await?;
        }
        for (kind, uid) in uids {
            let end = Instant::now() + backend.wait_limit();
            loop {
                match backend.kube(Method::GET, &definition(&kind), &Value::Null).await {
                    Ok((404, _)) => break,
                    // The bridge installs it anew after a while.
                    Ok((200, live)) if live["metadata"]["uid"] != uid => break,
                    _ if Instant::now() > end => {
                        return Err(Unexpected(format!("the definition of {kind} stays")));
                    }
                    _ => backend.pass(LOOK_AGAIN).await,
                }
            }
        }
        Ok(())
    }

    pub(super) async fn create_definitions(
        &mut self,
        backend: &mut dyn ScenarioBackend,
    ) -> Result<(), Unexpected> {
        for definition in std::mem::take(&mut self.definitions) {
            let end = Instant::now() + backend.wait_limit();
            loop {
                match backend.kube(Method::POST, DEFINITIONS, &definition).await {
                    // Or the bridge was first.
                    Ok((code, _)) if code < 300 || code == 409 => break,
                    answer if Instant::now() > end => {
                        let name = &definition["metadata"]["name"];
                        return Err(Unexpected(format!("the CRD {name} is not created: {answer:?}")));
                    }
                    _ => backend.pass(LOOK_AGAIN).await,
                }
            }
        }
        Ok(())
    }
}

fn definition(kind: &str) -> String {
    format!("{DEFINITIONS}/{}.{GROUP}", plural(kind))
}
