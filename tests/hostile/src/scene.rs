//! Who is there: a control plane, a bridge, the good plugin with its objects, and whoever is hostile.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bridge_control_plane::process::{Process, ScratchDir, Spawn};
use bridge_control_planes::{ControlPlanes, TestPlane};
use bridge_e2e::{Cluster, binary, condition, eventually, is_ready, is_synced};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, ListParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, SemaphorePermit, oneshot},
};

use crate::{GROUP, HOSTILE, HostilePlugin, MINE, Neighbours};

/// Objects of the good plugin.
pub const GOOD: usize = 50;

/// A bridge that is asked to stop has ended before this, as it lets calls end for a minute.
const STOP_WITHIN: Duration = Duration::from_secs(90);

/// The secret that the hostile ones are told, or send on; it must be told nowhere.
pub const CANARY: &str = "canary-4f1c-that-nobody-tells";

/// Two scenes at once are as many as two cores bear.
static ROOM: Semaphore = Semaphore::const_new(2);

static PLANES: ControlPlanes = ControlPlanes::new(&[]);

/// All of them. Ended when dropped.
pub struct Scene {
    /// A client of the real API server, in the good namespace.
    pub cluster: Cluster,
    /// The good plugin.
    pub neighbours: Arc<Neighbours>,
    pub(crate) bridge: Process,
    pub(crate) log: PathBuf,
    pub(crate) definitions: Vec<(String, String)>,
    admin: String,
    _control_plane: TestPlane,
    _hostile: Vec<HostilePlugin>,
    _serving: oneshot::Sender<()>,
    _scratch: ScratchDir,
    _room: SemaphorePermit<'static>,
}

impl Scene {
    /// Without a hostile plugin: for a tenant, or to compare with.
    ///
    /// # Panics
    /// If anything does not start.
    pub async fn without_plugin() -> Self {
        Self::with_plugins([] as [fn(&Path) -> HostilePlugin; 0]).await
    }

    /// With a hostile plugin, which is listed before the good one.
    ///
    /// # Panics
    /// If anything does not start.
    pub async fn with_plugin(hostile: impl FnOnce(&Path) -> HostilePlugin) -> Self {
        Self::with_plugins([hostile]).await
    }

    /// With so many hostile plugins, which are listed before the good one.
    ///
    /// # Panics
    /// If anything does not start.
    pub async fn with_plugins<H>(hostile: impl IntoIterator<Item = H>) -> Self
    where
        H: FnOnce(&Path) -> HostilePlugin,
    {
        let room = ROOM.acquire().await.expect("never closed");
        let plane = PLANES.take().await;
        let control_plane = plane.unwrap_or_else(|error| panic!("{error}"));
        let cluster = Cluster::connect(&control_plane.kubeconfig()).await;
        let scratch = ScratchDir::new("crossbridge-hostile-").expect("a folder");

        let neighbours = Arc::new(Neighbours::default());
        let (serving, stop) = oneshot::channel::<()>();
        let good = format!("unix://{}", scratch.path().join("good.sock").display());
        let (plugin, endpoint) = (neighbours.plugin(), good.clone());
        tokio::spawn(async move {
            let stopped = async { drop(stop.await) };
            plugin.serve_at(&endpoint, stopped).await.expect("it serves");
        });

        let mut plugins = Vec::new();
        let mut served = Vec::new();
        for (at, serve) in hostile.into_iter().enumerate() {
            let socket = scratch.path().join(format!("evil-{at}.sock"));
            plugins.push(format!("unix://{}", socket.display()));
            served.push(serve(&socket));
        }
        plugins.push(format!("{GROUP}={good}"));
        let (log, admin) = (scratch.path().join("bridge.log"), free_address().await);
        let mut spawn = Spawn::new(binary("runtime-bridge"))
            .args([
                "serve",
                "--poll",
                "5s",
                "--poll-jitter",
                "1s",
                "--clock-skew",
                "1s",
            ])
            .args(["--admin-address", &admin, "--kubeconfig"])
            .arg(control_plane.kubeconfig())
            .log_to(&log);
        for plugin in &plugins {
            spawn = spawn.args(["--plugin", plugin]);
        }
        let bridge = spawn.spawn().unwrap_or_else(|error| panic!("{error}"));
        let mut scene = Self {
            cluster,
            neighbours,
            bridge,
            log,
            definitions: Vec::new(),
            admin,
            _control_plane: control_plane,
            _hostile: served,
            _serving: serving,
            _scratch: scratch,
            _room: room,
        };
        scene.plant().await;
        scene.definitions = scene.definition_versions().await;
        scene
    }

