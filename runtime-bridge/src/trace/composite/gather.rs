//! Reads a tree, object by object, as it is now.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bridge_core::{
    composite::{Composite, ResourceRef},
    watch_plan::GroupKind,
};
use bridge_engine::{
    api_error::ApiError,
    object::{ApiType, Key},
};
use futures::{
    StreamExt,
    future::{BoxFuture, FutureExt},
    stream,
};
use serde_json::Value;
use tokio::sync::Mutex;

use super::node::{Existence, Node, Parent};
use crate::object_lookup::{KindRole, Reader, Served};

/// Reads under way at once below one object.
const READS: usize = 16;

/// Reads trees.
pub(in crate::trace) struct Gather<'a> {
    reader: &'a Reader,
    /// Look for what is not referred to among all kinds, not only among those that are.
    all_kinds: bool,
    /// By group and version.
    served: Mutex<BTreeMap<String, Arc<Served>>>,
    /// Kinds of which all objects were looked at, and kinds of which that failed, with the reason.
    searched: Mutex<BTreeMap<String, Result<(), String>>>,
    /// Uids of what is in the tree.
    shown: Mutex<BTreeSet<String>>,
}

impl<'a> Gather<'a> {
    pub(in crate::trace) fn new(reader: &'a Reader, all_kinds: bool) -> Self {
        Self {
            reader,
            all_kinds,
            served: Mutex::default(),
            searched: Mutex::default(),
            shown: Mutex::default(),
        }
    }

    /// The tree of this object.
    pub(in crate::trace) async fn tree(&self, object: &Value) -> Node {
        self.node(object, None, true).await
    }

    /// The kinds among whose objects those were looked for that no reference names; with the reason where that failed.
    pub(in crate::trace) async fn searched(&self) -> BTreeMap<String, Result<(), String>> {
        self.searched.lock().await.clone()
    }

