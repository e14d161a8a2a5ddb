//! What a control plane holds, and what of it a test has left.

use std::{collections::BTreeMap, time::Duration};

use bridge_control_plane::ControlPlane;
use http::{Request, header::ACCEPT};
use kube::{
    Api, Client, Config,
    api::{DynamicObject, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    LIMIT,
    etcd::{Etcd, EtcdError, Key},
};

/// How long nothing may be written until it is at rest. A request that a test has given up on may still be on its way; it takes less, as a rule.
const REST: Duration = Duration::from_millis(150);

/// What the API server writes now and then.
const OF_THE_API_SERVER: [&str; 4] = [
    "/registry/configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking",
    "/registry/leases/kube-system/apiserver-",
    "/registry/masterleases/",
    "/registry/peerserverleases/",
];
/// What it derives from CRDs, and removes with them.
const DERIVED: &str = "/registry/apiregistration.k8s.io/apiservices/";
/// What rules over requests: the API server goes by it for a while after it is gone, and nothing shows for how long.
pub(crate) const RULES: [&str; 14] = [
    "/registry/clusterrolebindings/",
    "/registry/clusterroles/",
    "/registry/flowschemas/",
    "/registry/limitranges/",
    "/registry/mutatingadmissionpolicies/",
    "/registry/mutatingadmissionpolicybindings/",
    "/registry/mutatingwebhookconfigurations/",
    "/registry/prioritylevelconfigurations/",
    "/registry/resourcequotas/",
    "/registry/rolebindings/",
    "/registry/roles/",
    "/registry/validatingadmissionpolicies/",
    "/registry/validatingadmissionpolicybindings/",
    "/registry/validatingwebhookconfigurations/",
];

/// Why a control plane is not as it was, or cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// Something that it had from the beginning.
    #[error("{0} was changed or deleted")]
    Changed(Key),
    /// A role, a webhook or a policy.
    #[error("{0} rules over requests, and may do so for a while after it is deleted")]
    Rule(Key),
    /// What was left does not go.
    #[error("it is not as before after {0:?}")]
    Late(Duration),
    /// Its API server does not answer.
    #[error("its API server cannot be asked: {0}")]
    ApiServer(#[from] kube::Error),
    /// Its API server takes too long.
    #[error("its API server does not answer within {0:?}")]
    Silent(Duration),
    /// Its kubeconfig cannot be used.
    #[error("its kubeconfig cannot be used: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// A CRD is not served.
    #[error("{name} is not served after {limit:?}")]
    NotServed {
        /// The CRD.
        name: String,
        /// How long was waited.
        limit: Duration,
    },
    /// A CRD cannot be read.
    #[error("a CRD cannot be read: {0}")]
    Definition(#[from] serde_yaml_ng::Error),
    /// Its etcd does not answer.
    #[error(transparent)]
    Etcd(#[from] EtcdError),
}

/// An administrator's client.
pub(crate) struct ApiServer(Kubeconfig);

impl ApiServer {
    pub(crate) fn of(plane: &ControlPlane) -> Result<Self, Unusable> {
        Ok(Self(Kubeconfig::read_from(plane.kubeconfig())?))
    }

    /// A new one each time: its tasks end with the runtime of the test that asks.
    async fn client(&self) -> Result<Client, Unusable> {
        // A build of the whole workspace includes two providers: one must be named. An error means that it is.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = Config::from_custom_kubeconfig(self.0.clone(), &KubeConfigOptions::default()).await?;
        Ok(Client::try_from(config)?)
    }

    pub(crate) async fn define(&self, definition: &str) -> Result<(), Unusable> {
        let definition: DynamicObject = serde_yaml_ng::from_str(definition)?;
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let definitions: Api<DynamicObject> =
            Api::all_with(self.client().await?, &ApiResource::from_gvk(&kind));
        definitions.create(&PostParams::default(), &definition).await?;
        Ok(())
    }

    /// Waits until discovery has the kinds of these CRDs, which it has once they are established.
    pub(crate) async fn until_served(&self, definitions: &[&str]) -> Result<(), Unusable> {
        let client = self.client().await?;
        let end = Instant::now() + LIMIT;
        for definition in definitions {
            let definition: Value = serde_yaml_ng::from_str(definition)?;
            while !is_served(&served(&client).await?, &definition["spec"]) {
                if Instant::now() >= end {
                    let name = definition["metadata"]["name"].to_string();
                    return Err(Unusable::NotServed { name, limit: LIMIT });
                }
                sleep(REST).await;
            }
        }
        Ok(())
    }
}

/// What is stored, by key with the revision that wrote it last, and which kinds are served.
#[derive(Debug, PartialEq)]
pub(crate) struct Content {
    pub(crate) keys: BTreeMap<Key, i64>,
    served: Value,
}

impl Content {
    /// Once nothing is written for a while.
    pub(crate) async fn at_rest(api_server: &ApiServer, etcd: &Etcd) -> Result<Self, Unusable> {
        let client = api_server.client().await?;
        let end = Instant::now() + LIMIT;
        let mut last = Self::read(&client, etcd).await?;
        while Instant::now() < end {
            sleep(REST).await;
            let now = Self::read(&client, etcd).await?;
            if now == last {
                return Ok(now);
            }
            last = now;
        }
        Err(Unusable::Late(LIMIT))
    }

    async fn read(client: &Client, etcd: &Etcd) -> Result<Self, Unusable> {
        let mut keys = etcd.keys("/registry/").await?;
        keys.retain(|key, _| !OF_THE_API_SERVER.iter().any(|prefix| key.starts_with(prefix)));
        let served = served(client).await?;
        Ok(Self { keys, served })
    }
}

/// The groups that are served, with their versions and kinds.
async fn served(client: &Client) -> Result<Value, Unusable> {
    let kinds = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let request = Request::get("/apis").header(ACCEPT, kinds).body(Vec::new());
    let request = request.map_err(kube::Error::HttpError)?;
    let answer = timeout(LIMIT, client.request::<Value>(request)).await;
    let mut answer = answer.map_err(|_| Unusable::Silent(LIMIT))??;
    Ok(answer["items"].take())
}

/// Whether one version of it is.
fn is_served(groups: &Value, definition: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut groups = list(groups).into_iter();
    let group = groups.find(|group| group["metadata"]["name"] == definition["group"]);
    let versions = group.map(|group| list(&group["versions"])).unwrap_or_default();
    let mut kinds = versions.iter().flat_map(|version| list(&version["resources"]));
    kinds.any(|kind| kind["resource"] == definition["names"]["plural"])
}

/// What is to be deleted.
pub(crate) fn left(before: &BTreeMap<Key, i64>, now: &BTreeMap<Key, i64>) -> Result<Vec<Key>, Unusable> {
    let mut lasting = before.iter().filter(|(key, _)| !key.starts_with(DERIVED));
    if let Some((key, _)) = lasting.find(|(key, revision)| now.get(*key) != Some(*revision)) {
        return Err(Unusable::Changed(key.clone()));
    }
    let new = now.keys().filter(|key| !before.contains_key(*key));
    let new: Vec<Key> = new.filter(|key| !key.starts_with(DERIVED)).cloned().collect();
    match new
        .iter()
        .find(|key| RULES.iter().any(|prefix| key.starts_with(prefix)))
    {
        Some(rule) => Err(Unusable::Rule(rule.clone())),
        None => Ok(new),
    }
}