    /// The good objects, all of them in sync.
    async fn plant(&self) {
        for plural in ["plants", "clusterproviderconfigs"] {
            self.until_established(plural, GROUP).await;
        }
        self.create(
            "",
            "v1",
            "Secret",
            "default",
            json!({"metadata": {"name": "keys"}, "stringData": {"token": CANARY}}),
        )
        .await;
        let config = json!({
            "metadata": {"name": "default"},
            "spec": {"credentials": {"source": "Secret", "secretRef": {"namespace": "default", "name": "keys"}}},
        });
        self.create(GROUP, "v1alpha1", "ClusterProviderConfig", "", config)
            .await;
        stream::iter(0..GOOD)
            .for_each_concurrent(8, |at| async move {
                let plant = json!({
                    "metadata": {"name": format!("plant-{at}")},
                    "spec": {"forProvider": {"variety": "rose"}},
                });
                self.create(GROUP, "v1alpha1", "Plant", "default", plant).await;
            })
            .await;
        eventually("the good objects are ready", async || {
            let plants = self.plants().await;
            plants.len() == GOOD && plants.iter().all(|plant| is_ready(plant) && is_synced(plant))
        })
        .await;
    }

    /// The good objects as the API server has them.
    ///
    /// # Panics
    /// If they cannot be listed.
    pub async fn plants(&self) -> Vec<Value> {
        let all = self.list(GROUP, "v1alpha1", "Plant").await;
        let all = all["items"].as_array().expect("items").clone();
        all.into_iter()
            .filter(|plant| plant["metadata"]["namespace"] == "default")
            .collect()
    }

    /// Creates an object; a cluster-scoped one with the namespace "".
    ///
    /// # Panics
    /// If the API server rejects it.
    pub async fn create(&self, group: &str, version: &str, kind: &str, namespace: &str, mut object: Value) {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        object["apiVersion"] = json!(resource.api_version);
        object["kind"] = json!(kind);
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let api: Api<DynamicObject> = if namespace.is_empty() {
            Api::all_with(self.client(), &resource)
        } else {
            Api::namespaced_with(self.client(), namespace, &resource)
        };
        eventually(&format!("{kind} is served"), async || {
            match api.create(&PostParams::default(), &object).await {
                Ok(_) => true,
                // A CRD is established a moment before its kind is served.
                Err(kube::Error::Api(status)) if status.code == 404 => false,
                Err(error) => panic!("{kind}: {error}"),
            }
        })
        .await;
    }

