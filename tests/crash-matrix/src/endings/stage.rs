//! The cluster of all batches, and what users do in it.

use std::time::Duration;

use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    manifests::{self, GROUP, HOLD, namespaces, own_group},
    processes::Processes,
    record::Record,
    story::Story,
    verdict,
};
use crate::{TestError, cluster::Cluster, testbed::LIMIT};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const APIEXTENSIONS: &str = "apiextensions.crossplane.io";

/// The cluster of all batches.
pub struct Stage {
    /// What runs.
    pub processes: Processes,
    /// What the API server held.
    pub record: Record,
    /// Stories so far.
    pub stories: usize,
    user: User,
}

/// Somebody with all rights.
#[derive(Clone)]
pub struct User {
    client: Client,
}

fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

fn definitions(version: &str) -> ApiResource {
    resource(
        APIEXTENSIONS,
        version,
        "CompositeResourceDefinition",
        "compositeresourcedefinitions",
    )
}

fn orders(group: &str) -> ApiResource {
    resource(group, "v1", "Order", "orders")
}

fn purchases() -> ApiResource {
    resource(GROUP, "v1", "Purchase", "purchases")
}

fn config_maps() -> ApiResource {
    resource("", "v1", "ConfigMap", "configmaps")
}

impl Stage {
    /// The control plane with the definitions that all stories share, which a bridge serves from then on.
    ///
    /// # Errors
    /// Something does not come up.
    pub async fn start(collects: bool) -> Result<Self, TestError> {
        let mut processes = Processes::start(collects).await?;
        let cluster = Cluster::connect(&processes.plane.kubeconfig()).await?;
        let stage = User {
            client: cluster.client(),
        };
        processes.start_bridge(None).await?;
        let crds = resource(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
        );
        let usages = resource("protection.crossplane.io", "v1beta1", "Usage", "usages");
        stage
            .apply(&definitions("v2"), None, manifests::orders(GROUP))
            .await?;
        stage
            .apply(&definitions("v1"), None, manifests::purchases())
            .await?;
        let composition = manifests::composition("orders", GROUP, "Order", None);
        stage.apply(&compositions(), None, composition).await?;
        let record = Record::default();
        for followed in [
            config_maps(),
            usages,
            orders(GROUP),
            purchases(),
            resource(GROUP, "v1", "XPurchase", "xpurchases"),
            definitions("v2"),
            crds,
        ] {
            stage.follow(&record, &followed).await?;
        }
        processes.stop_bridges().await?;
        Ok(Self {
            processes,
            record,
            stories: 0,
            user: stage,
        })
    }

    /// Creates all that a story is about.
    ///
    /// # Errors
    /// The API server's.
    pub async fn create(&self, story: Story, name: &str) -> Result<(), TestError> {
        let user = &self.user;
        for namespace in namespaces(story, name) {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            user.apply(&resource("", "v1", "Namespace", "namespaces"), None, object)
                .await?;
        }
        match story {
            Story::ClaimRecreated => {
                let composition = manifests::composition(name, GROUP, "XPurchase", Some(name));
                user.apply(&compositions(), None, composition).await?;
                user.apply(&purchases(), Some(name), manifests::purchase(name))
                    .await
            }
            Story::DefinitionDeleted => {
                let group = own_group(name);
                user.apply(&definitions("v2"), None, manifests::orders(&group))
                    .await?;
                let composition = manifests::composition(name, &group, "Order", None);
                user.apply(&compositions(), None, composition).await?;
                user.follow(&self.record, &orders(&group)).await?;
                for namespace in namespaces(story, name) {
                    let order = manifests::order(story, &group);
                    user.apply(&orders(&group), Some(&namespace), order).await?;
                }
                Ok(())
            }
            Story::CompositeCreated => Ok(()),
            Story::CompositeDeleted
            | Story::ResourceRemoved
            | Story::UsageRemoved
            | Story::CompositeChanged => {
                user.apply(&orders(GROUP), Some(name), manifests::order(story, GROUP))
                    .await?;
                if story == Story::CompositeDeleted {
                    user.hold(name).await?;
                }
                Ok(())
            }
        }
    }

