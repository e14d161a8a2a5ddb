use std::path::{Path, PathBuf};

use bridge_control_plane::process::Spawn;
use serde_json::Value;

use super::table::Table;
use crate::Failure;
use crate::run::answer;

/// Kubernetes, as kubectl sees it.
pub(super) struct Kubernetes {
    kubectl: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubernetes {
    pub(super) fn of(state: &Value) -> Result<Self, Failure> {
        let path = |name: &str| {
            let path = state[name].as_str().map(PathBuf::from);
            path.ok_or_else(|| Failure::new(format!("the state file has no {name}")))
        };
        Ok(Self {
            kubectl: path("kubectl")?,
            kubeconfig: path("kubeconfig")?,
        })
    }

    /// The object of a manifest; `None` if there is none. A kind that is not served is an error.
    pub(super) async fn get(&self, manifest: &Path) -> Result<Option<Value>, Failure> {
        let kubectl = self
            .kubectl(&["get", "--output=json", "--ignore-not-found"])
            .arg("--filename")
            .arg(manifest);
        let text = answer(kubectl).await?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| Failure::new(format!("cannot read what kubectl printed: {error}")))
    }

    /// All objects of these kinds in a namespace.
    pub(super) async fn list(&self, kinds: &str, namespace: &str) -> Result<Vec<Value>, Failure> {
        let text = answer(self.kubectl(&["get", kinds, "--namespace", namespace, "--output=json"])).await?;
        let list: Value = serde_json::from_str(&text)
            .map_err(|error| Failure::new(format!("cannot read what kubectl printed: {error}")))?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    /// The same, in these columns.
    pub(super) async fn table(
        &self,
        kinds: &str,
        namespace: &str,
        columns: &[&str],
    ) -> Result<Table, Failure> {
        let columns = format!("--output=custom-columns={}", columns.join(","));
        let kubectl = self.kubectl(&[
            "get",
            kinds,
            "--namespace",
            namespace,
            "--ignore-not-found",
            &columns,
        ]);
        Ok(Table::parse(&answer(kubectl).await?))
    }

    /// Changes the object of a manifest by a JSON patch.
    pub(super) async fn patch(&self, manifest: &Path, patch: &Value) -> Result<(), Failure> {
        let patch = patch.to_string();
        let kubectl = self.kubectl(&["patch", "--type=json", "--patch", &patch, "--filename"]);
        answer(kubectl.arg(manifest)).await.map(drop)
    }

    /// Asks for the deletion of the objects of these manifests.
    pub(super) async fn delete(&self, manifests: &[&PathBuf]) -> Result<(), Failure> {
        let kubectl = self.kubectl(&["delete", "--wait=false"]);
        let kubectl = manifests.iter().fold(kubectl, |kubectl, manifest| {
            kubectl.arg("--filename").arg(manifest)
        });
        answer(kubectl).await.map(drop)
    }

    /// Asks for the deletion of an object in the namespace `default`.
    pub(super) async fn delete_named(&self, kind: &str, name: &str) -> Result<(), Failure> {
        let kubectl = self.kubectl(&["delete", "--wait=false", "--namespace=default", kind, name]);
        answer(kubectl).await.map(drop)
    }

    fn kubectl(&self, arguments: &[&str]) -> Spawn {
        Spawn::new(&self.kubectl)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(arguments)
    }
}