    /// Deletes an object, which may stay until its finalizers are gone.
    ///
    /// # Panics
    /// If the API server rejects it.
    pub async fn delete(&self, group: &str, version: &str, kind: &str, namespace: &str, name: &str) {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::namespaced_with(self.client(), namespace, &resource);
        let deleted = api.delete(name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
    }

    /// A namespace of that name, with a Secret `keys` that holds the canary.
    ///
    /// # Panics
    /// If the API server rejects it.
    pub async fn namespace(&self, name: &str) {
        self.create("", "v1", "Namespace", "", json!({"metadata": {"name": name}}))
            .await;
        let secret =
            json!({"metadata": {"name": "keys"}, "stringData": {"token": CANARY, "password": CANARY}});
        self.create("", "v1", "Secret", name, secret).await;
    }

    /// A Secret `many` with so many values, `k0` and so on, no two of them alike.
    ///
    /// # Panics
    /// If the API server rejects it.
    pub async fn many_values(&self, namespace: &str, count: usize) {
        let values = (0..count).map(|at| (format!("k{at}"), json!(format!("value-of-{at:06}-and-more"))));
        let values: serde_json::Map<String, Value> = values.collect();
        let secret = json!({"metadata": {"name": "many"}, "stringData": values});
        self.create("", "v1", "Secret", namespace, secret).await;
    }

    /// So many objects of the hostile plugin, with credentials and a sensitive value that are the canary.
    ///
    /// # Panics
    /// If its kind is not served.
    pub async fn traps(&self, count: usize) {
        self.namespace("evil").await;
        self.config_of(HOSTILE, "evil").await;
        self.traps_of(HOSTILE, MINE, "evil", count).await;
    }

    /// A config of a hostile plugin, with the canary as credentials.
    ///
    /// # Panics
    /// If its kind is not served.
    pub async fn config_of(&self, group: &str, namespace: &str) {
        self.until_established("providerconfigs", group).await;
        let config = json!({
            "metadata": {"name": "default"},
            "spec": {"credentials": {"source": "Secret", "secretRef": {"name": "keys"}}},
        });
        self.create(group, "v1alpha1", "ProviderConfig", namespace, config)
            .await;
    }

    /// So many objects of a kind of a hostile plugin, in a namespace with a config of it.
    ///
    /// # Panics
    /// If the kind is not served.
    pub async fn traps_of(&self, group: &str, kind: &str, namespace: &str, count: usize) {
        self.until_established(&format!("{}s", kind.to_lowercase()), group)
            .await;
        for at in 0..count {
            let name = format!("trap-{at}");
            let trap = json!({
                "metadata": {"name": name, "annotations": {"crossplane.io/external-name": name}},
                "spec": {
                    "managementPolicies": ["Observe"],
                    "providerConfigRef": {"kind": "ProviderConfig", "name": "default"},
                    "writeConnectionSecretToRef": {"name": format!("{name}-connection")},
                    "forProvider": {"passwordSecretRef": {"name": "keys", "key": "password"}},
                },
            });
            self.create(group, "v1alpha1", kind, namespace, trap).await;
        }
    }

    async fn until_established(&self, plural: &str, group: &str) {
        let established = |crd: &Value| condition(crd, "Established")["status"] == "True";
        let crd = self.cluster.definition(&format!("{plural}.{group}"));
        crd.until("to be established", established).await;
    }

    /// All objects of a kind, in all namespaces.
    ///
    /// # Panics
    /// If they cannot be listed, unless there is no such kind.
    pub async fn list(&self, group: &str, version: &str, kind: &str) -> Value {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::all_with(self.client(), &resource);
        match api.list(&ListParams::default()).await {
            Ok(list) => serde_json::to_value(list).expect("JSON"),
            Err(kube::Error::Api(status)) if status.code == 404 => Value::Null,
            Err(error) => panic!("{kind}: {error}"),
        }
    }

    /// Waits until all objects of a kind in a namespace say this in a condition.
    ///
    /// # Panics
    /// If they do not in time.
    pub async fn until_all(&self, group: &str, kind: &str, namespace: &str, of: &str, says: &str) {
        let all_say_so = async || {
            let all = self.list(group, "v1alpha1", kind).await;
            let all = all["items"].as_array().into_iter().flatten();
            let mut theirs = all
                .filter(|object| object["metadata"]["namespace"] == namespace)
                .peekable();
            theirs.peek().is_some() && theirs.all(|object| condition(object, of).to_string().contains(says))
        };
        eventually(&format!("all {kind} of {namespace} say {says:?}"), all_say_so).await;
    }

    /// Waits until no object of a kind is left in a namespace.
    ///
    /// # Panics
    /// If there still is one after a while.
    pub async fn until_none(&self, group: &str, kind: &str, namespace: &str) {
        eventually(&format!("no {kind} is left in {namespace}"), async || {
            let all = self.list(group, "v1alpha1", kind).await;
            let mut all = all["items"].as_array().into_iter().flatten();
            !all.any(|object| object["metadata"]["namespace"] == namespace)
        })
        .await;
    }

    /// A page of the admin endpoint: its status and text; `None`: no answer within ten seconds.
    pub async fn admin(&self, path: &str) -> Option<(u16, String)> {
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(10))
            .build()
            .expect("a client");
        let answer = client
            .get(format!("http://{}{path}", self.admin))
            .send()
            .await
            .ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.text().await.ok()?))
    }

    /// Waits until a page of the admin endpoint holds this text.
    ///
    /// # Panics
    /// If it does not in time.
    pub async fn until_admin(&self, path: &str, part: &str) {
        eventually(&format!("{path} says {part:?}"), async || {
            let page = self.admin(path).await;
            page.is_some_and(|(_, text)| text.contains(part))
        })
        .await;
    }

    /// What the bridge logged.
    pub fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until the bridge has logged this.
    ///
    /// # Panics
    /// If it does not in time.
    pub async fn until_logged(&self, part: &str) {
        eventually(&format!("it logs {part:?}"), async || {
            self.logged().contains(part)
        })
        .await;
    }

    /// Asks the bridge to stop; its exit code.
    pub async fn stop(&self) -> Option<i32> {
        self.bridge.stop(STOP_WITHIN).await.code()
    }

    pub(crate) fn last_lines(&self) -> String {
        let log = self.logged();
        let lines: Vec<&str> = log.lines().collect();
        let shown = lines[lines.len().saturating_sub(30)..].iter();
        let cut = shown.map(|line| line.chars().take(400).collect::<String>());
        cut.collect::<Vec<_>>().join("\n")
    }

    /// Host and port of the admin endpoint.
    pub fn admin_address(&self) -> &str {
        &self.admin
    }

    /// The CRDs of the good plugin, each with its resourceVersion.
    pub(crate) async fn definition_versions(&self) -> Vec<(String, String)> {
        let all = self
            .list("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
            .await;
        let all = all["items"].as_array().expect("items").iter();
        let of_good = all.filter(|crd| crd["spec"]["group"] == GROUP);
        of_good
            .map(|crd| {
                (
                    crd["metadata"]["name"].to_string(),
                    crd["metadata"]["resourceVersion"].to_string(),
                )
            })
            .collect()
    }

    /// Merges a patch into each of the good objects.
    pub(crate) async fn merge_all(&self, patch: &Value) {
        let merged = stream::iter(0..GOOD)
            .map(Ok::<_, kube::Error>)
            .try_for_each_concurrent(8, |at| async move {
                let name = format!("plant-{at}");
                let plant = self.cluster.object(GROUP, "v1alpha1", "Plant", "plants", &name);
                plant.merge(patch.clone()).await;
                Ok(())
            });
        merged.await.expect("never fails");
    }

    pub(crate) fn client(&self) -> Client {
        self.cluster.client.clone()
    }
}

impl Drop for Scene {
    /// A failed test prints the last lines of the log.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the last lines of the bridge:\n{}", self.last_lines());
        }
    }
}

async fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("its address").to_string()
}