    /// All that a story is about exists and is ready.
    pub fn is_whole(&self, story: Story, name: &str) -> bool {
        verdict::is_whole(story, &self.record.of(name))
    }

    /// For tasks beside this one.
    pub fn user(&self) -> User {
        self.user.clone()
    }
}

fn compositions() -> ApiResource {
    resource(APIEXTENSIONS, "v1", "Composition", "compositions")
}

impl User {
    /// Does what the story is about. What cannot be done shows in how the story ends.
    pub async fn act(&self, story: Story, name: &str) {
        let group = own_group(name);
        let done = match story {
            Story::CompositeDeleted => self.delete(&orders(GROUP), Some(name), "web").await,
            Story::ResourceRemoved => self.change(name, &json!({"spec": {"second": false}})).await,
            Story::UsageRemoved => self.change(name, &json!({"spec": {"usage": false}})).await,
            Story::CompositeChanged => self.change(name, &manifests::change()).await,
            Story::ClaimRecreated => {
                let deleted = self.delete(&purchases(), Some(name), name).await;
                if deleted.is_ok() {
                    self.succeed(name).await;
                }
                deleted
            }
            Story::DefinitionDeleted => {
                self.delete(&definitions("v2"), None, &format!("orders.{group}"))
                    .await
            }
            Story::CompositeCreated => {
                self.apply(&orders(GROUP), Some(name), manifests::order(story, GROUP))
                    .await
            }
        };
        if let Err(error) = done {
            eprintln!("{name}, {}: {error}", story.name());
        }
    }

    /// Applies a successor until there is one.
    async fn succeed(&self, name: &str) {
        let api = self.api(&purchases(), Some(name));
        let Ok(claim) = serde_json::from_value(manifests::purchase(name)) else {
            return;
        };
        while api.create(&PostParams::default(), &claim).await.is_err() {
            sleep(POLL_INTERVAL).await;
        }
    }

    async fn change(&self, namespace: &str, change: &Value) -> Result<(), TestError> {
        let api = self.api(&orders(GROUP), Some(namespace));
        let patched = api
            .patch("web", &PatchParams::default(), &Patch::Merge(change))
            .await;
        patched.map(drop).map_err(TestError::from)
    }

    async fn delete(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<(), TestError> {
        let deleted = self
            .api(resource, namespace)
            .delete(name, &DeleteParams::background())
            .await;
        deleted.map(drop).map_err(TestError::from)
    }

    /// What uses takes a moment to go.
    async fn hold(&self, namespace: &str) -> Result<(), TestError> {
        let api = self.api(&config_maps(), Some(namespace));
        let hold = Patch::Merge(json!({"metadata": {"finalizers": [HOLD]}}));
        until(|| async { api.patch("third", &PatchParams::default(), &hold).await.map(drop) }).await
    }

    /// Creates it, as soon as its kind is served.
    async fn apply(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        object: Value,
    ) -> Result<(), TestError> {
        let api = self.api(resource, namespace);
        let object: DynamicObject = serde_json::from_value(object).map_err(TestError::from)?;
        until(|| async {
            match api.create(&PostParams::default(), &object).await {
                Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
                other => other.map(drop),
            }
        })
        .await
    }

    async fn follow(&self, record: &Record, resource: &ApiResource) -> Result<(), TestError> {
        until(|| record.follow(&self.client, resource)).await
    }

    fn api(&self, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            None => Api::all_with(self.client.clone(), resource),
        }
    }
}

/// Repeats what fails while a kind is not served yet.
async fn until<F: Future<Output = Result<(), E>>, E: std::fmt::Display>(
    mut try_it: impl FnMut() -> F,
) -> Result<(), TestError> {
    let end = Instant::now() + LIMIT;
    loop {
        match try_it().await {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > end => return Err(TestError::from(error)),
            Err(_) => sleep(POLL_INTERVAL).await,
        }
    }
}