    fn node<'s>(
        &'s self,
        object: &'s Value,
        parent: Option<Parent<'s>>,
        referenced: bool,
    ) -> BoxFuture<'s, Node> {
        async move {
            let mut node = Node::of(object, parent, referenced);
            let is_new = match &node.uid {
                Some(uid) => self.shown.lock().await.insert(uid.clone()),
                None => true,
            };
            let kind = kind_of(object);
            match self.reader.role(&kind) {
                KindRole::Other => {}
                // What refers to itself, however far around.
                _ if !is_new => node.notes.push("is shown elsewhere in this tree".to_owned()),
                KindRole::Composite(scope) => {
                    let xr = Composite::parse(object.clone(), scope);
                    node.compose(xr.machinery());
                    node.children = self.composed(&xr).await;
                }
                KindRole::Claim => node.children.extend(self.claimed(object).await),
            }
            node
        }
        .boxed()
    }

    async fn composed(&self, xr: &Composite) -> Vec<Node> {
        let home = xr.namespace();
        let parent = Parent::Composite { uid: xr.uid() };
        let refs = xr.refs.iter().map(|one| self.referenced(one, home, parent));
        let mut children: Vec<Node> = at_once(refs).await;
        children.extend(self.strays(xr).await);
        children
    }

    async fn claimed(&self, claim: &Value) -> Option<Node> {
        let reference = ResourceRef::parse(&claim["spec"]["resourceRef"])?;
        let text = |field: &str| claim["metadata"][field].as_str().unwrap_or_default();
        let parent = Parent::Claim {
            namespace: text("namespace"),
            name: text("name"),
        };
        Some(self.referenced(&reference, None, parent).await)
    }

    async fn referenced(&self, one: &ResourceRef, home: Option<&str>, parent: Parent<'_>) -> Node {
        let (namespace, existence) = match self.api(&one.api_version, &one.kind).await {
            Ok(Some(api)) => {
                let id = one.id(home);
                let namespace = id.namespace.as_deref().filter(|_| api.namespaced);
                let key = Key::new(api.kind.clone(), namespace, &one.name);
                match self.reader.value(&api, &key).await {
                    Ok(Some(object)) => return self.node(&object, Some(parent), true).await,
                    Ok(None) => (id.namespace.filter(|_| api.namespaced), Existence::Absent),
                    Err(error) => (
                        id.namespace.filter(|_| api.namespaced),
                        Existence::Unknown(error.to_string()),
                    ),
                }
            }
            Ok(None) => (one.id(home).namespace, Existence::NotServed),
            Err(error) => (one.id(home).namespace, Existence::Unknown(error.to_string())),
        };
        Node::missing(one, namespace.as_deref(), existence)
    }

    /// What names it as its controller and is not among its references.
    async fn strays(&self, xr: &Composite) -> Vec<Node> {
        let home = xr.namespace();
        let referred: BTreeSet<_> = xr.ids().collect();
        let mut apis: BTreeMap<GroupKind, ApiType> = BTreeMap::new();
        for one in &xr.refs {
            if let Ok(Some(api)) = self.api(&one.api_version, &one.kind).await {
                apis.entry(api.kind.clone()).or_insert(api);
            }
        }
        if self.all_kinds {
            for api in self.all().await {
                apis.entry(api.kind.clone()).or_insert(api);
            }
        }
        // What a namespaced one composes is in its namespace: a reference to it from elsewhere is void.
        let apis = apis.into_values().filter(|api| home.is_none() || api.namespaced);
        let found: Vec<Vec<Value>> = at_once(apis.map(|api| self.controlled_by(api, home, xr.uid()))).await;
        let is_stray = |object: &&Value| {
            let reference = ResourceRef {
                api_version: text(object, "/apiVersion"),
                kind: text(object, "/kind"),
                namespace: Some(text(object, "/metadata/namespace"))
                    .filter(|namespace| !namespace.is_empty()),
                name: text(object, "/metadata/name"),
            };
            !referred.contains(&reference.id(None))
        };
        let parent = Parent::Composite { uid: xr.uid() };
        let strays = found.iter().flatten().filter(is_stray);
        at_once(strays.map(|object| self.node(object, Some(parent), false))).await
    }

    /// Objects of a kind, whole, that name this uid as their controller.
    async fn controlled_by(&self, api: ApiType, home: Option<&str>, uid: &str) -> Vec<Value> {
        let listed = self.reader.metadata(&api, home).await;
        let mut searched = self.searched.lock().await;
        let metadata = match listed {
            Ok(metadata) => metadata,
            Err(error) => {
                searched.insert(api.kind.to_string(), Err(error.to_string()));
                return Vec::new();
            }
        };
        searched.entry(api.kind.to_string()).or_insert(Ok(()));
        drop(searched);
        let mut objects = Vec::new();
        for one in metadata {
            let owners = one["ownerReferences"].as_array().into_iter().flatten();
            if !owners
                .into_iter()
                .any(|owner| owner["controller"] == true && owner["uid"] == uid)
            {
                continue;
            }
            let key = Key::new(
                api.kind.clone(),
                one["namespace"].as_str(),
                one["name"].as_str().unwrap_or_default(),
            );
            let read = self.reader.value(&api, &key).await;
            // Gone meanwhile: then it is no stray. Else what the list showed of it.
            let mut object = match read {
                Ok(Some(object)) => object,
                Ok(None) => continue,
                Err(_) => serde_json::json!({ "metadata": one }),
            };
            object["apiVersion"] = api.api_version().into();
            object["kind"] = api.kind.kind().into();
            objects.push(object);
        }
        objects
    }

    /// All kinds that can be listed.
    async fn all(&self) -> Vec<ApiType> {
        let versions = match self.reader.preferred_versions().await {
            Ok(versions) => versions,
            Err(error) => {
                let mut searched = self.searched.lock().await;
                searched.insert("all kinds".to_owned(), Err(error.to_string()));
                return Vec::new();
            }
        };
        let mut all = Vec::new();
        for version in versions {
            match self.served(&version).await {
                Ok(served) => all.extend(served.iter().flat_map(|kinds| kinds.values().cloned())),
                Err(error) => {
                    let mut searched = self.searched.lock().await;
                    searched.insert(format!("kinds of {version}"), Err(error.to_string()));
                }
            }
        }
        all
    }

    async fn api(&self, api_version: &str, kind: &str) -> Result<Option<ApiType>, ApiError> {
        let served = self.served(api_version).await?;
        Ok(served
            .as_ref()
            .as_ref()
            .and_then(|kinds| kinds.get(kind).cloned()))
    }

    /// Asked once for each version.
    async fn served(&self, api_version: &str) -> Result<Arc<Served>, ApiError> {
        let mut known = self.served.lock().await;
        if let Some(served) = known.get(api_version) {
            return Ok(Arc::clone(served));
        }
        let served = Arc::new(self.reader.served(api_version).await?);
        known.insert(api_version.to_owned(), Arc::clone(&served));
        Ok(served)
    }
}

/// In their order, some at a time.
async fn at_once<T>(reads: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let reads: Vec<_> = reads.collect();
    stream::iter(reads).buffered(READS).collect().await
}

fn kind_of(object: &Value) -> GroupKind {
    let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    GroupKind::new(group, &kind)
}

fn text(object: &Value, pointer: &str) -> String {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
